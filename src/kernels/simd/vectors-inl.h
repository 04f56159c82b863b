// Vectors of floats that touch no byte past an array's end, once for each instruction set.
#if defined(LOWTIDE_KERNELS_SIMD_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOWTIDE_KERNELS_SIMD_VECTORS_INL_H_
#undef LOWTIDE_KERNELS_SIMD_VECTORS_INL_H_
#else
#define LOWTIDE_KERNELS_SIMD_VECTORS_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include <hwy/highway.h>
// After highway.h: its own order.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }

// The first `count` (less than a vector's lanes) floats at x; the other lanes are 0. Where the
// instruction set has no masked load, a short copy stands in for it: scalar code, whose only count
// is 0, would read a float all the same.
HWY_INLINE V load_some(const float* x, std::int64_t count) {
  const D d;
#if HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_SCALAR
  HWY_ALIGN float buffer[hn::MaxLanes(D())] = {};
  std::memcpy(buffer, x, static_cast<std::size_t>(count) * sizeof(float));
  return hn::Load(d, buffer);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, x);
#endif
}

// Writes the first `count` (less than a vector's lanes) lanes to y.
HWY_INLINE void store_some(V v, float* y, std::int64_t count) {
  const D d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float buffer[hn::MaxLanes(D())];
  hn::Store(v, d, buffer);
  std::memcpy(y, buffer, static_cast<std::size_t>(count) * sizeof(float));
#else
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, y);
#endif
}

// The first `count` (at most a vector's lanes) floats at x, the other lanes 0; and back.
HWY_INLINE V load(const float* x, std::int64_t count) {
  return count >= lanes() ? hn::LoadU(D(), x) : load_some(x, count);
}

HWY_INLINE void store(V v, float* y, std::int64_t count) {
  if (count >= lanes()) {
    hn::StoreU(v, D(), y);
  } else {
    store_some(v, y, count);
  }
}

// Calls f(vector, i, lanes used) over x[0, n); the last, partial vector is filled up with `fill`.
template <class F>
HWY_ATTR void for_each_vector(const float* x, std::int64_t n, float fill, F&& f) {
  const D d;
  std::int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) f(hn::LoadU(d, x + i), i, lanes());
  if (i < n) {
    const auto used = hn::FirstN(d, static_cast<std::size_t>(n - i));
    f(hn::IfThenElse(used, load_some(x + i, n - i), hn::Set(d, fill)), i, n - i);
  }
}

// Calls f(vector tag, i) along [begin, end): whole vectors, then single elements.
template <class F>
HWY_ATTR void for_each_tag(std::int64_t begin, std::int64_t end, F&& f) {
  const D d;
  const hn::CappedTag<float, 1> one;
  std::int64_t i = begin;
  for (; i + lanes() <= end; i += lanes()) f(d, i);
  for (; i < end; ++i) f(one, i);
}

// The same over vectors of double, for sums: f(double tag, tag of as many floats, i).
template <class F>
HWY_ATTR void for_each_wide_vector(std::int64_t n, F&& f) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + step <= n; i += step) f(d, hn::Rebind<float, decltype(d)>(), i);
  for (; i < n; ++i) f(one, hn::Rebind<float, decltype(one)>(), i);
}

// exp(x). Highway's takes NaN to 0 and is not meant for arguments above 104.
template <class Vector>
HWY_INLINE Vector exp_of(Vector x) {
  const hn::DFromV<Vector> d;
  const Vector y = hn::Exp(d, hn::Min(x, hn::Set(d, 104.0F)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
