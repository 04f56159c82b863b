#include "ops/reduce/reduce.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/broadcast/broadcast.h"
#include "ops/cast/cast.h"
#include "ops/layout/layout.h"
#include "ops/reduce/norms.h"
#include "ops/reduce/reduce_kernels.h"
#include "ops/reshape/reshape.h"
#include "ops/unary/unary.h"
#include "ops/where/choices.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

// In the order of ReduceKind; ONNX's names too.
constexpr std::array<std::string_view, kReduceKinds> kNames = {
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"};

std::string_view name(ReduceKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::vector<TensorType> infer(const Reduce& a, Types in) {
  if (!core::is_float(in[0].dtype) && !core::is_integer(in[0].dtype)) {
    throw fail(ErrorCode::kInvalidArgument, "{} cannot take {}", name(a.kind), in[0].str());
  }
  core::Shape shape = in[0].shape;
  for (const std::size_t axis : a.axes) {
    if (axis >= shape.rank()) {
      throw fail(ErrorCode::kInvalidArgument, "{} has no axis {} in {}", name(a.kind), axis,
                 in[0].str());
    }
    shape = shape.with(axis, 1);
  }
  return {{in[0].dtype, shape, in[0].layout}};
}

InputGradients gradient_of_sum(const Reduce& a, GradientContext& g) {
  const TensorType x = g.type(g.in(0));
  ValueId dy = g.out_gradient(0);
  if (a.kind == ReduceKind::kMean) {
    const double count = static_cast<double>(x.shape.elements()) /
                         static_cast<double>(g.type(g.out(0)).shape.elements());
    dy = scale(g.builder(), dy, 1.0 / count);
  }
  return {broadcast_to(g.builder(), dy, x.shape, x.layout)};
}

// What attains the extreme shares its gradient evenly.
InputGradients gradient_of_extreme(const Reduce& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId same = binary(b, BinaryKind::kSame, g.in(0), g.out(0));
  const ValueId count = reduce_sum(b, same, a.axes, KeepDims::kYes);
  return {mul(b, same, div(b, g.out_gradient(0), count))};
}

InputGradients gradient_of_product(const Reduce& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId x = g.in(0);
  const ValueId zero_count = reduce_sum(b, zero_marks(b, x), a.axes, KeepDims::kYes);
  const ValueId product = reduce(b, ReduceKind::kProd, zeros_as_ones(b, x), a.axes, KeepDims::kYes);
  return {mul(b, g.out_gradient(0), other_factors(b, x, zero_count, product))};
}

GradientFn<Reduce> gradient_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean: return gradient_of_sum;
    case ReduceKind::kMax:
    case ReduceKind::kMin: return gradient_of_extreme;
    case ReduceKind::kProd: break;
  }
  return gradient_of_product;
}

Cost cost(const Reduce&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.out[0].bytes()};
}

// How an ONNX node says what to reduce: axes are an attribute before opset 18 (13 for ReduceSum)
// and an input from then on.
struct Request {
  std::vector<std::size_t> axes;
  KeepDims keep = KeepDims::kYes;
};

Request read_request(OnnxNode& node) {
  const std::size_t rank = node.builder().type(node.required_input(0)).shape.rank();
  std::vector<std::int64_t> axes;
  if (node.has("axes")) {
    axes = node.integers("axes");
  } else if (const auto given = node.constant_integers(1)) {
    axes = *given;
  }
  Request request{.axes = {},
                  .keep = node.integer("keepdims", 1) != 0 ? KeepDims::kYes : KeepDims::kNo};
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0) {
    request.axes.resize(rank);
    std::iota(request.axes.begin(), request.axes.end(), std::size_t{0});
  }
  for (const std::int64_t axis : axes) {
    const std::size_t at = core::normalized_axis(axis, rank);
    if (std::find(request.axes.begin(), request.axes.end(), at) != request.axes.end()) {
      throw fail(ErrorCode::kInvalidFile, "axis {} is named twice", axis);
    }
    request.axes.push_back(at);
  }
  return request;
}

template <ReduceKind kKind>
std::vector<ValueId> read_onnx(OnnxNode& node) {
  Request request = read_request(node);
  return {
      reduce(node.builder(), kKind, node.required_input(0), std::move(request.axes), request.keep)};
}

// From opset 20 on of bools too: any and all of them.
template <ReduceKind kKind>
std::vector<ValueId> read_extreme(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  if (b.type(x).dtype != core::DType::kBool) return read_onnx<kKind>(node);
  Request request = read_request(node);
  const ValueId bytes = cast(b, x, core::DType::kUint8);
  return {
      cast(b, reduce(b, kKind, bytes, std::move(request.axes), request.keep), core::DType::kBool)};
}

// ReduceSumSquare, ReduceL1, ReduceL2, ReduceLogSum and ReduceLogSumExp are sums of something.
std::vector<ValueId> read_composed(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const Request request = read_request(node);
  const auto sum = [&](ValueId terms) { return reduce_sum(b, terms, request.axes, request.keep); };
  if (node.type() == "ReduceSumSquare") return {sum(mul(b, x, x))};
  if (node.type() == "ReduceL1") return {sum(abs(b, x))};
  if (node.type() == "ReduceL2") return {root(b, sum(power_of_size(b, x, 2)), 2)};
  if (node.type() == "ReduceLogSum") return {log(b, sum(x))};
  // Exponentials of what is above the maximum would overflow; an infinite one would leave NaN.
  const double most = double{std::numeric_limits<float>::max()};
  const ValueId high = clip(b, reduce_max(b, x, request.axes, KeepDims::kYes), -most, most);
  const ValueId total = reduce_sum(b, exp(b, sub(b, x, high)), request.axes, KeepDims::kYes);
  const ValueId result = add(b, log(b, total), high);
  // A maximum of the single element that is left only drops axes.
  return {reduce_max(b, result, request.axes, request.keep)};
}

std::vector<OnnxRule> onnx_rules(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return {{.type = "ReduceSum", .read = read_onnx<ReduceKind::kSum>},
              {.type = "ReduceSumSquare", .read = read_composed},
              {.type = "ReduceL1", .read = read_composed},
              {.type = "ReduceL2", .read = read_composed},
              {.type = "ReduceLogSum", .read = read_composed},
              {.type = "ReduceLogSumExp", .read = read_composed},
              {.type = "LpNormalization", .read = read_lp_norm},
              {.type = "GlobalLpPool", .read = read_global_lp_pool}};
    case ReduceKind::kMean:
      return {{.type = "ReduceMean", .read = read_onnx<ReduceKind::kMean>},
              {.type = "MeanVarianceNormalization", .read = read_mean_variance_norm},
              {.type = "RMSNormalization", .read = read_rms_norm}};
    case ReduceKind::kMax: return {{.type = "ReduceMax", .read = read_extreme<ReduceKind::kMax>}};
    case ReduceKind::kMin: return {{.type = "ReduceMin", .read = read_extreme<ReduceKind::kMin>}};
    case ReduceKind::kProd: return {{.type = "ReduceProd", .read = read_onnx<ReduceKind::kProd>}};
  }
  return {};
}

std::optional<OnnxForm> write_onnx(const Reduce& a, const Signature&) {
  return OnnxForm{.type = std::string(name(a.kind)),
                  .attributes = {{"keepdims", std::int64_t{1}}},
                  .constant_inputs = {std::vector<std::int64_t>(a.axes.begin(), a.axes.end())}};
}

OpCard<Reduce> card(ReduceKind kind) {
  return {
      .name = name(kind),
      .infer = infer,
      .gradient = gradient_of(kind),
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = onnx_rules(kind),
      .onnx_form = write_onnx,
      .kernels = {{.name = "simd", .bind = bind_simd_reduce},
                  {.name = "reference", .bind = bind_reference_reduce}},
  };
}

template <std::size_t... kIndices>
const OpDef& nth_op(ReduceKind kind, std::index_sequence<kIndices...>) {
  static const std::array<TypedOp<Reduce>, kReduceKinds> ops = {
      TypedOp<Reduce>(card(static_cast<ReduceKind>(kIndices)))...};
  return ops[static_cast<std::size_t>(kind)];
}

// Leading axes that stay are copied rather than spelled out, so that a written file takes any
// batch; a 0 means "copy" only where no dimension is 0 itself.
ValueId dropped(GraphBuilder& b, ValueId x, const std::vector<std::size_t>& axes) {
  const core::Shape shape = b.type(x).shape;
  Reshape to{.target = {}, .allow_zero = shape.elements() == 0};
  bool leading = !to.allow_zero;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (std::binary_search(axes.begin(), axes.end(), i)) {
      leading = false;
    } else {
      to.target.push_back(leading ? 0 : shape[i]);
    }
  }
  return reshape(b, x, std::move(to));
}

}  // namespace

const OpDef& reduce_op(ReduceKind kind) {
  return nth_op(kind, std::make_index_sequence<kReduceKinds>());
}

ValueId reduce(
    GraphBuilder& b, ReduceKind kind, ValueId x, std::vector<std::size_t> axes, KeepDims keep) {
  std::sort(axes.begin(), axes.end());
  const core::Shape shape = b.type(x).shape;
  const bool idle = std::all_of(axes.begin(), axes.end(), [&](std::size_t axis) {
    return axis < shape.rank() && shape[axis] == 1;
  });
  if (!idle) {
    x = b.add_one(reduce_op(kind), Attrs::of(Reduce{.kind = kind, .axes = axes}), {x});
  }
  return keep == KeepDims::kYes || axes.empty() ? x : dropped(b, x, axes);
}

ValueId reduce_sum(GraphBuilder& b, ValueId x, std::vector<std::size_t> axes, KeepDims keep) {
  return reduce(b, ReduceKind::kSum, x, std::move(axes), keep);
}

ValueId reduce_mean(GraphBuilder& b, ValueId x, std::vector<std::size_t> axes, KeepDims keep) {
  return reduce(b, ReduceKind::kMean, x, std::move(axes), keep);
}

ValueId reduce_max(GraphBuilder& b, ValueId x, std::vector<std::size_t> axes, KeepDims keep) {
  return reduce(b, ReduceKind::kMax, x, std::move(axes), keep);
}

ValueId reduce_min(GraphBuilder& b, ValueId x, std::vector<std::size_t> axes, KeepDims keep) {
  return reduce(b, ReduceKind::kMin, x, std::move(axes), keep);
}

ValueId sum_to(GraphBuilder& b, ValueId x, const core::Shape& shape) {
  const core::Shape from = b.type(x).shape;
  LT_CHECK(from.rank() >= shape.rank(), "a sum has no more axes than its terms");
  const std::size_t extra = from.rank() - shape.rank();
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (from[i] != (i < extra ? 1 : shape[i - extra])) axes.push_back(i);
  }
  x = reduce_sum(b, x, axes, KeepDims::kYes);
  return extra == 0 ? x : reshape(b, x, shape);
}

}  // namespace lowtide::ops
