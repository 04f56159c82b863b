// Resampler: a box of an image, brought to a size while its rows stream by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lowtide/bytes.h"

namespace lowtide::data {

// One axis: output pixel i looks at the source around (first + i + 0.5) * scale, and at nothing
// outside [begin, end), with end - begin > 0.
struct AxisMap {
  double scale = 1;
  double first = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// How pixels are placed: their axes are exchanged or not, and each of the two, as it was before, is
// mirrored or not.
struct Turn {
  bool transposed = false;
  bool mirror_x = false;
  bool mirror_y = false;

  bool operator==(const Turn&) const = default;
};

// Antialiased bilinear resampling, as Pillow's and torchvision's: a triangle filter that reaches
// one source pixel each way, or as many as become one. Weighted sums are float; the result is
// rounded to bytes. A box of the output's size is copied.
class Resampler {
 public:
  Resampler(
      const AxisMap& x, std::int64_t width, const AxisMap& y, std::int64_t height, int channels);

  // The source rows it needs, in order.
  [[nodiscard]] std::int64_t first_row() const { return first_row_; }
  [[nodiscard]] std::int64_t end_row() const { return end_row_; }

  // Row `y` of the source, whole, its channels interleaved.
  void add_row(std::int64_t y, std::span<const std::uint8_t> row);

  // The output as planes, one a channel, turned; transposed ones are `height` wide.
  void write(const Turn& turn, std::span<std::uint8_t> out) const;

  // What it holds on the heap at most.
  static Bytes memory(std::int64_t longest_side,
                      std::int64_t width,
                      std::int64_t height,
                      int channels);

 private:
  // The weights of the source pixels from `begin` on that make an output pixel.
  struct Taps {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    std::size_t weights = 0;  // where they begin in `weights`
  };

  struct Axis {
    std::vector<Taps> taps;
    std::vector<float> weights;
  };

  static Axis weigh(const AxisMap& map, std::int64_t size);
  void resample_row(std::span<const std::uint8_t> row);

  Axis x_;
  Axis y_;
  std::int64_t width_;
  std::int64_t height_;
  std::size_t channels_;
  std::int64_t first_row_ = 0;
  std::int64_t end_row_ = 0;
  std::size_t first_open_ = 0;  // the first output row that later source rows may add to
  std::vector<float> row_;      // one source row at the output's width
  std::vector<float> sums_;     // the output, channels interleaved
};

}  // namespace lowtide::data
