#include "ops/resize/resize_taps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lowtide::ops {
namespace {

// Where place `at` of the result lies on the input's axis.
double coordinate(Coordinates mode, const ResizeAxis& axis, double at, double length) {
  const double resized = axis.scale * length;  // may be no whole number
  const double half_pixel = (at + 0.5) / axis.scale - 0.5;
  switch (mode) {
    case Coordinates::kHalfPixel: return half_pixel;
    case Coordinates::kHalfPixelSymmetric:
      return half_pixel + length / 2 * (1 - static_cast<double>(axis.size) / resized);
    case Coordinates::kPytorchHalfPixel: return resized == 1 ? -0.5 : half_pixel;
    case Coordinates::kAlignCorners: return resized == 1 ? 0 : at * (length - 1) / (resized - 1);
    case Coordinates::kAsymmetric: return at / axis.scale;
    case Coordinates::kTfHalfPixelForNn: return half_pixel + 0.5;
    case Coordinates::kTfCropAndResize: break;
  }
  const double part = (axis.end - axis.begin) * (length - 1);
  const double inside = resized == 1 ? part / 2 : at * part / (resized - 1);
  return axis.begin * (length - 1) + inside;
}

double nearest(NearestRounding rounding, double x) {
  switch (rounding) {
    case NearestRounding::kPreferFloor: return std::ceil(x - 0.5);
    case NearestRounding::kPreferCeil: return std::floor(x + 0.5);
    case NearestRounding::kFloor: return std::floor(x);
    case NearestRounding::kCeil: break;
  }
  return std::ceil(x);
}

// The weight of a place at that distance.
double kernel(const Resize& a, double distance) {
  const double d = std::abs(distance);
  if (a.mode == ResizeMode::kLinear) return std::max(1 - d, 0.0);
  if (d >= 2) return 0;
  if (d > 1) return ((a.cubic * d - 5 * a.cubic) * d + 8 * a.cubic) * d - 4 * a.cubic;
  return ((a.cubic + 2) * d - (a.cubic + 3)) * d * d + 1;
}

// Adds a tap, or its weight to the last one of the same place.
void add_tap(Taps& taps, std::int64_t place, double weight) {
  if (weight == 0) return;
  const auto begin = static_cast<std::size_t>(taps.first.back());
  if (taps.place.size() > begin && taps.place.back() == place) {
    taps.weight.back() += weight;
    return;
  }
  taps.place.push_back(place);
  taps.weight.push_back(weight);
}

void interpolate(Taps& taps, const Resize& a, double scale, double x, std::int64_t length) {
  const double squeeze = a.antialias ? std::min(scale, 1.0) : 1.0;
  const double reach = (a.mode == ResizeMode::kLinear ? 1 : 2) / squeeze;
  const auto left = static_cast<std::int64_t>(std::floor(x));
  const auto low = left + static_cast<std::int64_t>(std::floor(-reach)) + 1;
  const std::int64_t high = 2 * left + 1 - low;
  std::vector<double> weights;
  for (std::int64_t at = low; at <= high; ++at) {
    const bool counts = !a.exclude_outside || (at >= 0 && at < length);
    weights.push_back(counts ? kernel(a, squeeze * (static_cast<double>(at) - x)) : 0);
  }
  const bool scaled = a.antialias || a.exclude_outside;
  const double sum = scaled ? std::accumulate(weights.begin(), weights.end(), 0.0) : 1.0;
  for (std::int64_t at = low; at <= high; ++at) {
    add_tap(taps, std::clamp<std::int64_t>(at, 0, length - 1),
            weights[static_cast<std::size_t>(at - low)] / sum);
  }
}

}  // namespace

Taps resize_taps(const Resize& a, const ResizeAxis& axis, std::int64_t length) {
  const auto last = static_cast<double>(length - 1);
  Taps taps;
  for (std::int64_t i = 0; i < axis.size; ++i) {
    const double x = coordinate(a.coordinates, axis, static_cast<double>(i), last + 1);
    const bool outside = x < 0 || x > last;
    if (a.coordinates == Coordinates::kTfCropAndResize && outside) {
      // no taps
    } else if (a.mode == ResizeMode::kNearest) {
      add_tap(taps, static_cast<std::int64_t>(std::clamp(nearest(a.rounding, x), 0.0, last)), 1);
    } else {
      interpolate(taps, a, axis.scale, x, length);
    }
    taps.first.push_back(static_cast<std::int64_t>(taps.place.size()));
  }
  return taps;
}

Taps transposed(const Taps& taps, std::int64_t length) {
  Taps result;
  result.first.assign(static_cast<std::size_t>(length) + 1, 0);
  for (const std::int64_t place : taps.place) ++result.first[static_cast<std::size_t>(place) + 1];
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  result.place.resize(taps.place.size());
  result.weight.resize(taps.place.size());
  std::vector<std::int64_t> next = result.first;
  for (std::size_t i = 0; i + 1 < taps.first.size(); ++i) {
    for (auto k = static_cast<std::size_t>(taps.first[i]);
         k < static_cast<std::size_t>(taps.first[i + 1]); ++k) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(taps.place[k])]++);
      result.place[to] = static_cast<std::int64_t>(i);
      result.weight[to] = taps.weight[k];
    }
  }
  return result;
}

}  // namespace lowtide::ops
