#include "ops/resize/resize_kernels.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/simd/resample.h"
#include "ops/loops.h"
#include "ops/planned_kernel.h"
#include "ops/resize/resize_taps.h"

namespace lowtide::ops {
namespace {

using core::TensorType;
using graph::Run;
using graph::Signature;
using kernels::ResampleAxis;

// The result's axes in memory order, and the tables they point into.
struct Plan {
  core::DType dtype = core::DType::kFloat32;
  double empty = 0;
  std::int64_t row = 1;
  std::vector<ResampleAxis> axes;
  std::vector<Taps> tables;
};

const ResizeAxis* resized(const Resize& a, std::size_t axis) {
  const auto found = std::find_if(a.axes.begin(), a.axes.end(),
                                  [axis](const ResizeAxis& entry) { return entry.axis == axis; });
  return found == a.axes.end() ? nullptr : &*found;
}

// The axis with its table's places as offsets into the input.
ResampleAxis by_table(Taps& taps, std::int64_t length, std::int64_t stride) {
  for (std::int64_t& place : taps.place) place *= stride;
  return {.length = length,
          .stride = stride,
          .first = taps.first.data(),
          .offset = taps.place.data(),
          .weight = taps.weight.data()};
}

bool continues(const ResampleAxis& outer, const ResampleAxis& inner) {
  return outer.first == nullptr && inner.first == nullptr &&
         outer.stride == inner.stride * inner.length;
}

// taps(axis) gives the table of a resized axis, nothing for others.
template <class F>
Plan plan_for(const TensorType& x, const TensorType& y, double empty, F&& taps) {
  Plan plan{.dtype = x.dtype, .empty = empty};
  const std::vector<std::int64_t> strides = core::strides(x);
  plan.tables.reserve(x.shape.rank());
  for (const std::size_t axis : memory_order(x.shape.rank(), x.layout)) {
    ResampleAxis next{.length = y.shape[axis], .stride = strides[axis]};
    if (std::optional<Taps> table = taps(axis)) {
      plan.tables.push_back(std::move(*table));
      next = by_table(plan.tables.back(), next.length, next.stride);
    }
    if (!plan.axes.empty() && continues(plan.axes.back(), next)) {
      next.length *= plan.axes.back().length;
      plan.axes.pop_back();
    }
    plan.axes.push_back(next);
  }
  if (!plan.axes.empty() && plan.axes.back().first == nullptr && plan.axes.back().stride == 1) {
    plan.row = plan.axes.back().length;
    plan.axes.pop_back();
  }
  return plan;
}

Plan forward_plan(const Resize& a, const Signature& types) {
  const TensorType& x = types.in[0];
  return plan_for(x, types.out[0], a.extrapolation, [&](std::size_t axis) -> std::optional<Taps> {
    const ResizeAxis* const entry = resized(a, axis);
    if (entry == nullptr) return std::nullopt;
    return resize_taps(a, *entry, x.shape[axis]);
  });
}

Plan backward_plan(const ResizeGradient& a, const Signature& types) {
  return plan_for(types.in[0], types.out[0], 0, [&](std::size_t axis) -> std::optional<Taps> {
    const ResizeAxis* const entry = resized(a.resize, axis);
    if (entry == nullptr) return std::nullopt;
    return transposed(resize_taps(a.resize, *entry, a.shape[axis]), a.shape[axis]);
  });
}

void run_simd(const Plan& plan, const Run& run) {
  kernels::resample(plan.axes, plan.row, static_cast<float>(plan.empty), run.input<float>(0),
                    run.output<float>(0));
}

// Calls f(offset, weight) for the taps of place `unit`, which counts through the axes.
template <class F>
void for_each_tap(std::span<const ResampleAxis> axes,
                  std::int64_t unit,
                  std::int64_t offset,
                  double weight,
                  F&& f) {
  if (axes.empty()) return f(offset, weight);
  const ResampleAxis& axis = axes.back();
  const std::span<const ResampleAxis> rest = axes.first(axes.size() - 1);
  const std::int64_t place = unit % axis.length;
  const std::int64_t left = unit / axis.length;
  if (axis.first == nullptr) {
    return for_each_tap(rest, left, offset + place * axis.stride, weight, f);
  }
  for (std::int64_t k = axis.first[place]; k < axis.first[place + 1]; ++k) {
    for_each_tap(rest, left, offset + axis.offset[k], weight * axis.weight[k], f);
  }
}

// What is not float has one tap of weight 1, and is copied.
template <class T>
T resampled(const Plan& plan, const T* x, std::int64_t unit) {
  bool any = false;
  if constexpr (std::is_floating_point_v<T>) {
    double sum = 0;
    for_each_tap(plan.axes, unit, 0, 1, [&](std::int64_t offset, double weight) {
      sum += weight * double{x[offset]};
      any = true;
    });
    return static_cast<T>(any ? sum : plan.empty);
  } else {
    T result{};
    for_each_tap(plan.axes, unit, 0, 1, [&](std::int64_t offset, double) {
      result = x[offset];
      any = true;
    });
    return any ? result : static_cast<T>(plan.empty);
  }
}

void run_reference(const Plan& plan, const Run& run) {
  std::int64_t units = 1;
  for (const ResampleAxis& axis : plan.axes) units *= axis.length;
  core::visit(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t unit = 0; unit < units; ++unit) {
      for (std::int64_t i = 0; i < plan.row; ++i) {
        run.output<T>(0)[unit * plan.row + i] = resampled(plan, run.input<T>(0) + i, unit);
      }
    }
  });
}

std::unique_ptr<graph::BoundKernel> simd(Plan plan) {
  if (plan.dtype != core::DType::kFloat32) return nullptr;
  return std::make_unique<PlannedKernel<Plan>>("simd", run_simd, std::move(plan));
}

std::unique_ptr<graph::BoundKernel> reference(Plan plan) {
  return std::make_unique<PlannedKernel<Plan>>("reference", run_reference, std::move(plan));
}

}  // namespace

std::unique_ptr<graph::BoundKernel> bind_simd_resize(const Resize& a,
                                                     const Signature& types,
                                                     const core::Machine&) {
  return simd(forward_plan(a, types));
}

std::unique_ptr<graph::BoundKernel> bind_reference_resize(const Resize& a,
                                                          const Signature& types,
                                                          const core::Machine&) {
  return reference(forward_plan(a, types));
}

std::unique_ptr<graph::BoundKernel> bind_simd_resize_gradient(const ResizeGradient& a,
                                                              const Signature& types,
                                                              const core::Machine&) {
  return simd(backward_plan(a, types));
}

std::unique_ptr<graph::BoundKernel> bind_reference_resize_gradient(const ResizeGradient& a,
                                                                   const Signature& types,
                                                                   const core::Machine&) {
  return reference(backward_plan(a, types));
}

}  // namespace lowtide::ops
