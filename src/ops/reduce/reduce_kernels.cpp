#include "ops/reduce/reduce_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/simd/reduce.h"
#include "ops/loops.h"
#include "ops/planned_kernel.h"
#include "ops/strided.h"

namespace lowtide::ops {
namespace {

bool reduces(const Reduce& a, std::size_t axis) {
  return std::binary_search(a.axes.begin(), a.axes.end(), axis);
}

// How many elements make up one of the result.
std::int64_t reduced_count(const Reduce& a, const core::Shape& shape) {
  std::int64_t count = 1;
  for (const std::size_t axis : a.axes) count *= shape[axis];
  return count;
}

// Neighbouring dimensions in memory that are both kept or both reduced are walked as one.
kernels::ReducePlan plan_for(const Reduce& a, const core::TensorType& type) {
  kernels::ReducePlan plan;
  std::int64_t step = 1;
  bool innermost = true;
  bool last_reduced = false;
  const std::vector<std::size_t> order = memory_order(type.shape.rank(), type.layout);
  // From the innermost dimension outwards; the loops are turned around at the end.
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int64_t length = type.shape[order[i]];
    if (length == 1) continue;
    const bool reduced = reduces(a, order[i]);
    if (!reduced && (innermost || (!last_reduced && plan.kept.empty()))) {
      plan.columns *= length;
    } else {
      std::vector<kernels::ReduceLoop>& loops = reduced ? plan.reduced : plan.kept;
      if (!innermost && reduced == last_reduced) {
        loops.back().length *= length;
      } else {
        loops.push_back({.length = length, .step = step});
      }
    }
    innermost = false;
    last_reduced = reduced;
    step *= length;
  }
  if (plan.reduced.empty()) plan.reduced.emplace_back();
  std::reverse(plan.kept.begin(), plan.kept.end());
  std::reverse(plan.reduced.begin(), plan.reduced.end());
  return plan;
}

void run_simd(const kernels::ReducePlan& plan, const graph::Run& run) {
  kernels::reduce(plan, run.input<float>(0), run.output<float>(0),
                  reinterpret_cast<double*>(run.scratch.data()));
}

template <class Total>
Total start_of(ReduceKind kind) {
  using Limits = std::numeric_limits<Total>;
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean: return Total{0};
    case ReduceKind::kProd: return Total{1};
    case ReduceKind::kMax: return Limits::has_infinity ? -Limits::infinity() : Limits::min();
    case ReduceKind::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  return Total{0};
}

// Whole numbers wrap around.
template <class Total>
Total joined(ReduceKind kind, Total a, Total b) {
  using Wide = std::conditional_t<std::is_integral_v<Total>, std::uint64_t, double>;
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean: return static_cast<Total>(static_cast<Wide>(a) + static_cast<Wide>(b));
    case ReduceKind::kProd: return static_cast<Total>(static_cast<Wide>(a) * static_cast<Wide>(b));
    case ReduceKind::kMax: return a >= b || a != a ? a : b;
    case ReduceKind::kMin: return a <= b || a != a ? a : b;
  }
  return a;
}

}  // namespace

std::unique_ptr<graph::BoundKernel> bind_simd_reduce(const Reduce& a,
                                                     const graph::Signature& types,
                                                     const core::Machine&) {
  if (types.in[0].dtype != core::DType::kFloat32 || a.kind == ReduceKind::kProd) return nullptr;
  kernels::ReducePlan plan = plan_for(a, types.in[0]);
  if (a.kind == ReduceKind::kMax) plan.function = kernels::ReduceFunction::kMax;
  if (a.kind == ReduceKind::kMin) plan.function = kernels::ReduceFunction::kMin;
  if (a.kind == ReduceKind::kMean) {
    plan.factor = 1.0 / static_cast<double>(reduced_count(a, types.in[0].shape));
  }
  const Bytes scratch = kernels::reduce_scratch(plan);
  return std::make_unique<PlannedKernel<kernels::ReducePlan>>("simd", run_simd, std::move(plan),
                                                              scratch);
}

void run_reference_reduce(const Reduce& a, const graph::Signature& types, const graph::Run& run) {
  const core::TensorType& in = types.in[0];
  const std::vector<std::int64_t> from = core::strides(in);
  std::vector<std::int64_t> to = core::strides(types.out[0]);
  for (const std::size_t axis : a.axes) to[axis] = 0;
  core::visit(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Total =
        std::conditional_t<std::is_floating_point_v<T>, double,
                           std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>>;
    const auto count = static_cast<std::size_t>(types.out[0].shape.elements());
    // An empty set's extreme is that of the dtype.
    const auto start =
        std::is_floating_point_v<T> || a.kind < ReduceKind::kMax || a.kind == ReduceKind::kProd
            ? start_of<Total>(a.kind)
            : static_cast<Total>(start_of<T>(a.kind));
    std::vector<Total> totals(count, start);
    const T* const x = run.input<T>(0);
    for (Index i(in.shape); i.valid(); i.next()) {
      Total& total = totals[static_cast<std::size_t>(i.offset(to))];
      total = joined(a.kind, total, static_cast<Total>(x[i.offset(from)]));
    }
    const auto divisor = static_cast<Total>(a.kind == ReduceKind::kMean ? reduced_count(a, in.shape)
                                                                        : std::int64_t{1});
    T* const y = run.output<T>(0);
    for (std::size_t i = 0; i < count; ++i) {
      const bool undefined = std::is_integral_v<T> && divisor == 0;
      y[i] = static_cast<T>(undefined ? Total{0} : totals[i] / divisor);
    }
  });
}

}  // namespace lowtide::ops
