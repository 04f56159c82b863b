#include "train/prepare/labels.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

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

std::optional<LabelPlacement> place_labels(const core::Shape& label,
                                           const core::Shape& logits,
                                           std::size_t likely_axis) {
  if (logits.rank() < 2) return std::nullopt;
  for (const std::size_t axis : {likely_axis, std::size_t{1}, logits.rank() - 1}) {
    std::vector<std::int64_t> places = logits.dims();
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(axis));
    places.erase(places.begin());
    std::vector<std::int64_t> before = places;
    before.insert(before.begin(), 1);
    std::vector<std::int64_t> behind = places;
    behind.push_back(1);
    if (label.dims() == places || label.dims() == before || label.dims() == behind) {
      return LabelPlacement{axis, core::Shape(std::move(places))};
    }
  }
  return std::nullopt;
}

bool same_order(const core::Shape& target, const core::Shape& outputs) {
  const auto long_axes = [](std::span<const std::int64_t> dims) {
    std::vector<std::int64_t> result;
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(result),
                 [](std::int64_t dim) { return dim != 1; });
    return result;
  };
  const std::vector<std::int64_t> left = long_axes(target.dims());
  const std::vector<std::int64_t> right =
      long_axes(std::span(outputs.dims()).subspan(std::min<std::size_t>(outputs.rank(), 1)));
  return left == right || left.size() <= 1 || right.size() <= 1;
}

}  // namespace lowtide::train
