#include "ops/concat/concat.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "ops/layout/layout.h"
#include "ops/movement.h"
#include "ops/split/split.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

std::vector<TensorType> infer(const Concat& a, Types in) {
  const TensorType& first = in[0];
  if (a.axis >= first.shape.rank()) {
    throw fail(ErrorCode::kInvalidArgument, "cannot concatenate {} along axis {}", first.str(),
               a.axis);
  }
  std::int64_t length = 0;
  for (const TensorType& type : in) {
    if (type.dtype != first.dtype || type.layout != first.layout ||
        type.shape.rank() != first.shape.rank() ||
        type.shape.with(a.axis, 0) != first.shape.with(a.axis, 0)) {
      throw fail(ErrorCode::kInvalidArgument, "cannot concatenate {} and {} along axis {}",
                 first.str(), type.str(), a.axis);
    }
    length += type.shape[a.axis];
  }
  return {{first.dtype, first.shape.with(a.axis, length), first.layout}};
}

InputGradients gradient(const Concat& a, GradientContext& g) {
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    lengths.push_back(g.type(g.in(i)).shape[a.axis]);
  }
  return split(g.builder(), g.out_gradient(0), static_cast<std::int64_t>(a.axis), lengths);
}

std::vector<Movement> movements(const Concat& a, const Signature& types) {
  std::vector<Movement> all;
  View to = view_of(types.out[0]);
  for (std::size_t i = 0; i < types.in.size(); ++i) {
    const core::Shape& shape = types.in[i].shape;
    all.push_back({.dims = shape.dims(),
                   .input = static_cast<int>(i),
                   .from = view_of(types.in[i]),
                   .to = to});
    to.first += shape[a.axis] * to.strides[a.axis];
  }
  return all;
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < node.input_count(); ++i) values.push_back(node.required_input(i));
  if (values.empty()) throw fail(ErrorCode::kInvalidFile, "Concat without inputs");
  if (!node.has("axis")) throw fail(ErrorCode::kInvalidFile, "Concat without an axis");
  return {concat(node.builder(), std::move(values), node.integer("axis", 0))};
}

std::optional<OnnxForm> write_onnx(const Concat& a, const Signature&) {
  return OnnxForm{.type = "Concat", .attributes = {{"axis", static_cast<std::int64_t>(a.axis)}}};
}

// A constant among computed parts (a class token) is trained.
std::vector<InputSlot> part_slots() {
  constexpr int kParts = 16;  // more are never mixed
  std::vector<InputSlot> slots;
  for (int i = 0; i < kParts; ++i) slots.push_back({.input = i, .slot = Slot::kElementwise});
  return slots;
}

}  // namespace

const OpDef& concat_op() {
  static const TypedOp<Concat> op{{
      .name = "Concat",
      .infer = infer,
      .gradient = gradient,
      .cost = cost_of_moving<Concat>,
      .repeat = Repeat::kExact,
      .slots = part_slots(),
      .onnx = {{.type = "Concat", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {copies<Concat, movements>(), element_by_element<Concat, movements>()},
  }};
  return op;
}

ValueId concat(GraphBuilder& b, std::vector<ValueId> values, std::int64_t axis) {
  LT_CHECK(!values.empty(), "something to concatenate");
  const std::size_t at = core::normalized_axis(axis, b.type(values[0]).shape.rank());
  if (values.size() == 1) return values[0];
  const bool channels_last = std::any_of(values.begin(), values.end(), [&](ValueId id) {
    return b.type(id).layout == core::Layout::kChannelsLast;
  });
  if (channels_last) {
    for (ValueId& id : values) id = to_channels_last(b, id);
  }
  return b.add_one(concat_op(), Attrs::of(Concat{.axis = at}), std::move(values));
}

}  // namespace lowtide::ops
