#include "kernels/simd/pool.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/pool.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/vectors-inl.h"

#ifndef LOWTIDE_KERNELS_SIMD_POOL_SHARED
#define LOWTIDE_KERNELS_SIMD_POOL_SHARED
namespace lowtide::kernels {

// A row of windows (or of input places) in one sample: its first two coordinates.
struct PoolRow {
  std::int64_t sample = 0;
  std::int64_t i = 0;
  std::int64_t j = 0;
};

// 1 / (number of taps that count), or 0 for windows that meet padding only.
inline float mean_scale(const WindowAxes& axes, const Place3& window, Divisor divisor) {
  std::int64_t taps = 1;
  for (std::size_t k = 0; k < 3; ++k) {
    taps *= divisor == Divisor::kPadded ? axes[k].taps_in_padded(window[k])
                                        : axes[k].end_tap(window[k]) - axes[k].first_tap(window[k]);
  }
  return taps <= 0 ? 0.0F : 1.0F / static_cast<float>(taps);
}

}  // namespace lowtide::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;

// The lanes in which v replaces the largest so far.
HWY_INLINE hn::Mask<D> beats(V v, V best) { return hn::Or(hn::Gt(v, best), hn::IsNaN(v)); }

struct Larger {
  HWY_INLINE V operator()(V best, V v) const { return hn::IfThenElse(beats(v, best), v, best); }
};

struct Sum {
  HWY_INLINE V operator()(V sum, V v) const { return hn::Add(sum, v); }
};

// Folds the taps of one window into y, kernel row by kernel row, so that x is read in order and
// long sums are made of short ones.
template <class Fold>
HWY_ATTR void FoldWindow(
    const PoolShape& shape, const float* x, const Place3& window, float start, float* y) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Fold fold;
  const WindowAxis& ai = shape.axes[0];
  const WindowAxis& aj = shape.axes[1];
  const WindowAxis& ak = shape.axes[2];
  const std::int64_t channels = shape.channels;
  const std::int64_t first = ak.first_tap(window[2]);
  const std::int64_t taps = ak.end_tap(window[2]) - first;
  const std::int64_t step = ak.dilation * channels;
  std::fill_n(y, channels, start);
  for (std::int64_t ti = ai.first_tap(window[0]); ti < ai.end_tap(window[0]); ++ti) {
    for (std::int64_t tj = aj.first_tap(window[1]); tj < aj.end_tap(window[1]); ++tj) {
      const std::int64_t row = ai.position(window[0], ti) * aj.in + aj.position(window[1], tj);
      const float* const from = x + (row * ak.in + ak.position(window[2], first)) * channels;
      for (std::int64_t c = 0; c < channels; c += lanes) {
        const std::int64_t count = channels - c;
        V folded = hn::Set(d, start);
        for (std::int64_t t = 0; t < taps; ++t) {
          folded = fold(folded, load(from + t * step + c, count));
        }
        store(fold(load(y + c, count), folded), y + c, count);
      }
    }
  }
}

HWY_ATTR void MaxPoolRow(const PoolShape& shape, const float* x, const PoolRow& at, float* y) {
  for (std::int64_t k = 0; k < shape.axes[2].out; ++k) {
    FoldWindow<Larger>(shape, x, {at.i, at.j, k}, -INFINITY, y + k * shape.channels);
  }
}

HWY_ATTR void AveragePoolRow(
    const PoolShape& shape, Divisor divisor, const float* x, const PoolRow& at, float* y) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t k = 0; k < shape.axes[2].out; ++k) {
    const Place3 window = {at.i, at.j, k};
    float* const mean = y + k * shape.channels;
    FoldWindow<Sum>(shape, x, window, 0.0F, mean);
    const V scale = hn::Set(d, mean_scale(shape.axes, window, divisor));
    for (std::int64_t c = 0; c < shape.channels; c += lanes) {
      const std::int64_t count = shape.channels - c;
      store(hn::Mul(load(mean + c, count), scale), mean + c, count);
    }
  }
}

// Writes the whole numbers of v as Index.
template <class Index>
HWY_INLINE void StoreIndex(VI v, Index* index, std::int64_t count) {
  const hn::Rebind<Index, D> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto narrow = [&] {
    if constexpr (sizeof(Index) == sizeof(float)) {
      return hn::BitCast(d, v);
    } else {
      return hn::DemoteTo(d, v);
    }
  }();
  if (count >= lanes) {
    hn::StoreU(narrow, d, index);
    return;
  }
  HWY_ALIGN Index all[hn::MaxLanes(D())];
  hn::Store(narrow, d, all);
  std::copy_n(all, count, index);
}

template <class Index>
HWY_INLINE VI LoadIndex(const Index* index, std::int64_t count) {
  const DI di;
  const hn::Rebind<Index, D> d;
  const auto widened = [&](auto narrow) HWY_ATTR {
    if constexpr (sizeof(Index) == sizeof(float)) {
      return hn::BitCast(di, narrow);
    } else {
      return hn::PromoteTo(di, narrow);
    }
  };
  if (count >= static_cast<std::int64_t>(hn::Lanes(d))) return widened(hn::LoadU(d, index));
  HWY_ALIGN Index all[hn::MaxLanes(D())] = {};
  std::copy_n(index, count, all);
  return widened(hn::Load(d, all));
}

template <class Index>
HWY_ATTR void MaxPoolIndexRow(const PoolShape& shape,
                              const float* x,
                              const PoolRow& at,
                              Index* index) {
  const D d;
  const DI di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const WindowAxis& ai = shape.axes[0];
  const WindowAxis& aj = shape.axes[1];
  const WindowAxis& ak = shape.axes[2];
  const std::int64_t first_i = ai.first_tap(at.i);
  const std::int64_t first_j = aj.first_tap(at.j);
  const std::int64_t end_i = ai.end_tap(at.i);
  const std::int64_t end_j = aj.end_tap(at.j);
  for (std::int64_t k = 0; k < ak.out; ++k) {
    const std::int64_t first_k = ak.first_tap(k);
    const std::int64_t end_k = ak.end_tap(k);
    for (std::int64_t c = 0; c < shape.channels; c += lanes) {
      const std::int64_t count = shape.channels - c;
      V best = hn::Set(d, -INFINITY);
      VI where = hn::Set(
          di, static_cast<std::int32_t>((first_i * aj.kernel + first_j) * ak.kernel + first_k));
      for (std::int64_t ti = first_i; ti < end_i; ++ti) {
        for (std::int64_t tj = first_j; tj < end_j; ++tj) {
          const std::int64_t row = ai.position(at.i, ti) * aj.in + aj.position(at.j, tj);
          for (std::int64_t tk = first_k; tk < end_k; ++tk) {
            const std::int64_t pixel = row * ak.in + ak.position(k, tk);
            const V v = load(x + pixel * shape.channels + c, count);
            const auto better = beats(v, best);
            const VI tap =
                hn::Set(di, static_cast<std::int32_t>((ti * aj.kernel + tj) * ak.kernel + tk));
            best = hn::IfThenElse(better, v, best);
            where = hn::IfThenElse(hn::RebindMask(di, better), tap, where);
          }
        }
      }
      StoreIndex(where, index + k * shape.channels + c, count);
    }
  }
}

// One row of dx. index and dy are those of the whole sample.
template <class Index>
HWY_ATTR void MaxPoolGradientRow(
    const PoolShape& shape, const Index* index, const float* dy, const PoolRow& at, float* dx) {
  const D d;
  const DI di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const WindowAxis& ai = shape.axes[0];
  const WindowAxis& aj = shape.axes[1];
  const WindowAxis& ak = shape.axes[2];
  const std::int64_t channels = shape.channels;
  std::fill_n(dx, ak.in * channels, 0.0F);
  ai.for_each_window(at.i, [&](std::int64_t wi, std::int64_t ti) HWY_ATTR {
    aj.for_each_window(at.j, [&](std::int64_t wj, std::int64_t tj) HWY_ATTR {
      for (std::int64_t k = 0; k < ak.in; ++k) {
        float* const to = dx + k * channels;
        ak.for_each_window(k, [&](std::int64_t wk, std::int64_t tk) HWY_ATTR {
          const std::int64_t from = ((wi * aj.out + wj) * ak.out + wk) * channels;
          const VI tap =
              hn::Set(di, static_cast<std::int32_t>((ti * aj.kernel + tj) * ak.kernel + tk));
          for (std::int64_t c = 0; c < channels; c += lanes) {
            const std::int64_t count = channels - c;
            const auto hit = hn::RebindMask(d, hn::Eq(LoadIndex(index + from + c, count), tap));
            const V g = hn::IfThenElseZero(hit, load(dy + from + c, count));
            store(hn::Add(load(to + c, count), g), to + c, count);
          }
        });
      }
    });
  });
}

HWY_ATTR void AveragePoolGradientRow(
    const PoolShape& shape, Divisor divisor, const float* dy, const PoolRow& at, float* dx) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const WindowAxis& ai = shape.axes[0];
  const WindowAxis& aj = shape.axes[1];
  const WindowAxis& ak = shape.axes[2];
  const std::int64_t channels = shape.channels;
  std::fill_n(dx, ak.in * channels, 0.0F);
  ai.for_each_window(at.i, [&](std::int64_t wi, std::int64_t) HWY_ATTR {
    aj.for_each_window(at.j, [&](std::int64_t wj, std::int64_t) HWY_ATTR {
      for (std::int64_t k = 0; k < ak.in; ++k) {
        float* const to = dx + k * channels;
        ak.for_each_window(k, [&](std::int64_t wk, std::int64_t) HWY_ATTR {
          const float* const from = dy + ((wi * aj.out + wj) * ak.out + wk) * channels;
          const V scale = hn::Set(d, mean_scale(shape.axes, {wi, wj, wk}, divisor));
          for (std::int64_t c = 0; c < channels; c += lanes) {
            const std::int64_t count = channels - c;
            store(hn::MulAdd(load(from + c, count), scale, load(to + c, count)), to + c, count);
          }
        });
      }
    });
  });
}

// HWY_EXPORT takes functions, not templates.
HWY_ATTR void IndexRow8(const PoolShape& s, const float* x, const PoolRow& at, std::uint8_t* y) {
  MaxPoolIndexRow(s, x, at, y);
}
HWY_ATTR void IndexRow16(const PoolShape& s, const float* x, const PoolRow& at, std::uint16_t* y) {
  MaxPoolIndexRow(s, x, at, y);
}
HWY_ATTR void IndexRow32(const PoolShape& s, const float* x, const PoolRow& at, std::uint32_t* y) {
  MaxPoolIndexRow(s, x, at, y);
}
HWY_ATTR void GradientRow8(
    const PoolShape& s, const std::uint8_t* i, const float* dy, const PoolRow& at, float* dx) {
  MaxPoolGradientRow(s, i, dy, at, dx);
}
HWY_ATTR void GradientRow16(
    const PoolShape& s, const std::uint16_t* i, const float* dy, const PoolRow& at, float* dx) {
  MaxPoolGradientRow(s, i, dy, at, dx);
}
HWY_ATTR void GradientRow32(
    const PoolShape& s, const std::uint32_t* i, const float* dy, const PoolRow& at, float* dx) {
  MaxPoolGradientRow(s, i, dy, at, dx);
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(MaxPoolRow);
HWY_EXPORT(AveragePoolRow);
HWY_EXPORT(AveragePoolGradientRow);
HWY_EXPORT(IndexRow8);
HWY_EXPORT(IndexRow16);
HWY_EXPORT(IndexRow32);
HWY_EXPORT(GradientRow8);
HWY_EXPORT(GradientRow16);
HWY_EXPORT(GradientRow32);

namespace {

constexpr std::int64_t kElementsPerThread = 16384;

std::int64_t in_elements(const PoolShape& shape) {
  return shape.axes[0].in * shape.axes[1].in * shape.axes[2].in * shape.channels;
}

std::int64_t out_elements(const PoolShape& shape) {
  return shape.axes[0].out * shape.axes[1].out * shape.axes[2].out * shape.channels;
}

// Calls f(row, first element of the row) for all rows of `length` elements in samples of
// outer x inner rows; a row costs about `work` elements.
template <class F>
void for_each_row(std::int64_t samples,
                  std::int64_t outer,
                  std::int64_t inner,
                  std::int64_t length,
                  std::int64_t work,
                  F&& f) {
  core::parallel_for(samples * outer * inner,
                     kElementsPerThread / std::max<std::int64_t>(work, 1) + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t r = begin; r < end; ++r) {
                         f(PoolRow{r / inner / outer, r / inner % outer, r % inner}, r * length);
                       }
                     });
}

template <class F>
void for_each_out_row(const PoolShape& shape, F&& f) {
  const WindowAxis& ai = shape.axes[0];
  const WindowAxis& aj = shape.axes[1];
  const WindowAxis& ak = shape.axes[2];
  const std::int64_t length = ak.out * shape.channels;
  for_each_row(shape.samples, ai.out, aj.out, length, length * ai.kernel * aj.kernel * ak.kernel,
               f);
}

template <class F>
void for_each_in_row(const PoolShape& shape, F&& f) {
  const WindowAxis& ai = shape.axes[0];
  const WindowAxis& aj = shape.axes[1];
  const WindowAxis& ak = shape.axes[2];
  const std::int64_t length = ak.in * shape.channels;
  for_each_row(shape.samples, ai.in, aj.in, length, length, f);
}

}  // namespace

void max_pool(const PoolShape& shape, const float* x, float* y) {
  for_each_out_row(shape, [&](const PoolRow& at, std::int64_t first) {
    HWY_DYNAMIC_DISPATCH(MaxPoolRow)
    (shape, x + at.sample * in_elements(shape), at, y + first);
  });
}

template <class Index>
void max_pool_index(const PoolShape& shape, const float* x, Index* index) {
  for_each_out_row(shape, [&](const PoolRow& at, std::int64_t first) {
    const float* const sample = x + at.sample * in_elements(shape);
    if constexpr (sizeof(Index) == 1) {
      HWY_DYNAMIC_DISPATCH(IndexRow8)(shape, sample, at, index + first);
    } else if constexpr (sizeof(Index) == 2) {
      HWY_DYNAMIC_DISPATCH(IndexRow16)(shape, sample, at, index + first);
    } else {
      HWY_DYNAMIC_DISPATCH(IndexRow32)(shape, sample, at, index + first);
    }
  });
}

template <class Index>
void max_pool_gradient(const PoolShape& shape, const Index* index, const float* dy, float* dx) {
  for_each_in_row(shape, [&](const PoolRow& at, std::int64_t first) {
    const std::int64_t sample = at.sample * out_elements(shape);
    if constexpr (sizeof(Index) == 1) {
      HWY_DYNAMIC_DISPATCH(GradientRow8)(shape, index + sample, dy + sample, at, dx + first);
    } else if constexpr (sizeof(Index) == 2) {
      HWY_DYNAMIC_DISPATCH(GradientRow16)(shape, index + sample, dy + sample, at, dx + first);
    } else {
      HWY_DYNAMIC_DISPATCH(GradientRow32)(shape, index + sample, dy + sample, at, dx + first);
    }
  });
}

void average_pool(const PoolShape& shape, Divisor divisor, const float* x, float* y) {
  for_each_out_row(shape, [&](const PoolRow& at, std::int64_t first) {
    HWY_DYNAMIC_DISPATCH(AveragePoolRow)
    (shape, divisor, x + at.sample * in_elements(shape), at, y + first);
  });
}

void average_pool_gradient(const PoolShape& shape, Divisor divisor, const float* dy, float* dx) {
  for_each_in_row(shape, [&](const PoolRow& at, std::int64_t first) {
    HWY_DYNAMIC_DISPATCH(AveragePoolGradientRow)
    (shape, divisor, dy + at.sample * out_elements(shape), at, dx + first);
  });
}

template void max_pool_index(const PoolShape&, const float*, std::uint8_t*);
template void max_pool_index(const PoolShape&, const float*, std::uint16_t*);
template void max_pool_index(const PoolShape&, const float*, std::uint32_t*);
template void max_pool_gradient(const PoolShape&, const std::uint8_t*, const float*, float*);
template void max_pool_gradient(const PoolShape&, const std::uint16_t*, const float*, float*);
template void max_pool_gradient(const PoolShape&, const std::uint32_t*, const float*, float*);

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
