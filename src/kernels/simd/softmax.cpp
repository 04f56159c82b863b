#include "kernels/simd/softmax.h"

#include <cmath>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/softmax.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
HWY_ATTR void SoftmaxRow(const float* x, float* y, std::int64_t n, bool log) {
  const D d;
  V high = hn::Set(d, -INFINITY);
  for_each_vector(x, n, -INFINITY,
                  [&](V v, std::int64_t, std::int64_t) HWY_ATTR { high = hn::Max(high, v); });
  const V max = hn::MaxOfLanes(d, high);
  V total = hn::Zero(d);
  for_each_vector(x, n, -INFINITY, [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
    const V e = exp_of(hn::Sub(v, max));
    total = hn::Add(total,
                    hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(count)), e, hn::Zero(d)));
    if (!log) store(e, y + i, count);
  });
  const float sum = hn::GetLane(hn::SumOfLanes(d, total));
  if (log) {
    const V shift = hn::Add(max, hn::Set(d, std::log(sum)));
    for_each_vector(x, n, 0, [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
      store(hn::Sub(v, shift), y + i, count);
    });
  } else {
    const V scale = hn::Set(d, 1.0F / sum);
    for_each_vector(y, n, 0, [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
      store(hn::Mul(v, scale), y + i, count);
    });
  }
}

HWY_ATTR void SoftmaxRowGradient(
    const float* y, const float* dy, float* dx, std::int64_t n, bool log) {
  const D d;
  V total = hn::Zero(d);
  for_each_vector(dy, n, 0, [&](V g, std::int64_t i, std::int64_t count) HWY_ATTR {
    if (log) {
      total = hn::Add(total, g);
    } else {
      total = hn::MulAdd(g, load(y + i, count), total);
    }
  });
  const V sum = hn::SumOfLanes(d, total);
  for_each_vector(dy, n, 0, [&](V g, std::int64_t i, std::int64_t count) HWY_ATTR {
    const V v = load(y + i, count);
    const V result = log ? hn::NegMulAdd(exp_of(v), sum, g) : hn::Mul(v, hn::Sub(g, sum));
    store(result, dx + i, count);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(SoftmaxRow);
HWY_EXPORT(SoftmaxRowGradient);

namespace {
constexpr std::int64_t kElementsPerThread = 16384;
}

void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool log) {
  if (n == 0) return;
  core::parallel_for(rows, kElementsPerThread / n + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      HWY_DYNAMIC_DISPATCH(SoftmaxRow)(x + row * n, y + row * n, n, log);
    }
  });
}

void softmax_rows_gradient(
    const float* y, const float* dy, float* dx, std::int64_t rows, std::int64_t n, bool log) {
  if (n == 0) return;
  core::parallel_for(rows, kElementsPerThread / n + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      HWY_DYNAMIC_DISPATCH(SoftmaxRowGradient)
      (y + row * n, dy + row * n, dx + row * n, n, log);
    }
  });
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
