#include "ops/broadcast/broadcast.h"

#include <algorithm>

#include "core/parallel.h"
#include "core/text.h"
#include "ops/layout/layout.h"
#include "ops/loops.h"
#include "ops/planned_kernel.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::Layout;

// Ranks are equal, so that layouts can be.
std::vector<TensorType> infer(const Broadcast& a, Types in) {
  const core::Shape& from = in[0].shape;
  bool fits = from.rank() == a.shape.rank();
  for (std::size_t i = 0; fits && i < from.rank(); ++i)
    fits = from[i] == a.shape[i] || from[i] == 1;
  if (!fits) {
    throw core::fail(ErrorCode::kInvalidArgument, "cannot broadcast {} to {}", in[0].str(),
                     a.shape.str());
  }
  return {{in[0].dtype, a.shape, in[0].layout}};
}

InputGradients gradient(const Broadcast&, GradientContext& g) {
  const TensorType type = g.type(g.in(0));
  const ValueId sum = sum_to(g.builder(), g.out_gradient(0), type.shape);
  return {to_layout(g.builder(), sum, type.layout)};
}

Cost cost(const Broadcast&, const Signature& types) {
  return {.flops = 0, .traffic = types.in[0].bytes() + types.out[0].bytes()};
}

struct Plan {
  core::DType dtype = core::DType::kFloat32;
  std::vector<Loop<1>> loops;
};

// Fills innermost loops, whole or in part, from result element `begin` to `end`.
template <class T>
void fill(
    const std::vector<Loop<1>>& loops, const T* x, T* y, std::int64_t begin, std::int64_t end) {
  const Loop<1>& inner = loops.back();
  for (std::int64_t i = begin; i < end;) {
    std::int64_t rest = i;
    std::int64_t offset = 0;
    for (std::size_t l = loops.size(); l-- > 0;) {
      offset += rest % loops[l].length * loops[l].steps[0];
      rest /= loops[l].length;
    }
    const std::int64_t n = std::min(inner.length - i % inner.length, end - i);
    if (inner.steps[0] == 0) {
      std::fill_n(y + i, n, x[offset]);
    } else {
      std::copy_n(x + offset, n, y + i);
    }
    i += n;
  }
}

void run_lines(const Plan& plan, const Run& run) {
  constexpr std::int64_t kElementsPerThread = 16384;
  std::int64_t count = 1;
  for (const Loop<1>& loop : plan.loops) count *= loop.length;
  core::visit(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    core::parallel_for(count, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
      fill(plan.loops, run.input<T>(0), run.output<T>(0), begin, end);
    });
  });
}

Plan plan_for(const Signature& types) {
  return {.dtype = types.in[0].dtype, .loops = merged_loops<1>(types.out[0], {types.in[0]})};
}

std::unique_ptr<BoundKernel> bind_lines(const Broadcast&,
                                        const Signature& types,
                                        const core::Machine&) {
  return std::make_unique<PlannedKernel<Plan>>("lines", run_lines, plan_for(types));
}

void run_reference(const Plan& plan, const Run& run) {
  core::visit(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = run.input<T>(0);
    T* y = run.output<T>(0);
    for_each_element<1>(plan.loops,
                        [&](const std::array<std::int64_t, 1>& at) { *y++ = x[at[0]]; });
  });
}

std::unique_ptr<BoundKernel> bind_reference(const Broadcast&,
                                            const Signature& types,
                                            const core::Machine&) {
  return std::make_unique<PlannedKernel<Plan>>("reference", run_reference, plan_for(types));
}

std::optional<OnnxForm> write_onnx(const Broadcast& a, const Signature&) {
  return OnnxForm{.type = "Expand", .constant_inputs = {a.shape.dims()}};
}

}  // namespace

const OpDef& broadcast_op() {
  static const TypedOp<Broadcast> op{{
      .name = "Broadcast",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx_form = write_onnx,
      .kernels = {{.name = "lines", .bind = bind_lines},
                  {.name = "reference", .bind = bind_reference}},
  }};
  return op;
}

ValueId broadcast_to(GraphBuilder& b, ValueId x, const core::Shape& shape, Layout layout) {
  const core::Shape from = b.type(x).shape;
  if (from.rank() < shape.rank()) {
    std::vector<std::int64_t> dims(shape.rank() - from.rank(), 1);
    dims.insert(dims.end(), from.dims().begin(), from.dims().end());
    x = reshape(b, x, core::Shape(dims));
  }
  // Before spreading there is less to bring into another layout, often nothing.
  x = to_layout(b, x, layout);
  if (from == shape) return x;
  return b.add_one(broadcast_op(), Attrs::of(Broadcast{.shape = shape}), {x});
}

}  // namespace lowtide::ops
