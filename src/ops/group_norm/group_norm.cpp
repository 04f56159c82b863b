#include "ops/group_norm/group_norm.h"

#include "core/text.h"
#include "ops/group_norm/group_norm_kernels.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

std::vector<TensorType> infer(const GroupNorm& a, Types in) {
  const TensorType& x = in[0];
  if (!core::is_float(x.dtype) || x.shape.rank() < 2) {
    throw fail(ErrorCode::kInvalidArgument,
               "group normalisation takes float tensors of rank 2 or more, not {}", x.str());
  }
  const std::int64_t channels = x.shape[1];
  if (a.groups < 1 || channels % a.groups != 0) {
    throw fail(ErrorCode::kInvalidArgument, "{} channels do not divide into {} groups", channels,
               a.groups);
  }
  const bool known = in[1].shape == core::Shape{channels} || in[1].shape == core::Shape{a.groups};
  if (in[2] != in[1] || in[1].dtype != x.dtype || !known) {
    throw fail(ErrorCode::kInvalidArgument,
               "scale and bias of {} in {} groups must both have shape [{}] or [{}], not {} and {}",
               x.str(), a.groups, channels, a.groups, in[1].str(), in[2].str());
  }
  const TensorType statistic{x.dtype, {x.shape[0], a.groups}};
  return {x, statistic, statistic};
}

std::vector<TensorType> infer_reduce(const GroupNormReduce& a, Types in) {
  const std::int64_t count = a.per_group ? in[2].shape[1] : in[0].shape[1];
  return std::vector<TensorType>(2, {in[0].dtype, {count}});
}

std::vector<TensorType> infer_input_gradient(const GroupNormInputGradient&, Types in) {
  return {in[0]};
}

InputGradients gradient(const GroupNorm& a, GradientContext& g) {
  if (g.out_gradient(1).valid() || g.out_gradient(2).valid()) {
    throw fail(ErrorCode::kUnsupported,
               "no gradient passes through the mean or deviation of a group normalisation");
  }
  InputGradients result(3);
  GraphBuilder& b = g.builder();
  const std::vector<ValueId> inputs = {g.in(0), g.out_gradient(0), g.out(1), g.out(2)};
  if (g.needs(0)) {
    std::vector<ValueId> with_scale = inputs;
    with_scale.push_back(g.in(1));
    result[0] = b.add_one(group_norm_input_gradient_op(), Attrs::of(GroupNormInputGradient{}),
                          std::move(with_scale));
  }
  if (g.needs(1) || g.needs(2)) {
    const bool per_group = g.type(g.in(1)).shape[0] == a.groups;
    const std::vector<ValueId> sums =
        b.add(group_norm_reduce_op(), Attrs::of(GroupNormReduce{.per_group = per_group}), inputs);
    result[1] = sums[0];
    result[2] = sums[1];
  }
  return result;
}

// `flops` for each element, `passes` times x's bytes moved.
Cost of_elements(const Signature& types, double flops, std::int64_t passes) {
  return {.flops = flops * static_cast<double>(types.in[0].shape.elements()),
          .traffic = passes * types.in[0].bytes()};
}

Cost cost(const GroupNorm&, const Signature& types) { return of_elements(types, 7, 3); }
Cost cost_of_reduce(const GroupNormReduce&, const Signature& types) {
  return of_elements(types, 4, 2);
}
Cost cost_of_input_gradient(const GroupNormInputGradient&, const Signature& types) {
  return of_elements(types, 9, 5);
}

std::vector<ValueId> read_group_norm(OnnxNode& node) {
  const std::int64_t stash_type = node.integer("stash_type", 1);
  if (stash_type != 1) {
    throw fail(ErrorCode::kUnsupported, "stash_type = {} is not supported", stash_type);
  }
  const std::int64_t groups = node.integer("num_groups", 0);
  if (groups < 1) {
    throw fail(ErrorCode::kInvalidFile, "num_groups = {} must be positive", groups);
  }
  const GroupNormValues values = group_norm(
      node.builder(), node.required_input(0), node.required_input(1), node.required_input(2),
      {.groups = groups, .epsilon = double{node.real("epsilon", 1e-5F)}});
  return {values.y};
}

std::vector<ValueId> read_instance_norm(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::Shape& shape = b.type(x).shape;
  if (shape.rank() < 3) {
    throw fail(ErrorCode::kInvalidFile, "instance normalisation needs positions, not {}",
               shape.str());
  }
  const GroupNorm attributes{.groups = shape[1], .epsilon = double{node.real("epsilon", 1e-5F)}};
  return {group_norm(b, x, node.required_input(1), node.required_input(2), attributes).y};
}

// As InstanceNormalization where that is what it is; opset 20 has no other form.
std::optional<OnnxForm> write_onnx(const GroupNorm& a, const Signature& types) {
  if (types.in[0].shape[1] != a.groups || types.in[0].shape.rank() < 3) return std::nullopt;
  return OnnxForm{.type = "InstanceNormalization",
                  .attributes = {{"epsilon", static_cast<float>(a.epsilon)}}};
}

}  // namespace

const OpDef& group_norm_op() {
  static const TypedOp<GroupNorm> op{{
      .name = "GroupNormalization",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .slots = {{.input = 1}, {.input = 2}},
      .onnx = {{.type = "GroupNormalization", .read = read_group_norm},
               {.type = "InstanceNormalization", .read = read_instance_norm}},
      .onnx_form = write_onnx,
      .kernels = group_norm_kernels(),
  }};
  return op;
}

const OpDef& group_norm_reduce_op() {
  static const TypedOp<GroupNormReduce> op{{
      .name = "GroupNormReduce",
      .infer = infer_reduce,
      .gradient = not_differentiable,
      .cost = cost_of_reduce,
      .repeat = Repeat::kExact,
      .kernels = group_norm_reduce_kernels(),
  }};
  return op;
}

const OpDef& group_norm_input_gradient_op() {
  static const TypedOp<GroupNormInputGradient> op{{
      .name = "GroupNormInputGradient",
      .infer = infer_input_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_input_gradient,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 1}, {.output = 0, .input = 0}},
      .kernels = group_norm_input_gradient_kernels(),
  }};
  return op;
}

GroupNormValues group_norm(
    GraphBuilder& b, ValueId x, ValueId scale, ValueId bias, const GroupNorm& attributes) {
  if (b.type(x).shape.rank() >= 3) x = to_channels_last(b, x);
  const std::vector<ValueId> out = b.add(group_norm_op(), Attrs::of(attributes), {x, scale, bias});
  return {.y = out[0], .mean = out[1], .inverse_deviation = out[2]};
}

}  // namespace lowtide::ops
