#include "kernels/simd/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/peak.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// Enough chains to fill two pipes of a latency of five. Returns what keeps the work alive.
HWY_ATTR double MultiplyAdds(std::int64_t rounds, std::int64_t* flops) {
  const D d;
  const V factor = hn::Set(d, 0.999F);
  V a0 = hn::Iota(d, 0), a1 = hn::Iota(d, 1), a2 = hn::Iota(d, 2), a3 = hn::Iota(d, 3);
  V a4 = hn::Iota(d, 4), a5 = hn::Iota(d, 5), a6 = hn::Iota(d, 6), a7 = hn::Iota(d, 7);
  V a8 = hn::Iota(d, 8), a9 = hn::Iota(d, 9);
  for (std::int64_t i = 0; i < rounds; ++i) {
    a0 = hn::MulAdd(a0, factor, factor);
    a1 = hn::MulAdd(a1, factor, factor);
    a2 = hn::MulAdd(a2, factor, factor);
    a3 = hn::MulAdd(a3, factor, factor);
    a4 = hn::MulAdd(a4, factor, factor);
    a5 = hn::MulAdd(a5, factor, factor);
    a6 = hn::MulAdd(a6, factor, factor);
    a7 = hn::MulAdd(a7, factor, factor);
    a8 = hn::MulAdd(a8, factor, factor);
    a9 = hn::MulAdd(a9, factor, factor);
  }
  *flops = rounds * 10 * 2 * lanes();
  const V low = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), a4);
  const V high = hn::Add(hn::Add(hn::Add(a5, a6), hn::Add(a7, a8)), a9);
  return double{hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)))};
}

HWY_ATTR double ReadAll(const float* x, std::int64_t n) {
  const D d;
  V a0 = hn::Zero(d), a1 = hn::Zero(d), a2 = hn::Zero(d), a3 = hn::Zero(d);
  const std::int64_t step = lanes();
  std::int64_t i = 0;
  for (; i + 4 * step <= n; i += 4 * step) {
    a0 = hn::Add(a0, hn::LoadU(d, x + i));
    a1 = hn::Add(a1, hn::LoadU(d, x + i + step));
    a2 = hn::Add(a2, hn::LoadU(d, x + i + 2 * step));
    a3 = hn::Add(a3, hn::LoadU(d, x + i + 3 * step));
  }
  return double{hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3))))};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(MultiplyAdds);
HWY_EXPORT(ReadAll);

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 5;

// The shortest of a few runs of f, which gets the number of the thread and of all threads.
template <class F>
double best_seconds(F&& f) {
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto start = Clock::now();
    const int threads = core::parallel_parts();
    core::parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) f(part, threads);
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (i == 0 || seconds < best) best = seconds;
  }
  return std::max(best, 1e-9);
}

// Stores to it keep the loops above from being removed.
volatile double sink = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

double peak_flops_per_second() {
  constexpr std::int64_t kRounds = 200'000;
  std::int64_t flops = 0;
  const double seconds = best_seconds([&](std::int64_t part, std::int64_t) {
    std::int64_t own = 0;
    const double kept = HWY_DYNAMIC_DISPATCH(MultiplyAdds)(kRounds, &own);
    if (part == 0) {
      sink = kept;
      flops = own;
    }
  });
  return static_cast<double>(flops * core::parallel_parts()) / seconds;
}

double peak_bytes_per_second(std::span<const std::byte> memory) {
  const auto* const first = reinterpret_cast<const float*>(memory.data());
  const auto count = static_cast<std::int64_t>(memory.size() / sizeof(float));
  if (count == 0) return 0;
  // Little memory is read often enough that starting the threads does not count.
  constexpr std::int64_t kFloatsAtLeast = std::int64_t{4} << 20;
  const std::int64_t rounds = std::max<std::int64_t>(kFloatsAtLeast / count, 1);
  const double seconds = best_seconds([&](std::int64_t part, std::int64_t parts) {
    const std::int64_t begin = count * part / parts;
    double kept = 0;
    for (std::int64_t i = 0; i < rounds; ++i) {
      kept += HWY_DYNAMIC_DISPATCH(ReadAll)(first + begin, count * (part + 1) / parts - begin);
    }
    if (part == 0) sink = kept;
  });
  return static_cast<double>(rounds) * static_cast<double>(memory.size()) / seconds;
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
