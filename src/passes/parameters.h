// Which constants of an inference graph are trained, and why.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lowtide::passes {

// A float tensor of the model file, as the file describes it.
struct FileTensor {
  std::string name;
  graph::ValueId value;
  std::string kind;            // the exporter's word ("PARAMETER", "BUFFER"), or empty
  std::string folded_from;     // what the exporter computed it from, or empty
  bool constant_node = false;  // written as a Constant node, not as an initializer
};

// One reading of such a tensor by one node of the file.
struct FileTensorUse {
  graph::ValueId value;
  std::string node_output;  // names the node of the file; empty: it cannot read another tensor
  std::size_t input = 0;    // of that node
  bool renamed = false;     // the node reads it by another name, that of an Identity
  graph::NodeId begin;      // the nodes of the graph that stand for it
  graph::NodeId end;
};

struct ParameterRules {
  std::vector<std::string> train;   // globs over names; empty: the default choice
  std::vector<std::string> freeze;  // taken away from the choice
};

// A tensor of the file as training sees it.
struct Parameter {
  std::string name;  // initializer, or "<node output>/scale" and the like for a split one
  graph::ValueId value;
  bool trained = false;
  bool statistic = false;  // a running mean or variance: moves, but is not trained
  std::string reason;      // for people: "convolution weight", "frozen by --freeze", ...
  // Set where one initializer of the file served several places and was split:
  std::string split_from;
  std::string node_output;
  std::size_t input = 0;
};

// Gives parameters and statistics their roles in the graph, and every use of a merged initializer a
// value of its own.
//
// Where the file says what is a parameter (PyTorch's dynamo exporter does), that decides. Else a
// float tensor is trained when it reaches a parameter slot of an op, directly or through ops that
// only rearrange it, and an operand of an elementwise op when it is no scalar (but for the bias of
// a layer with one output) and holds nothing like a mask (values of -1e4 and below, or infinite).
// Tensors that Constant nodes hold are none where the file has initializers too: exporters write
// their own constants so. Exporters merge equal initializers of a fresh network: one whose elements
// are all equal and which feeds several slots is split where the file, or the kind of slots, shows
// that it was several. Returns all tensors considered, in the file's order. Throws
// Error(kInvalidArgument) when a glob of the rules matches no tensor.
std::vector<Parameter> choose_parameters(graph::Graph& graph,
                                         const std::vector<FileTensor>& tensors,
                                         const std::vector<FileTensorUse>& uses,
                                         const ParameterRules& rules);

// Throws Error(kInvalidArgument) for a glob that matches none of the tensors; the message begins
// with the option that it is of, if that is given.
void check_globs(const std::vector<Parameter>& parameters,
                 const std::vector<std::string>& globs,
                 std::string_view option = {});

}  // namespace lowtide::passes
