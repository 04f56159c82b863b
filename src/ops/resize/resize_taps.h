// What each place of a resized axis takes from the input.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/resize/resize.h"

namespace lowtide::ops {

// Place i takes `weight[k]` times place `place[k]` for all k in [first[i], first[i + 1]); nothing
// where it is extrapolated.
struct Taps {
  std::vector<std::int64_t> first = {0};
  std::vector<std::int64_t> place;
  std::vector<double> weight;
};

// For an input of `length` places, at least one.
Taps resize_taps(const Resize& a, const ResizeAxis& axis, std::int64_t length);

// The taps of the transposed map, from the result back to `length` places.
Taps transposed(const Taps& taps, std::int64_t length);

}  // namespace lowtide::ops
