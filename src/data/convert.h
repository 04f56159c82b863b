// From the bytes of samples to the numbers a program takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/error.h"

#include "data/dataset.h"

namespace lowtide::data {

// (x - mean) / deviation, one pair for each channel (the first axis of a sample of rank 2 or more;
// any other sample is one channel, or has one for each of its columns). uint8 values are first
// divided by 255. One pair may serve every channel.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> deviation;

  bool operator==(const Normalization&) const = default;

  // "mean=0.2860,0.5;deviation=0.3530,0.25": every float reads back exactly.
  [[nodiscard]] std::string str() const;
  static Normalization parse(std::string_view text);  // throws Error(kInvalidArgument)
};

// Mean and deviation (of the whole set: divided by n) of each channel, in one pass. uint8 samples
// are counted by value, so their result does not depend on the order of the sum. A channel that
// never changes gets deviation 1. Of samples that are made rather than copied (held_while_reading)
// at most kMostMade are taken, evenly spaced, on that many threads. Throws Error(kNumeric) for
// values that are not finite.
Normalization compute_normalization(const Dataset& dataset, std::size_t field, int threads = 1);
constexpr std::int64_t kMostMade = 4096;

// Throws Error(kInvalidArgument) when there is neither one pair nor one for each channel of
// `field`, or a deviation is not positive.
void check_normalization(const Field& field, const Normalization& normalization);

// Converts whole samples of `field` (any type but opaque). Throws as check_normalization() does.
void to_float32(const Field& field,
                std::span<const std::byte> raw,
                const std::optional<Normalization>& normalization,
                std::span<float> out);

// Converts whole samples of an integer or bool type. Throws Error(kInvalidArgument) for floats and
// for values that int64 (int32) cannot hold.
void to_int64(const Field& field, std::span<const std::byte> raw, std::span<std::int64_t> out);
void to_int32(const Field& field, std::span<const std::byte> raw, std::span<std::int32_t> out);

// The first that is a NaN or an infinity, and what is to be said of it.
std::optional<std::size_t> find_not_finite(std::span<const float> values);
[[nodiscard]] Error not_finite(const Field& field, std::string_view place, double value);

// What integers may be: [first, end), and one that stands for nothing.
struct IntegerRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::optional<std::int64_t> ignored = std::nullopt;
};

struct Outside {
  std::size_t at = 0;
  std::int64_t value = 0;
};

// The first outside, of elements of an integer type or bool.
std::optional<Outside> find_outside(core::DType dtype,
                                    std::span<const std::byte> elements,
                                    const IntegerRange& range);

// The indices that pick from so many rows, as ONNX counts them: negative ones from the end.
constexpr IntegerRange indices_of(std::int64_t rows) { return {.first = -rows, .end = rows}; }

// "9 is outside the 7 rows that the network looks up, 0 to 6", for messages.
std::string describe_missing_row(std::int64_t index, std::int64_t rows);

}  // namespace lowtide::data
