#include "ops/cum_sum/cum_sum.h"

#include <type_traits>

#include "core/parallel.h"
#include "core/text.h"
#include "ops/layout/layout.h"
#include "ops/strided.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

std::vector<TensorType> infer(const CumSum& a, Types in) {
  const bool numbers = core::is_float(in[0].dtype) || core::is_integer(in[0].dtype);
  if (!numbers || in[0].layout != core::Layout::kPlain || a.axis >= in[0].shape.rank()) {
    throw fail(ErrorCode::kInvalidArgument, "cannot sum {} along axis {}", in[0].str(), a.axis);
  }
  return {in[0]};
}

// An element is part of the sums from its place on; its gradient is the sum of theirs.
InputGradients gradient(const CumSum& a, GradientContext& g) {
  return {cum_sum(g.builder(), g.out_gradient(0), static_cast<std::int64_t>(a.axis), a.exclusive,
                  !a.reverse)};
}

Cost cost(const CumSum&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[0].shape.elements()),
          .traffic = 2 * types.in[0].bytes()};
}

// Floats are summed in double; integers wrap around.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <class T>
void sum_line(const CumSum& a, const T* x, T* y, std::int64_t step, std::int64_t length) {
  Sum<T> sum{};
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t at = (a.reverse ? length - 1 - i : i) * step;
    const auto element = static_cast<Sum<T>>(x[at]);
    y[at] = static_cast<T>(a.exclusive ? sum : sum + element);
    sum += element;
  }
}

void run_lines(const CumSum& a, const Signature& types, const Run& run) {
  constexpr std::int64_t kElementsPerThread = 16384;
  const AxisSplit at = split_at(types.in[0].shape, a.axis);
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    core::parallel_for(
        at.outer * at.inner, kElementsPerThread / std::max<std::int64_t>(at.length, 1) + 1,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i / at.inner * at.length * at.inner + i % at.inner;
            sum_line(a, run.input<T>(0) + first, run.output<T>(0) + first, at.inner, at.length);
          }
        });
  });
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  const auto axis = node.constant_integers(1);
  if (!axis || axis->size() != 1) throw fail(ErrorCode::kInvalidFile, "CumSum needs one axis");
  return {cum_sum(node.builder(), node.required_input(0), axis->front(),
                  node.integer("exclusive", 0) != 0, node.integer("reverse", 0) != 0)};
}

std::optional<OnnxForm> write_onnx(const CumSum& a, const Signature&) {
  return OnnxForm{.type = "CumSum",
                  .attributes = {{"exclusive", std::int64_t{a.exclusive}},
                                 {"reverse", std::int64_t{a.reverse}}},
                  .constant_inputs = {static_cast<std::int64_t>(a.axis)}};
}

}  // namespace

const OpDef& cum_sum_op() {
  static const TypedOp<CumSum> op{{
      .name = "CumSum",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .onnx = {{.type = "CumSum", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "lines", .run = run_lines}},
  }};
  return op;
}

ValueId cum_sum(GraphBuilder& b, ValueId x, std::int64_t axis, bool exclusive, bool reverse) {
  x = to_plain(b, x);
  const CumSum attributes{.axis = core::normalized_axis(axis, b.type(x).shape.rank()),
                          .exclusive = exclusive,
                          .reverse = reverse};
  return b.add_one(cum_sum_op(), Attrs::of(attributes), {x});
}

}  // namespace lowtide::ops
