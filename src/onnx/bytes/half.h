// Numbers of 16 bits: float16 (IEEE 754's binary16) and bfloat16 (the upper half of a float).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "onnx/bytes/output.h"

namespace lowtide::onnx {

enum class Half : std::uint8_t { kNone, kFloat16, kBfloat16 };

// Both exact and rounded to the nearest, ties to even; beyond the largest number is infinity.
float half_to_float(Half half, std::uint16_t bits);
std::uint16_t float_to_half(Half half, float value);

// Floats from the bytes of halves.
std::vector<std::byte> widened(Half half, std::span<const std::byte> halves);

// The halves of what `floats` gives, which is read in order. Filling throws Error(kNumeric) with
// the tensor's name for a number that is finite as a float only.
ByteSource rounded(Half half, ByteSource floats, std::string name);

}  // namespace lowtide::onnx
