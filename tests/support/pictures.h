// Pictures for tests, written as PNG and JPEG by the libraries' own writers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lowtide::support {

// Rows of interleaved samples; of 16-bit PNG two bytes each, most significant first.
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 3;
  std::vector<std::uint8_t> samples;
};

// A smooth picture, so that JPEG keeps it nearly as it is; another one for each seed.
Picture smooth_picture(std::int64_t width,
                       std::int64_t height,
                       std::int64_t channels,
                       int seed = 0);

struct PngStyle {
  bool interlaced = false;
  bool wide = false;                  // 16 bits a sample
  std::vector<std::uint8_t> palette;  // red, green, blue of each; samples are then its indices
  std::vector<std::uint8_t> exif;     // the content of a chunk eXIf
};

void write_png(const std::filesystem::path& path,
               const Picture& picture,
               const PngStyle& style = {});

struct JpegStyle {
  int quality = 95;
  bool progressive = false;
  bool inks = false;  // four channels are cyan, magenta, yellow, black, inverted as Adobe does
};

void write_jpeg(const std::filesystem::path& path,
                const Picture& picture,
                const JpegStyle& style = {});

}  // namespace lowtide::support
