#include "kernels/simd/norm/normalize_rows.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/norm/normalize_rows.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h: its own order.
#include <hwy/highway.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

struct Pair {
  double first = 0;
  double second = 0;
};

// Sums of x - x[0] and of its square: exact also where the mean is large against the deviation.
HWY_ATTR Pair row_moments(const float* x, std::int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto shift = hn::Set(d, double{x[0]});
  auto first0 = hn::Zero(d);
  auto first1 = hn::Zero(d);
  auto second0 = hn::Zero(d);
  auto second1 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto a = hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, x + i)), shift);
    const auto b = hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, x + i + lanes)), shift);
    first0 = hn::Add(first0, a);
    first1 = hn::Add(first1, b);
    second0 = hn::MulAdd(a, a, second0);
    second1 = hn::MulAdd(b, b, second1);
  }
  Pair sums{hn::GetLane(hn::SumOfLanes(d, hn::Add(first0, first1))),
            hn::GetLane(hn::SumOfLanes(d, hn::Add(second0, second1)))};
  for (; i < n; ++i) {
    const double moved = double{x[i]} - double{x[0]};
    sums.first += moved;
    sums.second += moved * moved;
  }
  return sums;
}

HWY_ATTR void Normalize(const RowNorm& norm, std::int64_t n, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* const x = norm.x + row * n;
    float* const y = norm.y + row * n;
    const Pair sums = row_moments(x, n);
    const auto count = static_cast<double>(n);
    const double moved = sums.first / count;
    // The variance first: std::max then keeps a NaN.
    const double variance = std::max(sums.second / count - moved * moved, 0.0);
    const auto mean = static_cast<float>(double{x[0]} + moved);
    const auto inverse = static_cast<float>(1 / std::sqrt(variance + norm.epsilon));
    norm.mean[row] = mean;
    norm.inverse[row] = inverse;
    for_each_tag(0, n, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto z = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, inverse));
      const auto scale = hn::LoadU(d, norm.scale + i);
      if (norm.bias == nullptr) {
        hn::StoreU(hn::Mul(z, scale), d, y + i);
      } else {
        hn::StoreU(hn::MulAdd(z, scale, hn::LoadU(d, norm.bias + i)), d, y + i);
      }
    });
  }
}

// Sums of scale dy and of scale dy (x - mean) over a row.
HWY_ATTR Pair
row_gradient_sums(const float* x, const float* dy, const float* scale, float mean, std::int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto center = hn::Set(narrow, mean);
  auto first = hn::Zero(d);
  auto second = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto moved = hn::PromoteTo(d, hn::Sub(hn::LoadU(narrow, x + i), center));
    const auto g =
        hn::PromoteTo(d, hn::Mul(hn::LoadU(narrow, dy + i), hn::LoadU(narrow, scale + i)));
    first = hn::Add(first, g);
    second = hn::MulAdd(g, moved, second);
  }
  Pair sums{hn::GetLane(hn::SumOfLanes(d, first)), hn::GetLane(hn::SumOfLanes(d, second))};
  for (; i < n; ++i) {
    const double g = double{dy[i] * scale[i]};
    sums.first += g;
    sums.second += g * double{x[i] - mean};
  }
  return sums;
}

HWY_ATTR void InputGradient(const RowNormGradient& g,
                            const float* scale,
                            float* dx,
                            std::int64_t n,
                            std::int64_t begin,
                            std::int64_t end) {
  const auto count = static_cast<double>(n);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* const x = g.x + row * n;
    const float* const dy = g.dy + row * n;
    float* const out = dx + row * n;
    const float mean = g.mean[row];
    const double inverse = double{g.inverse[row]};
    const Pair sums = row_gradient_sums(x, dy, scale, mean, n);
    const auto factor = g.inverse[row];
    const auto offset = static_cast<float>(-inverse * sums.first / count);
    const auto slope = static_cast<float>(-inverse * inverse * inverse * sums.second / count);
    for_each_tag(0, n, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto moved = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
      const auto inner = hn::MulAdd(moved, hn::Set(d, slope), hn::Set(d, offset));
      const auto scaled = hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, scale + i));
      hn::StoreU(hn::MulAdd(scaled, hn::Set(d, factor), inner), d, out + i);
    });
  }
}

// Adds kRows rows, so that a sum is loaded and stored once for all of them.
template <int kRows, class D>
HWY_ATTR void add_rows(D d,
                       const RowNormGradient& g,
                       std::int64_t n,
                       std::int64_t row,
                       std::int64_t i,
                       double* dscale,
                       double* dbias) {
  const hn::Rebind<float, D> narrow;
  auto first = hn::LoadU(d, dscale + i);
  auto second = hn::LoadU(d, dbias + i);
  for (int k = 0; k < kRows; ++k) {
    const std::int64_t at = (row + k) * n + i;
    const auto moved = hn::Sub(hn::LoadU(narrow, g.x + at), hn::Set(narrow, g.mean[row + k]));
    const auto z = hn::PromoteTo(d, hn::Mul(moved, hn::Set(narrow, g.inverse[row + k])));
    const auto dy = hn::PromoteTo(d, hn::LoadU(narrow, g.dy + at));
    first = hn::MulAdd(dy, z, first);
    second = hn::Add(second, dy);
  }
  hn::StoreU(first, d, dscale + i);
  hn::StoreU(second, d, dbias + i);
}

template <int kRows>
HWY_ATTR void add_rows(
    const RowNormGradient& g, std::int64_t n, std::int64_t row, double* dscale, double* dbias) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) add_rows<kRows>(d, g, n, row, i, dscale, dbias);
  for (; i < n; ++i) add_rows<kRows>(one, g, n, row, i, dscale, dbias);
}

HWY_ATTR void SumRows(const RowNormGradient& g,
                      std::int64_t n,
                      std::int64_t begin,
                      std::int64_t end,
                      double* dscale,
                      double* dbias) {
  constexpr int kTogether = 4;
  std::int64_t row = begin;
  for (; row + kTogether <= end; row += kTogether) add_rows<kTogether>(g, n, row, dscale, dbias);
  for (; row < end; ++row) add_rows<1>(g, n, row, dscale, dbias);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(Normalize);
HWY_EXPORT(InputGradient);
HWY_EXPORT(SumRows);

namespace {

constexpr std::int64_t kElementsPerThread = 16384;
constexpr std::int64_t kMostBlocks = 16;
constexpr std::int64_t kRowsPerBlock = 32;  // rows summed for each double of scratch

std::int64_t blocks(const RowsShape& shape) {
  return std::clamp<std::int64_t>(shape.rows / kRowsPerBlock, 1, kMostBlocks);
}

}  // namespace

void normalize_rows(const RowNorm& norm, const RowsShape& shape) {
  if (shape.n == 0) {
    std::fill_n(norm.mean, shape.rows, 0.0F);
    std::fill_n(norm.inverse, shape.rows, static_cast<float>(1 / std::sqrt(norm.epsilon)));
    return;
  }
  core::parallel_for(shape.rows, kElementsPerThread / shape.n + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       HWY_DYNAMIC_DISPATCH(Normalize)(norm, shape.n, begin, end);
                     });
}

void normalize_rows_gradient(const RowNormGradient& g,
                             const float* scale,
                             float* dx,
                             const RowsShape& shape) {
  if (shape.n == 0) return;
  core::parallel_for(shape.rows, kElementsPerThread / shape.n + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       HWY_DYNAMIC_DISPATCH(InputGradient)(g, scale, dx, shape.n, begin, end);
                     });
}

std::int64_t row_sums_scratch(const RowsShape& shape) { return 2 * blocks(shape) * shape.n; }

void normalize_rows_sums(const RowNormGradient& g,
                         float* dscale,
                         float* dbias,
                         const RowsShape& shape,
                         double* scratch) {
  const std::int64_t count = blocks(shape);
  const std::int64_t n = shape.n;
  std::fill_n(scratch, row_sums_scratch(shape), 0.0);
  const std::int64_t grain = kElementsPerThread * count / (shape.rows * n + 1) + 1;
  core::parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      double* const own = scratch + block * 2 * n;
      HWY_DYNAMIC_DISPATCH(SumRows)
      (g, n, shape.rows * block / count, shape.rows * (block + 1) / count, own, own + n);
    }
  });
  for (std::int64_t i = 0; i < n; ++i) {
    double scale_sum = 0;
    double bias_sum = 0;
    for (std::int64_t block = 0; block < count; ++block) {
      scale_sum += scratch[block * 2 * n + i];
      bias_sum += scratch[block * 2 * n + n + i];
    }
    dscale[i] = static_cast<float>(scale_sum);
    dbias[i] = static_cast<float>(bias_sum);
  }
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
