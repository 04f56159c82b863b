// The tile that matrix products are made of, once for each instruction set: six rows of two vectors
// each, which fill AVX2's registers, summed over a packed panel.
#if defined(LOWTIDE_KERNELS_SIMD_PRODUCT_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOWTIDE_KERNELS_SIMD_PRODUCT_TILES_INL_H_
#undef LOWTIDE_KERNELS_SIMD_PRODUCT_TILES_INL_H_
#else
#define LOWTIDE_KERNELS_SIMD_PRODUCT_TILES_INL_H_
#endif

#include "kernels/simd/product/tiles.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE std::int64_t panel_width() { return 2 * lanes(); }

// Rows are variables of their own, not arrays: compilers keep these in registers.
struct TileRow {
  V left;
  V right;

  HWY_INLINE void add(const float* factor, V b0, V b1) {
    const V a = hn::Set(D(), *factor);
    left = hn::MulAdd(a, b0, left);
    right = hn::MulAdd(a, b1, right);
  }

  HWY_INLINE void add_from(const float* row) {
    left = hn::Add(left, hn::LoadU(D(), row));
    right = hn::Add(right, hn::LoadU(D(), row + lanes()));
  }

  HWY_INLINE void store(float* row) const {
    hn::StoreU(left, D(), row);
    hn::StoreU(right, D(), row + lanes());
  }
};

struct Tile {
  TileRow r0, r1, r2, r3, r4, r5;

  // One more product for each element: the factors of the rows lie `row` apart.
  HWY_INLINE void add(const float* factors, std::int64_t row, V b0, V b1) {
    r0.add(factors, b0, b1);
    r1.add(factors + row, b0, b1);
    r2.add(factors + 2 * row, b0, b1);
    r3.add(factors + 3 * row, b0, b1);
    r4.add(factors + 4 * row, b0, b1);
    r5.add(factors + 5 * row, b0, b1);
  }

  // Calls f(TileRow&, row) for all six.
  template <class F>
  HWY_INLINE void for_each_row(F&& f) {
    static_assert(kTileRows == 6, "as many as there are variables");
    f(r0, 0);
    f(r1, 1);
    f(r2, 2);
    f(r3, 3);
    f(r4, 4);
    f(r5, 5);
  }
};

// Sums of a(r, k) b(k, :) over k < count: a(r, k) lies at a + r * row + k * step, and b is a packed
// panel.
HWY_INLINE Tile
tile_sums(const float* a, std::int64_t row, std::int64_t step, const float* b, std::int64_t count) {
  const TileRow none{hn::Zero(D()), hn::Zero(D())};
  Tile t{none, none, none, none, none, none};
  for (std::int64_t k = 0; k < count; ++k, a += step, b += panel_width()) {
    const V b0 = hn::LoadU(D(), b);
    const V b1 = hn::LoadU(D(), b + lanes());
    t.add(a, row, b0, b1);
  }
  return t;
}

// Whether two tiles fit the registers together, so that b is read half as often.
#if HWY_TARGET == HWY_SCALAR || (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3)
inline constexpr bool kTilesInPairs = false;
#else
inline constexpr bool kTilesInPairs = true;
#endif

struct TilePair {
  Tile first;
  Tile second;
};

// The same sums for a tile and for the one that lies `apart` behind it.
HWY_INLINE TilePair tile_pair_sums(const float* a,
                                   std::int64_t apart,
                                   std::int64_t row,
                                   std::int64_t step,
                                   const float* b,
                                   std::int64_t count) {
  const TileRow none{hn::Zero(D()), hn::Zero(D())};
  Tile t{none, none, none, none, none, none};
  Tile u{none, none, none, none, none, none};
  const float* c = a + apart;
  for (std::int64_t k = 0; k < count; ++k, a += step, c += step, b += panel_width()) {
    const V b0 = hn::LoadU(D(), b);
    const V b1 = hn::LoadU(D(), b + lanes());
    t.add(a, row, b0, b1);
    u.add(c, row, b0, b1);
  }
  return {t, u};
}

// Writes the tile's rows `stride` apart, over what is there or added to it.
HWY_INLINE void store_tile(Tile t, float* y, std::int64_t stride, bool add) {
  if (add) {
    t.for_each_row([&](TileRow& row, std::int64_t i) HWY_ATTR { row.add_from(y + i * stride); });
  }
  t.for_each_row([&](TileRow& row, std::int64_t i) HWY_ATTR { row.store(y + i * stride); });
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
