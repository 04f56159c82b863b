#include "data/image/resampler.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace lowtide::data {

Resampler::Axis Resampler::weigh(const AxisMap& map, std::int64_t size) {
  Axis axis;
  const double reach = std::max(map.scale, 1.0);
  for (std::int64_t i = 0; i < size; ++i) {
    const double centre = (map.first + static_cast<double>(i) + 0.5) * map.scale;
    const auto clamped = [&](double at) {
      return std::clamp(static_cast<std::int64_t>(std::floor(at + 0.5)), map.begin, map.end);
    };
    Taps taps{.begin = clamped(centre - reach), .count = 0, .weights = axis.weights.size()};
    const std::int64_t end = clamped(centre + reach);
    // A box beside the source keeps its nearest pixel.
    if (end <= taps.begin) taps.begin = std::min(taps.begin, map.end - 1);
    double sum = 0;
    for (std::int64_t k = taps.begin; k < end; ++k) {
      const double distance = std::abs((static_cast<double>(k) + 0.5 - centre) / reach);
      const double weight = std::max(0.0, 1.0 - distance);
      axis.weights.push_back(static_cast<float>(weight));
      sum += weight;
      ++taps.count;
    }
    if (sum <= 0) {
      axis.weights.resize(taps.weights);
      axis.weights.push_back(1);
      taps.count = 1;
      sum = 1;
    }
    for (std::size_t k = taps.weights; k < axis.weights.size(); ++k) {
      axis.weights[k] = static_cast<float>(static_cast<double>(axis.weights[k]) / sum);
    }
    axis.taps.push_back(taps);
  }
  return axis;
}

Resampler::Resampler(
    const AxisMap& x, std::int64_t width, const AxisMap& y, std::int64_t height, int channels)
    : x_(weigh(x, width)),
      y_(weigh(y, height)),
      width_(width),
      height_(height),
      channels_(static_cast<std::size_t>(channels)),
      row_(static_cast<std::size_t>(width) * channels_),
      sums_(row_.size() * static_cast<std::size_t>(height)) {
  LT_CHECK(width > 0 && height > 0, "an output with pixels");
  first_row_ = y_.taps.front().begin;
  for (const Taps& taps : y_.taps) end_row_ = std::max(end_row_, taps.begin + taps.count);
}

void Resampler::resample_row(std::span<const std::uint8_t> row) {
  for (std::size_t i = 0; i < x_.taps.size(); ++i) {
    const Taps& taps = x_.taps[i];
    const float* const weights = x_.weights.data() + taps.weights;
    const std::uint8_t* const from = row.data() + static_cast<std::size_t>(taps.begin) * channels_;
    float* const to = row_.data() + i * channels_;
    const auto count = static_cast<std::size_t>(taps.count);
    if (channels_ == 3) {
      float r = 0;
      float g = 0;
      float b = 0;
      for (std::size_t k = 0; k < count; ++k) {
        r += weights[k] * static_cast<float>(from[3 * k]);
        g += weights[k] * static_cast<float>(from[3 * k + 1]);
        b += weights[k] * static_cast<float>(from[3 * k + 2]);
      }
      to[0] = r;
      to[1] = g;
      to[2] = b;
      continue;
    }
    for (std::size_t c = 0; c < channels_; ++c) {
      float sum = 0;
      for (std::size_t k = 0; k < count; ++k) {
        sum += weights[k] * static_cast<float>(from[k * channels_ + c]);
      }
      to[c] = sum;
    }
  }
}

void Resampler::add_row(std::int64_t y, std::span<const std::uint8_t> row) {
  resample_row(row);
  for (std::size_t i = first_open_; i < y_.taps.size(); ++i) {
    const Taps& taps = y_.taps[i];
    if (taps.begin > y) break;
    if (y >= taps.begin + taps.count) {
      if (i == first_open_) ++first_open_;
      continue;
    }
    const float weight = y_.weights[taps.weights + static_cast<std::size_t>(y - taps.begin)];
    float* const to = sums_.data() + i * row_.size();
    for (std::size_t k = 0; k < row_.size(); ++k) to[k] += weight * row_[k];
  }
}

void Resampler::write(const Turn& turn, std::span<std::uint8_t> out) const {
  LT_CHECK(out.size() == sums_.size(), "room for the output");
  const auto width = static_cast<std::size_t>(width_);
  const auto height = static_cast<std::size_t>(height_);
  // How far apart neighbours are written.
  const std::size_t step_x = turn.transposed ? height : 1;
  const std::size_t step_y = turn.transposed ? 1 : width;
  for (std::size_t c = 0; c < channels_; ++c) {
    std::uint8_t* const plane = out.data() + c * width * height;
    for (std::size_t y = 0; y < height; ++y) {
      std::uint8_t* const to = plane + (turn.mirror_y ? height - 1 - y : y) * step_y;
      const float* const from = sums_.data() + y * row_.size() + c;
      for (std::size_t x = 0; x < width; ++x) {
        const float value = std::clamp(std::floor(from[x * channels_] + 0.5F), 0.0F, 255.0F);
        to[(turn.mirror_x ? width - 1 - x : x) * step_x] = static_cast<std::uint8_t>(value);
      }
    }
  }
}

// Weights overlap twofold, and a vector that grows holds up to twice its size and, while it does,
// half as much again.
Bytes Resampler::memory(std::int64_t longest_side,
                        std::int64_t width,
                        std::int64_t height,
                        int channels) {
  const std::int64_t weights = 2 * 3 * (2 * longest_side + 3 * (width + height));
  const std::int64_t taps = 3 * (width + height) * static_cast<std::int64_t>(sizeof(Taps));
  const std::int64_t sums = (width * height + std::max(width, height)) * channels;
  return Bytes((weights + sums) * static_cast<std::int64_t>(sizeof(float)) + taps);
}

}  // namespace lowtide::data
