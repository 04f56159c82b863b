#include "train/prepare/class_axis.h"

#include <algorithm>

#include "ops/softmax/softmax.h"

namespace lowtide::train {

bool predicts_tokens(const onnx::Model& model, graph::ValueId output) {
  const graph::Graph& graph = model.graph;
  const std::vector<std::int64_t>& dims = graph.type(output).shape.dims();
  return dims.size() >= 3 &&
         std::any_of(graph.inputs().begin(), graph.inputs().end(), [&](graph::ValueId input) {
           const core::TensorType& type = graph.type(input);
           return core::is_integer(type.dtype) && type.shape.rank() + 1 == dims.size() &&
                  std::equal(dims.begin(), dims.end() - 1, type.shape.dims().begin());
         });
}

std::size_t likely_class_axis(const onnx::Model& model, graph::ValueId output) {
  const graph::Graph& graph = model.graph;
  const std::vector<std::int64_t>& dims = graph.type(output).shape.dims();
  if (dims.size() < 3) return 1;
  const graph::NodeId producer = graph.value(output).producer;
  if (producer.valid() && graph.node(producer).op == &ops::softmax_op()) {
    return graph.node(producer).attrs.as<ops::Softmax>().axis;
  }
  return predicts_tokens(model, output) ? dims.size() - 1 : 1;
}

}  // namespace lowtide::train
