// The transforms of Winograd's minimal filtering for tiles of six points and filters of three, once
// for each instruction set.
//
// A polynomial product of degree five is fixed by its values at six points: here 0, +-3/4, +-3/2
// and infinity. Between these the values are closest to each other in size: the rounding error
// is 1.8 times that of direct summation, with the customary 0, +-1, +-2 four times. Every factor
// but the divisors, which only weights meet, is a dyadic number, exact in a float.
#if defined(LOWTIDE_KERNELS_SIMD_WINOGRAD_TRANSFORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOWTIDE_KERNELS_SIMD_WINOGRAD_TRANSFORMS_INL_H_
#undef LOWTIDE_KERNELS_SIMD_WINOGRAD_TRANSFORMS_INL_H_
#else
#define LOWTIDE_KERNELS_SIMD_WINOGRAD_TRANSFORMS_INL_H_
#endif

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {

inline constexpr float kNear = 0.75F;
inline constexpr float kFar = 1.5F;
inline constexpr float kNear2 = kNear * kNear;
inline constexpr float kFar2 = kFar * kFar;
// One over the product of a point's distances to the other finite points.
inline constexpr float kZeroDivisor = 1 / (kNear2 * kFar2);
inline constexpr float kNearDivisor = 1 / (2 * kNear2 * (kNear2 - kFar2));
inline constexpr float kFarDivisor = 1 / (2 * kFar2 * (kFar2 - kNear2));

HWY_INLINE V times(float factor, V v) { return hn::Mul(hn::Set(D(), factor), v); }
HWY_INLINE V plus_times(V sum, float factor, V v) {
  return hn::MulAdd(hn::Set(D(), factor), v, sum);
}
HWY_INLINE V minus_times(V sum, float factor, V v) {
  return hn::NegMulAdd(hn::Set(D(), factor), v, sum);
}

// The values at the points +-`point` of a polynomial with these even and odd parts.
template <class Put>
HWY_INLINE void put_pair(Put put, int first, V even, float point, V odd) {
  put(first, plus_times(even, point, odd));
  put(first + 1, minus_times(even, point, odd));
}

// Each transform reads kIn vectors by get(i) and writes kOut by put(i, v).

// Six pixels to what a filter's values at the six points are multiplied with.
struct InputTransform {
  static constexpr int kIn = 6;
  static constexpr int kOut = 6;

  template <class Get, class Put>
  HWY_INLINE static void run(Get get, Put put) {
    const V d1 = get(1);
    const V d2 = get(2);
    const V d3 = get(3);
    const V d4 = get(4);
    put(0, plus_times(plus_times(d4, -kNear2 - kFar2, d2), kNear2 * kFar2, get(0)));
    const V near_even = minus_times(d4, kFar2, d2);
    const V near_odd = minus_times(d3, kFar2, d1);
    put_pair(put, 1, near_even, kNear, near_odd);
    const V far_even = minus_times(d4, kNear2, d2);
    const V far_odd = minus_times(d3, kNear2, d1);
    put_pair(put, 3, far_even, kFar, far_odd);
    put(5, plus_times(plus_times(get(5), -kNear2 - kFar2, d3), kNear2 * kFar2, d1));
  }
};

// Three weights to their values at the points, divided.
struct WeightTransform {
  static constexpr int kIn = 3;
  static constexpr int kOut = 6;

  template <class Get, class Put>
  HWY_INLINE static void run(Get get, Put put) {
    const V g0 = get(0);
    const V g1 = get(1);
    const V g2 = get(2);
    put(0, times(kZeroDivisor, g0));
    const V near_even = times(kNearDivisor, plus_times(g0, kNear2, g2));
    put_pair(put, 1, near_even, kNear * kNearDivisor, g1);
    const V far_even = times(kFarDivisor, plus_times(g0, kFar2, g2));
    put_pair(put, 3, far_even, kFar * kFarDivisor, g1);
    put(5, g2);
  }
};

// Products at the points to four outputs.
struct OutputTransform {
  static constexpr int kIn = 6;
  static constexpr int kOut = 4;

  template <class Get, class Put>
  HWY_INLINE static void run(Get get, Put put) {
    const V near_sum = hn::Add(get(1), get(2));
    const V near_difference = hn::Sub(get(1), get(2));
    const V far_sum = hn::Add(get(3), get(4));
    const V far_difference = hn::Sub(get(3), get(4));
    put(0, hn::Add(get(0), hn::Add(near_sum, far_sum)));
    put(1, plus_times(times(kNear, near_difference), kFar, far_difference));
    put(2, plus_times(times(kNear2, near_sum), kFar2, far_sum));
    put(3, plus_times(plus_times(get(5), kNear * kNear2, near_difference), kFar * kFar2,
                      far_difference));
  }
};

// For the gradient of weights the four gradients of a tile are the filter, not yet divided,
struct GradientTransform {
  static constexpr int kIn = 4;
  static constexpr int kOut = 6;

  template <class Get, class Put>
  HWY_INLINE static void run(Get get, Put put) {
    const V g0 = get(0);
    const V g1 = get(1);
    const V g2 = get(2);
    const V g3 = get(3);
    put(0, g0);
    const V near_even = plus_times(g0, kNear2, g2);
    const V near_odd = plus_times(g1, kNear2, g3);
    put_pair(put, 1, near_even, kNear, near_odd);
    const V far_even = plus_times(g0, kFar2, g2);
    const V far_odd = plus_times(g1, kFar2, g3);
    put_pair(put, 3, far_even, kFar, far_odd);
    put(5, g3);
  }
};

// and there are three outputs, from divided sums and differences.
template <class Put>
HWY_INLINE void put_weights(
    V zero, V near_sum, V near_difference, V far_sum, V far_difference, V infinity, Put put) {
  put(0, plus_times(hn::Add(near_sum, far_sum), kZeroDivisor, zero));
  put(1, plus_times(times(kNear, near_difference), kFar, far_difference));
  put(2, plus_times(plus_times(infinity, kNear2, near_sum), kFar2, far_sum));
}

struct WeightGradientTransform {
  static constexpr int kIn = 6;
  static constexpr int kOut = 3;

  template <class Get, class Put>
  HWY_INLINE static void run(Get get, Put put) {
    put_weights(get(0), times(kNearDivisor, hn::Add(get(1), get(2))),
                times(kNearDivisor, hn::Sub(get(1), get(2))),
                times(kFarDivisor, hn::Add(get(3), get(4))),
                times(kFarDivisor, hn::Sub(get(3), get(4))), get(5), put);
  }
};

// The same with the magnitudes of values and factors, which bounds what rounding can do.
struct WeightGradientMagnitude {
  static constexpr int kIn = 6;
  static constexpr int kOut = 3;

  template <class Get, class Put>
  HWY_INLINE static void run(Get get, Put put) {
    const V near_sum = times(-kNearDivisor, hn::Add(get(1), get(2)));
    const V far_sum = times(kFarDivisor, hn::Add(get(3), get(4)));
    put_weights(get(0), near_sum, near_sum, far_sum, far_sum, get(5), put);
  }
};

// The transform along both axes of a tile: get(row, column) and put(row, column, v).
template <class Transform, class Get, class Put>
HWY_INLINE void transform_tile(Get get, Put put) {
  constexpr int kIn = Transform::kIn;
  constexpr int kOut = Transform::kOut;
  HWY_ALIGN float half[kOut * kIn * hn::MaxLanes(D())];
  const auto at = [&](int row, int column)
                      HWY_ATTR { return half + (row * kIn + column) * lanes(); };
  for (int column = 0; column < kIn; ++column) {
    Transform::run([&](int row) HWY_ATTR { return get(row, column); },
                   [&](int row, V v) HWY_ATTR { hn::Store(v, D(), at(row, column)); });
  }
  for (int row = 0; row < kOut; ++row) {
    Transform::run([&](int column) HWY_ATTR { return hn::Load(D(), at(row, column)); },
                   [&](int column, V v) HWY_ATTR { put(row, column, v); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
