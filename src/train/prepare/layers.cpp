#include "train/prepare/layers.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "ops/batch_norm_activate/batch_norm_activate.h"

namespace lowtide::train {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using plan::Layer;

const std::map<std::string_view, Layer>& kinds() {
  static const std::map<std::string_view, Layer> kKinds = {
      {"Conv", Layer::kProduct},
      {"ConvMaxPool", Layer::kProduct},
      {"ConvTranspose", Layer::kProduct},
      {"MatMul", Layer::kProduct},
      {"Gather", Layer::kProduct},
      {"Attention", Layer::kProduct},
      {"BatchNormalization", Layer::kNormalize},
      {"BatchNormApply", Layer::kNormalize},
      {"BatchNormActivate", Layer::kNormalize},
      {"BatchNormMaxPool", Layer::kNormalize},
      {"GroupNormalization", Layer::kNormalize},
      {"LayerNormalization", Layer::kNormalize},
      {"Mul", Layer::kActivate},
      {"Div", Layer::kActivate},
      {"Sub", Layer::kActivate},
      {"Pow", Layer::kActivate},
      {"PRelu", Layer::kActivate},
      {"Min", Layer::kActivate},
      {"Max", Layer::kActivate},
      {"Where", Layer::kActivate},
      {"MaxPool", Layer::kPool},
      {"MaxPoolIndex", Layer::kPool},
      {"AveragePool", Layer::kPool},
      {"Pad", Layer::kPool},
      {"Dropout", Layer::kPool},
  };
  return kKinds;
}

// A sum of two computed tensors of one shape; of a tensor and a bias it is not.
bool joins(const Graph& graph, const Node& node) {
  if (node.op == &ops::batch_norm_add_relu_op()) return true;
  return node.op->name() == "Add" &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](graph::ValueId input) {
           return graph.value(input).producer.valid() &&
                  graph.type(input).shape == graph.type(node.outputs.front()).shape;
         });
}

// One float tensor to another of the same shape, an element at a time: as activations do.
bool is_unary(const Graph& graph, const Node& node) {
  return node.inputs.size() == 1 && node.outputs.size() == 1 &&
         graph.type(node.inputs.front()) == graph.type(node.outputs.front()) &&
         node.op->repeat() == graph::Repeat::kExact && node.op->name() != "Softmax";
}

Layer layer_of(const Graph& graph, const Node& node) {
  if (node.phase != graph::Phase::kForward) return Layer::kOther;
  if (joins(graph, node)) return Layer::kJoin;
  const auto found = kinds().find(node.op->name());
  if (found != kinds().end()) return found->second;
  if (node.op->name() == "Add") return Layer::kActivate;  // with a bias or a scalar
  return is_unary(graph, node) ? Layer::kActivate : Layer::kOther;
}

}  // namespace

plan::Layers layers_of(const Graph& graph) {
  plan::Layers layers;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    layers.push_back(layer_of(graph, graph.node(NodeId(i))));
  }
  return layers;
}

}  // namespace lowtide::train
