#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/parallel.h"

namespace lowtide::core {
namespace {

// What one block of random words gives.
constexpr std::int64_t kLanes = 4;
using Lanes = std::array<float, kLanes>;

// Box-Muller.
Lanes normals(const Philox& words) {
  Lanes result{};
  for (const std::size_t i : {0U, 2U}) {
    const double above_zero = (static_cast<double>(words[i]) + 1) * 0x1.0p-32;
    const float radius = std::sqrt(-2.0F * std::log(static_cast<float>(above_zero)));
    const float angle = 2 * std::numbers::pi_v<float> * unit_float(words[i + 1]);
    result[i] = radius * std::cos(angle);
    result[i + 1] = radius * std::sin(angle);
  }
  return result;
}

Lanes truncated_normals(const Draw& recipe, std::uint64_t block) {
  const auto outside = [](float x) { return std::abs(x) > 2; };
  Lanes result = normals(philox(recipe.seed, block, recipe.stream));
  for (std::uint64_t attempt = 1; std::any_of(result.begin(), result.end(), outside); ++attempt) {
    const Lanes again = normals(philox(recipe.seed, block, recipe.stream | attempt << 32U));
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (outside(result[i])) result[i] = again[i];
    }
  }
  return result;
}

Lanes unit_lanes(const Draw& recipe, std::uint64_t block) {
  switch (recipe.distribution) {
    case Distribution::kConstant: return {1, 1, 1, 1};
    case Distribution::kNormal: return normals(philox(recipe.seed, block, recipe.stream));
    case Distribution::kTruncatedNormal: return truncated_normals(recipe, block);
    case Distribution::kUniform: break;
  }
  Lanes result{};
  const Philox words = philox(recipe.seed, block, recipe.stream);
  std::transform(words.begin(), words.end(), result.begin(),
                 [](std::uint32_t word) { return 2 * unit_float(word) - 1; });
  return result;
}

}  // namespace

std::uint32_t RandomStream::word() {
  if (used_ == 4) {
    block_ = philox(key_, counter_++, stream_);
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  // Rejects the incomplete last cycle of [0, 2^64), so every residue is equally likely.
  const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % bound + 1) % bound;
  while (true) {
    const std::uint64_t high = word();
    const std::uint64_t draw = (high << 32U) | word();
    if (draw <= limit) return draw % bound;
  }
}

double RandomStream::uniform() {
  const std::uint64_t high = word();
  return static_cast<double>(((high << 32U) | word()) >> 11U) * 0x1.0p-53;
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

void draw(const Draw& recipe, std::int64_t first, std::span<float> into) {
  const std::int64_t last = first + static_cast<std::int64_t>(into.size());
  const std::int64_t first_block = first / kLanes;
  const std::int64_t blocks = (last + kLanes - 1) / kLanes - first_block;
  parallel_for(blocks, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = first_block + begin; block < first_block + end; ++block) {
      const Lanes lanes = unit_lanes(recipe, static_cast<std::uint64_t>(block));
      const std::int64_t from = std::max(first, block * kLanes);
      const std::int64_t to = std::min(last, (block + 1) * kLanes);
      for (std::int64_t i = from; i < to; ++i) {
        into[static_cast<std::size_t>(i - first)] =
            recipe.scale * lanes[static_cast<std::size_t>(i % kLanes)];
      }
    }
  });
}

}  // namespace lowtide::core
