// A counter-based generator (Philox 4x32-10, Salmon et al. 2011): the number at a place depends
// only on the key and the place, never on what was drawn before, by which thread or how often.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lowtide::core {

using Philox = std::array<std::uint32_t, 4>;

// Four random words for one 128-bit counter under one 64-bit key.
constexpr Philox philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32U);
  Philox x = {
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32U),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32U)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * x[0];
    const std::uint64_t product1 = kMultiplier1 * x[2];
    x = {static_cast<std::uint32_t>(product1 >> 32U) ^ x[1] ^ key0,
         static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32U) ^ x[3] ^ key1,
         static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return x;
}

// A float in [0, 1) with 24 random bits.
constexpr float unit_float(std::uint32_t word) {
  return static_cast<float>(word >> 8U) * 0x1.0p-24F;
}

// A stream over one (key, stream) pair, for code that just wants the next number: shuffling and
// initial weights. Not for kernels, which address numbers by place.
class RandomStream {
 public:
  RandomStream(std::uint64_t key, std::uint64_t stream) : key_(key), stream_(stream) {}

  std::uint32_t word();
  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), bound > 0, without bias
  double uniform();                          // [0, 1) with 53 bits
  double normal();                           // mean 0, deviation 1 (Box-Muller)

 private:
  std::uint64_t key_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
  Philox block_{};
  int used_ = 4;
};

enum class Distribution : std::uint8_t {
  kConstant,         // every element is `scale`
  kUniform,          // between -scale and scale
  kNormal,           // mean 0, deviation `scale`
  kTruncatedNormal,  // the same, drawn again where it lies more than 2 `scale` from 0
};

// A tensor of random floats as a recipe, so that fresh weights need no memory. An element depends
// only on the recipe and its place in the tensor. Tensors of one seed have different streams.
struct Draw {
  Distribution distribution = Distribution::kConstant;
  float scale = 0;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;

  bool operator==(const Draw&) const = default;
};

// Elements `first` and following.
void draw(const Draw& recipe, std::int64_t first, std::span<float> into);

// The same into memory that is aligned for floats.
inline void draw_bytes(const Draw& recipe, std::int64_t first, std::span<std::byte> into) {
  draw(recipe, first, {reinterpret_cast<float*>(into.data()), into.size() / sizeof(float)});
}

}  // namespace lowtide::core
