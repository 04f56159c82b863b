#include "passes/fuse/attention/head_views.h"

#include <algorithm>
#include <utility>

#include "graph/evaluate.h"
#include "ops/gather/gather.h"
#include "ops/layout/layout.h"
#include "ops/movement.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/split/split.h"
#include "ops/transpose/transpose.h"

namespace lowtide::passes {
namespace {

using core::TensorType;
using graph::Graph;
using graph::Node;
using graph::ValueId;
using ops::View;

bool plain(const Graph& graph, ValueId id) { return graph.type(id).layout == core::Layout::kPlain; }

// A gather by one constant index.
std::optional<View> picked(const Graph& graph, const Node& node) {
  const graph::Value& index = graph.value(node.inputs[1]);
  if (index.role != graph::Role::kConstant || index.type.shape.elements() != 1) return std::nullopt;
  const std::size_t axis = node.attrs.as<ops::Gather>().axis;
  View view = ops::view_of(graph.type(node.inputs[0]));
  const graph::ConstantTensor tensor = graph::load_content(index);
  std::int64_t at = core::visit(tensor.type.dtype, [&](auto tag) {
    return static_cast<std::int64_t>(*tensor.data<typename decltype(tag)::type>());
  });
  if (at < 0) at += graph.type(node.inputs[0]).shape[axis];
  view.first = at * view.strides[axis];
  const auto place = view.strides.begin() + static_cast<std::ptrdiff_t>(axis);
  view.strides.insert(view.strides.erase(place), index.type.shape.rank(), 0);
  return view;
}

View transposed(const Graph& graph, const Node& node) {
  const View from = ops::view_of(graph.type(node.inputs[0]));
  View view;
  for (const std::size_t axis : node.attrs.as<ops::Transpose>().perm) {
    view.strides.push_back(from.strides[axis]);
  }
  return view;
}

View split_off(const Graph& graph, const Node& node, ValueId part) {
  const auto& split = node.attrs.as<ops::Split>();
  View view = ops::view_of(graph.type(node.inputs[0]));
  for (std::size_t i = 0; node.outputs[i] != part; ++i) {
    view.first += split.lengths[i] * view.strides[split.axis];
  }
  return view;
}

// The value's elements as part of the first input of the node that made it, where it only moves
// them. Of a reshape, they are the same stretch of memory.
std::optional<View> part_of_input(const Graph& graph, const Node& node, ValueId value) {
  if (node.op == &ops::reshape_op()) return ops::view_of(graph.type(value));
  if (node.op == &ops::convert_layout_op()) return ops::view_of(graph.type(node.inputs[0]));
  if (node.op == &ops::transpose_op()) return transposed(graph, node);
  if (node.op == &ops::split_op()) return split_off(graph, node, value);
  if (node.op == &ops::gather_op()) return picked(graph, node);
  if (node.op == &ops::slice_op()) {
    return ops::view_of_slice(node.attrs.as<ops::Slice>(), graph.type(node.inputs[0]));
  }
  return std::nullopt;
}

// Steps along a value's elements become steps along the same elements of `part`: each goes along
// one axis of the value, and no sum of them carries from one axis to the next.
class Steps {
 public:
  Steps(const TensorType& type, View part)
      : dims_(type.shape.dims()), strides_(core::strides(type)), part_(std::move(part)) {}

  std::optional<HeadView> through(HeadView view) const {
    std::vector<std::int64_t> last(dims_.size(), 0);  // the farthest place along each axis
    std::int64_t offset = part_.first;
    for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
      if (dims_[axis] == 0) return std::nullopt;
      last[axis] = view.offset / strides_[axis] % dims_[axis];
      offset += last[axis] * part_.strides[axis];
    }
    for (std::size_t i = 0; i < view.sizes.size(); ++i) {
      if (view.sizes[i] <= 1) {
        view.strides[i] = 0;
        continue;
      }
      const auto axis = axis_of(view.strides[i], view.sizes[i]);
      if (!axis) return std::nullopt;
      const std::int64_t steps = view.strides[i] / strides_[*axis];
      last[*axis] += steps * (view.sizes[i] - 1);
      if (last[*axis] >= dims_[*axis]) return std::nullopt;
      view.strides[i] = steps * part_.strides[*axis];
    }
    view.offset = offset;
    return view;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> axis_of(std::int64_t stride, std::int64_t size) const {
    for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
      const bool inside = dims_[axis] > 1 && stride % strides_[axis] == 0 &&
                          stride * (size - 1) < strides_[axis] * dims_[axis];
      if (inside) return axis;
    }
    return std::nullopt;
  }

  std::vector<std::int64_t> dims_;
  std::vector<std::int64_t> strides_;
  View part_;
};

std::optional<HeadView> back(const Graph& graph, const HeadView& view) {
  const graph::NodeId producer = graph.value(view.value).producer;
  if (!producer.valid()) return std::nullopt;
  const Node& node = graph.node(producer);
  const auto part = part_of_input(graph, node, view.value);
  if (!part) return std::nullopt;
  std::optional<HeadView> result = view;
  if (node.op != &ops::reshape_op()) {
    result = Steps(graph.type(view.value), *part).through(view);
  }
  if (result) result->value = node.inputs[0];
  return result;
}

}  // namespace

HeadView view_of_heads(const Graph& graph, ValueId heads, bool swapped) {
  const TensorType& type = graph.type(heads);
  const std::vector<std::int64_t> strides = core::strides(type);
  const std::size_t rank = strides.size();
  HeadView view{.value = heads};
  const auto set = [&](std::size_t i, std::size_t axis) {
    view.sizes[i] = type.shape[axis];
    view.strides[i] = strides[axis];
  };
  view.sizes = {1, 1, 1, 1};
  set(0, 0);
  if (rank == 4) set(1, 1);
  set(2, rank - (swapped ? 1 : 2));
  set(3, rank - (swapped ? 2 : 1));
  return view;
}

std::vector<HeadView> views_back(const Graph& graph, HeadView view) {
  std::vector<HeadView> all;
  for (std::optional<HeadView> at = std::move(view); at; at = back(graph, *at)) {
    if (plain(graph, at->value) && (at->strides[3] == 1 || at->sizes[3] <= 1)) all.push_back(*at);
  }
  return all;
}

bool cover(const Graph& graph, const std::vector<HeadView>& views) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, size
  for (std::size_t i = 0; i < 4; ++i) steps.emplace_back(views[0].strides[i], views[0].sizes[i]);
  std::vector<std::int64_t> offsets;
  for (const HeadView& view : views) {
    if (view.sizes != views[0].sizes || view.strides != views[0].strides) return false;
    offsets.push_back(view.offset);
  }
  std::sort(offsets.begin(), offsets.end());
  if (offsets[0] != 0) return false;
  if (offsets.size() > 1) {
    steps.emplace_back(offsets[1], static_cast<std::int64_t>(offsets.size()));
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] != static_cast<std::int64_t>(i) * offsets[1]) return false;
    }
  }
  std::erase_if(steps, [](const auto& step) { return step.second == 1; });
  std::sort(steps.begin(), steps.end());
  std::int64_t reached = 1;
  for (const auto& [stride, size] : steps) {
    if (stride != reached) return false;
    reached *= size;
  }
  return reached == graph.type(views[0].value).shape.elements();
}

}  // namespace lowtide::passes
