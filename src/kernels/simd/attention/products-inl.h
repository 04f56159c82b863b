// Products of small matrices that lie in the caches, once for each instruction set.
#if defined(LOWTIDE_KERNELS_SIMD_ATTENTION_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOWTIDE_KERNELS_SIMD_ATTENTION_PRODUCTS_INL_H_
#undef LOWTIDE_KERNELS_SIMD_ATTENTION_PRODUCTS_INL_H_
#else
#define LOWTIDE_KERNELS_SIMD_ATTENTION_PRODUCTS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {

// y(i, j) = sum_k a(i, k) b(k, j), or that added to y. a(i, k) lies at a + i * a_row + k * a_step,
// so that either matrix order serves; the rows of b and y are contiguous.
struct SmallProduct {
  const float* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_step = 0;
  const float* b = nullptr;
  std::int64_t b_row = 0;
  float* y = nullptr;
  std::int64_t y_row = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  bool add = false;
};

enum class Last : bool { kWhole, kPartial };

// Vector v of a row of `kVectors`, the last one of which may hold fewer elements.
template <std::size_t kVectors, Last kLast>
HWY_INLINE V load_part(const float* row, std::size_t v, std::int64_t last) {
  const float* const x = row + v * hn::Lanes(D());
  return kLast == Last::kPartial && v == kVectors - 1 ? load_some(x, last) : hn::LoadU(D(), x);
}

// The tile of kRows rows and kVectors vectors whose first element is y(i, j).
template <std::size_t kRows, std::size_t kVectors, Last kLast>
HWY_ATTR void product_tile(const SmallProduct& p,
                           std::int64_t i,
                           std::int64_t j,
                           std::int64_t last) {
  const D d;
  V sum[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const float* a = p.a + i * p.a_row;
  const float* b = p.b + j;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_step, b += p.b_row) {
    V right[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) right[v] = load_part<kVectors, kLast>(b, v, last);
    for (std::size_t r = 0; r < kRows; ++r) {
      const V left = hn::Set(d, a[static_cast<std::int64_t>(r) * p.a_row]);
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    float* const y = p.y + (i + static_cast<std::int64_t>(r)) * p.y_row + j;
    for (std::size_t v = 0; v < kVectors; ++v) {
      V result = sum[r][v];
      if (p.add) result = hn::Add(result, load_part<kVectors, kLast>(y, v, last));
      if (kLast == Last::kPartial && v == kVectors - 1) {
        store_some(result, y + v * hn::Lanes(d), last);
      } else {
        hn::StoreU(result, d, y + v * hn::Lanes(d));
      }
    }
  }
}

// All rows of kVectors vectors from column j on: as many tiles as fit the registers, and the rest.
template <std::size_t kVectors, Last kLast>
HWY_ATTR void product_columns(const SmallProduct& p, std::int64_t j, std::int64_t last) {
  constexpr std::size_t kRows = 6;
  constexpr auto kStep = static_cast<std::int64_t>(kRows);
  std::int64_t i = 0;
  for (; i + kStep <= p.rows; i += kStep) product_tile<kRows, kVectors, kLast>(p, i, j, last);
  switch (p.rows - i) {
    case 5: return product_tile<5, kVectors, kLast>(p, i, j, last);
    case 4: return product_tile<4, kVectors, kLast>(p, i, j, last);
    case 3: return product_tile<3, kVectors, kLast>(p, i, j, last);
    case 2: return product_tile<2, kVectors, kLast>(p, i, j, last);
    case 1: return product_tile<1, kVectors, kLast>(p, i, j, last);
    default: return;
  }
}

HWY_ATTR inline void multiply(const SmallProduct& p) {
  std::int64_t j = 0;
  for (; j + 2 * lanes() <= p.columns; j += 2 * lanes()) {
    product_columns<2, Last::kWhole>(p, j, lanes());
  }
  for (; j + lanes() <= p.columns; j += lanes()) product_columns<1, Last::kWhole>(p, j, lanes());
  if (j < p.columns) product_columns<1, Last::kPartial>(p, j, p.columns - j);
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
