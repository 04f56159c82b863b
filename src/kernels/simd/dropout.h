// Dropout with a mask that is drawn again wherever it is needed, never stored.
#pragma once

#include <cstdint>

namespace lowtide::kernels {

// A place in the random stream: element e of sample s is kept if word e % 4 of
// core::philox(key, e / 4, step << 32 | s) is at least `threshold`.
struct DropoutStream {
  std::uint64_t key = 0;
  std::uint64_t step = 0;
  std::uint64_t first_sample = 0;
  std::uint32_t threshold = 0;
};

// Samples of channels x pixels elements, numbered channel after channel. In memory they lie that
// way, or pixel after pixel (channels-last).
struct DropoutShape {
  std::int64_t samples = 0;
  std::int64_t channels = 1;
  std::int64_t pixels = 0;
  bool channels_last = false;
};

// y = kept ? x * factor : 0. y may be x.
void dropout(
    const float* x, float* y, float factor, const DropoutStream& stream, const DropoutShape& shape);

}  // namespace lowtide::kernels
