#include "ops/reduce/reduce_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/simd/reduce.h"
#include "ops/loops.h"
#include "ops/planned_kernel.h"

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

// The result for no elements.
template <class T>
T nothing(ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean: return T{0};
    case ReduceKind::kProd: return T{1};
    case ReduceKind::kMax: return Limits::has_infinity ? -Limits::infinity() : Limits::min();
    case ReduceKind::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  return T{0};
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

struct ReferencePlan {
  ReduceKind kind = ReduceKind::kSum;
  core::DType dtype = core::DType::kFloat32;
  std::vector<Loop<1>> kept;
  std::vector<Loop<1>> reduced;
};

void run_reference(const ReferencePlan& plan, const graph::Run& run) {
  core::visit(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Whole = std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>;
    using Total = std::conditional_t<std::is_floating_point_v<T>, double, Whole>;
    const T* const x = run.input<T>(0);
    T* y = run.output<T>(0);
    for_each_element<1>(plan.kept, [&](const std::array<std::int64_t, 1>& at) {
      auto total = static_cast<Total>(nothing<T>(plan.kind));
      Total count{0};
      for_each_element<1>(
          plan.reduced,
          [&](const std::array<std::int64_t, 1>& from) {
            total = joined(plan.kind, total, static_cast<Total>(x[from[0]]));
            ++count;
          },
          at);
      // The mean of nothing: NaN, or 0 where there is none.
      const bool defined = std::is_floating_point_v<T> || count != 0;
      if (plan.kind == ReduceKind::kMean) total = defined ? total / count : Total{0};
      *y++ = static_cast<T>(total);
    });
  });
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

std::unique_ptr<graph::BoundKernel> bind_reference_reduce(const Reduce& a,
                                                          const graph::Signature& types,
                                                          const core::Machine&) {
  const core::TensorType& in = types.in[0];
  ReferencePlan plan{.kind = a.kind, .dtype = in.dtype, .kept = {}, .reduced = {}};
  const std::vector<std::int64_t> strides = core::strides(in);
  for (const std::size_t axis : memory_order(in.shape.rank(), in.layout)) {
    (reduces(a, axis) ? plan.reduced : plan.kept)
        .push_back({.length = in.shape[axis], .steps = {strides[axis]}});
  }
  return std::make_unique<PlannedKernel<ReferencePlan>>("reference", run_reference,
                                                        std::move(plan));
}

}  // namespace lowtide::ops
