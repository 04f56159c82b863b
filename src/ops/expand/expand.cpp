#include "ops/expand/expand.h"

#include "core/text.h"
#include "ops/loops.h"
#include "ops/movement.h"
#include "ops/reduce/reduce.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

std::vector<TensorType> infer(const Expand& a, Types in) {
  const core::Shape shape = core::broadcast(in[0].shape, core::Shape(a.target));
  const bool keeps_rank = shape.rank() == in[0].shape.rank();
  return {{in[0].dtype, shape, keeps_rank ? in[0].layout : core::Layout::kPlain}};
}

InputGradients gradient(const Expand&, GradientContext& g) {
  return {sum_to(g.builder(), g.out_gradient(0), g.type(g.in(0)).shape)};
}

std::vector<Movement> movements(const Expand&, const Signature& types) {
  const core::Shape& shape = types.out[0].shape;
  return {{.dims = shape.dims(),
           .from = {0, broadcast_strides(types.in[0], shape.rank())},
           .to = view_of(types.out[0])}};
}

// New leading axes of length 1 move nothing.
std::vector<Alias> sharing(const Expand& a, const Signature& types) {
  if (!is_view(movements(a, types))) return {};
  return {{.output = 0, .input = 0, .sharing = Sharing::kView}};
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  const ValueId x = node.required_input(0);
  const auto target = node.constant_integers(1);
  if (!target) throw core::fail(ErrorCode::kInvalidFile, "Expand without a shape");
  return {expand(node.builder(), x, core::Shape(*target))};
}

std::optional<OnnxForm> write_onnx(const Expand& a, const Signature&) {
  return OnnxForm{.type = "Expand", .constant_inputs = {a.target}};
}

}  // namespace

const OpDef& expand_op() {
  static const TypedOp<Expand> op{{
      .name = "Expand",
      .infer = infer,
      .gradient = gradient,
      .cost = cost_of_moving<Expand>,
      .repeat = Repeat::kExact,
      .alias_rule = sharing,
      .onnx = {{.type = "Expand", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {copies<Expand, movements>(), element_by_element<Expand, movements>()},
  }};
  return op;
}

ValueId expand(GraphBuilder& b, ValueId x, const core::Shape& shape) {
  if (core::broadcast(b.type(x).shape, shape) == b.type(x).shape) return x;
  return b.add_one(expand_op(), Attrs::of(Expand{.target = shape.dims()}), {x});
}

}  // namespace lowtide::ops
