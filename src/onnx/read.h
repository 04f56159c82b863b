// Reads an ONNX file into a graph with static shapes. The weights stay in the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"
#include "graph/graph.h"
#include "onnx/model_file.h"

namespace lowtide::onnx {

struct ReadOptions {
  std::map<std::string, std::int64_t> dims = {};     // by symbolic dimension
  std::optional<std::int64_t> batch = std::nullopt;  // the first dimension of every input
  std::map<std::string, core::Shape> shapes = {};    // by input; stronger than the file
  std::span<const graph::OpDef* const> catalog;
  Bytes fold_limit = Bytes(16 * 1024 * 1024);
};

// A float tensor that the file holds: a parameter, a statistic or a constant.
struct Initializer {
  std::string name;
  graph::ValueId value;
  // What PyTorch's exporter says of it ("PARAMETER", "BUFFER", ...); empty where it says nothing.
  std::string kind;
  // The tensor that the exporter computed this one from; empty where it says nothing.
  std::string folded_from;
  bool from_constant_node = false;
};

// One reading of an initializer by one node of the file, directly or through Identity nodes.
struct InitializerUse {
  graph::ValueId value;
  std::string node_output;  // the first output of the node, which names it; empty in a function
  std::size_t input = 0;    // of that node
  bool renamed = false;     // the node reads it by the name of an Identity
  std::string op_type;
  // The nodes of the graph that were built for that node.
  graph::NodeId begin;
  graph::NodeId end;
};

struct Model {
  graph::Graph graph;
  std::string path;
  std::vector<std::string> input_names;  // in the order of graph.inputs()
  std::vector<std::string> output_names;
  std::map<std::string, graph::ValueId> values;      // by ONNX name, all that were needed
  std::multimap<std::string, graph::ValueId> nodes;  // first outputs by the node's label
  int opset = 0;                                     // of ONNX's own domain
  std::string producer;
  Metadata metadata;
  std::vector<Initializer> initializers;  // the needed ones, in the file's order
  std::vector<InitializerUse> uses;       // of those, in the order of the nodes
};

// Reads and builds what the outputs need. Throws Error with the file, node and value named; one
// error lists all operators that the catalog lacks.
Model read(const std::filesystem::path& path, const ReadOptions& options);
Model build(const ModelFile& file, const ReadOptions& options);

}  // namespace lowtide::onnx
