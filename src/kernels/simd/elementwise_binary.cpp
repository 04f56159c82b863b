#include "kernels/simd/elementwise_binary.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"
#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/elementwise_binary.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

struct AddLanes {
  HWY_INLINE V operator()(V a, V b) const { return hn::Add(a, b); }
};

struct SubLanes {
  HWY_INLINE V operator()(V a, V b) const { return hn::Sub(a, b); }
};

struct MulLanes {
  HWY_INLINE V operator()(V a, V b) const { return hn::Mul(a, b); }
};

struct DivLanes {
  HWY_INLINE V operator()(V a, V b) const { return hn::Div(a, b); }
};

// x86 returns the second operand where either is NaN, so a NaN in `a` needs care.
struct MinLanes {
  HWY_INLINE V operator()(V a, V b) const {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Min(a, b)));
  }
};

struct MaxLanes {
  HWY_INLINE V operator()(V a, V b) const {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b)));
  }
};

struct PReluLanes {
  HWY_INLINE V operator()(V a, V b) const {
    return hn::IfThenElse(hn::Gt(a, hn::Zero(D())), a, hn::Mul(a, b));
  }
};

struct PReluSlopeLanes {
  HWY_INLINE V operator()(V a, V b) const {
    return hn::IfThenElse(hn::Gt(a, hn::Zero(D())), hn::Set(D(), 1.0F), b);
  }
};

struct ShareLanes {
  HWY_INLINE V operator()(V a, V b) const {
    const D d;
    const V unless_less = hn::IfThenZeroElse(hn::Lt(a, b), hn::Set(d, 1.0F));
    return hn::IfThenElse(hn::Eq(a, b), hn::Set(d, 0.5F), unless_less);
  }
};

struct SameLanes {
  HWY_INLINE V operator()(V a, V b) const {
    return hn::IfThenElseZero(hn::Eq(a, b), hn::Set(D(), 1.0F));
  }
};

// A scalar function applied lane by lane.
template <float (*kFunction)(float, float)>
struct EachLane {
  HWY_INLINE V operator()(V a, V b) const {
    const D d;
    HWY_ALIGN float x[hn::MaxLanes(D())];
    HWY_ALIGN float y[hn::MaxLanes(D())];
    hn::Store(a, d, x);
    hn::Store(b, d, y);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) x[i] = kFunction(x[i], y[i]);
    return hn::Load(d, x);
  }
};

float power(float a, float b) { return std::pow(a, b); }

float power_base(float a, float b) { return b == 0 ? 0.0F : b * std::pow(a, b - 1.0F); }

float power_exponent(float a, float b) {
  return a == 0 && b >= 0 ? 0.0F : std::pow(a, b) * std::log(a);
}

// An operand along the innermost loop: an array, or one number for all of it.
template <bool kMoves>
struct Operand {
  explicit Operand(const float* start) : first(start), all(hn::Set(D(), *start)) {}

  HWY_INLINE V at(std::int64_t i) const {
    if constexpr (kMoves) return hn::LoadU(D(), first + i);
    return all;
  }

  HWY_INLINE V some_at(std::int64_t i, std::int64_t count) const {
    if constexpr (kMoves) return load_some(first + i, count);
    return all;
  }

  const float* first;
  V all;
};

template <bool kMovesA, bool kMovesB, class F>
void run_line(F f, const float* a, const float* b, float* y, std::int64_t n) {
  const D d;
  const std::int64_t step = lanes();
  const Operand<kMovesA> left(a);
  const Operand<kMovesB> right(b);
  std::int64_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(f(left.at(i), right.at(i)), d, y + i);
  if (i < n) store_some(f(left.some_at(i, n - i), right.some_at(i, n - i)), y + i, n - i);
}

// Result elements [begin, end): whole innermost loops, but for the first and the last.
template <bool kMovesA, bool kMovesB, class F>
void run_lines(F f,
               const float* a,
               const float* b,
               float* y,
               std::span<const BroadcastLoop> loops,
               std::int64_t begin,
               std::int64_t end) {
  std::array<std::int64_t, kMaxBroadcastLoops> at{};
  std::int64_t from_a = 0;
  std::int64_t from_b = 0;
  std::int64_t rest = begin;
  for (std::size_t l = loops.size(); l-- > 0;) {
    at[l] = rest % loops[l].length;
    rest /= loops[l].length;
    from_a += at[l] * loops[l].a;
    from_b += at[l] * loops[l].b;
  }
  const BroadcastLoop& inner = loops.back();
  std::int64_t skipped = at[loops.size() - 1];
  from_a -= skipped * inner.a;
  from_b -= skipped * inner.b;
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t n = std::min(inner.length - skipped, end - i);
    run_line<kMovesA, kMovesB>(f, a + from_a + skipped * inner.a, b + from_b + skipped * inner.b,
                               y + i, n);
    i += n;
    skipped = 0;
    for (std::size_t l = loops.size() - 1; l-- > 0;) {
      from_a += loops[l].a;
      from_b += loops[l].b;
      if (++at[l] < loops[l].length) break;
      from_a -= loops[l].length * loops[l].a;
      from_b -= loops[l].length * loops[l].b;
      at[l] = 0;
    }
  }
}

template <class F>
void run_function(F f,
                  const float* a,
                  const float* b,
                  float* y,
                  std::span<const BroadcastLoop> loops,
                  std::int64_t begin,
                  std::int64_t end) {
  const BroadcastLoop& inner = loops.back();
  if (inner.a != 0 && inner.b != 0) {
    run_lines<true, true>(f, a, b, y, loops, begin, end);
  } else if (inner.a != 0) {
    run_lines<true, false>(f, a, b, y, loops, begin, end);
  } else {
    run_lines<false, true>(f, a, b, y, loops, begin, end);
  }
}

}  // namespace

void RunBinary(BinaryFunction function,
               const float* a,
               const float* b,
               float* y,
               std::span<const BroadcastLoop> loops,
               std::int64_t begin,
               std::int64_t end) {
  const auto run = [&](auto f) HWY_ATTR { run_function(f, a, b, y, loops, begin, end); };
  switch (function) {
    case BinaryFunction::kAdd: return run(AddLanes());
    case BinaryFunction::kSub: return run(SubLanes());
    case BinaryFunction::kMul: return run(MulLanes());
    case BinaryFunction::kDiv: return run(DivLanes());
    case BinaryFunction::kPow: return run(EachLane<power>());
    case BinaryFunction::kMin: return run(MinLanes());
    case BinaryFunction::kMax: return run(MaxLanes());
    case BinaryFunction::kPRelu: return run(PReluLanes());
    case BinaryFunction::kPReluSlope: return run(PReluSlopeLanes());
    case BinaryFunction::kShare: return run(ShareLanes());
    case BinaryFunction::kSame: return run(SameLanes());
    case BinaryFunction::kPowBase: return run(EachLane<power_base>());
    case BinaryFunction::kPowExponent: return run(EachLane<power_exponent>());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(RunBinary);

namespace {
constexpr std::int64_t kElementsPerThread = 16384;
}

void binary(BinaryFunction f,
            const float* a,
            const float* b,
            float* y,
            std::span<const BroadcastLoop> loops) {
  LT_CHECK(!loops.empty() && loops.size() <= kMaxBroadcastLoops, "1 to 8 loops");
  std::int64_t count = 1;
  for (const BroadcastLoop& loop : loops) count *= loop.length;
  core::parallel_for(count, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(RunBinary)(f, a, b, y, loops, begin, end);
  });
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
