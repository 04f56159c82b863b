// Choosing between two tensors element by element, with broadcasting.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lowtide::kernels {

// One loop over the result, and how many elements the condition and both choices move with a step
// (0: broadcast).
struct SelectLoop {
  std::int64_t length = 1;
  std::array<std::int64_t, 3> steps{};
};

// to = condition ? a : b over all loops (outermost first, at least one), for elements of 1, 2, 4 or
// 8 bytes. `to` is contiguous and may be a or b where that moves as `to` does.
void select(const std::uint8_t* condition,
            const std::byte* a,
            const std::byte* b,
            std::byte* to,
            std::int64_t element_bytes,
            std::span<const SelectLoop> loops);

}  // namespace lowtide::kernels
