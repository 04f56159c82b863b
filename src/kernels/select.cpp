#include "kernels/select.h"

#include "core/check.h"
#include "core/parallel.h"

namespace lowtide::kernels {
namespace {

constexpr std::int64_t kElementsPerThread = 16384;

// The steps that models really have get loops of their own, which compilers turn into vectors.
template <class T>
void select_run(const std::uint8_t* c, const T* a, const T* b, T* to, const SelectLoop& loop) {
  const std::int64_t n = loop.length;
  const std::array<std::int64_t, 3>& steps = loop.steps;
  if (steps == std::array<std::int64_t, 3>{1, 1, 1}) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = c[i] != 0 ? a[i] : b[i];
  } else if (steps == std::array<std::int64_t, 3>{1, 1, 0}) {
    const T other = *b;
    for (std::int64_t i = 0; i < n; ++i) to[i] = c[i] != 0 ? a[i] : other;
  } else if (steps == std::array<std::int64_t, 3>{1, 0, 1}) {
    const T one = *a;
    for (std::int64_t i = 0; i < n; ++i) to[i] = c[i] != 0 ? one : b[i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = c[i * steps[0]] != 0 ? a[i * steps[1]] : b[i * steps[2]];
    }
  }
}

template <class T>
void select_typed(
    const std::uint8_t* c, const T* a, const T* b, T* to, std::span<const SelectLoop> loops) {
  const SelectLoop& inner = loops.back();
  std::int64_t rows = 1;
  for (const SelectLoop& loop : loops.first(loops.size() - 1)) rows *= loop.length;
  if (rows == 1) {
    core::parallel_for(inner.length, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
      select_run(c + begin * inner.steps[0], a + begin * inner.steps[1], b + begin * inner.steps[2],
                 to + begin, {end - begin, inner.steps});
    });
    return;
  }
  const auto share = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::array<std::int64_t, 3> at{};
      std::int64_t rest = row;
      for (std::size_t l = loops.size() - 1; l-- > 0;) {
        const std::int64_t i = rest % loops[l].length;
        for (std::size_t k = 0; k < 3; ++k) at[k] += i * loops[l].steps[k];
        rest /= loops[l].length;
      }
      select_run(c + at[0], a + at[1], b + at[2], to + row * inner.length, inner);
    }
  };
  if (inner.length > 0) core::parallel_for(rows, kElementsPerThread / inner.length + 1, share);
}

}  // namespace

void select(const std::uint8_t* condition,
            const std::byte* a,
            const std::byte* b,
            std::byte* to,
            std::int64_t element_bytes,
            std::span<const SelectLoop> loops) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    select_typed(condition, reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b),
                 reinterpret_cast<T*>(to), loops);
  };
  switch (element_bytes) {
    case 1: return run(std::uint8_t{});
    case 2: return run(std::uint16_t{});
    case 4: return run(std::uint32_t{});
    case 8: return run(std::uint64_t{});
    default: LT_CHECK(false, "elements have 1, 2, 4 or 8 bytes");
  }
}

}  // namespace lowtide::kernels
