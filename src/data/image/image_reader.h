// ImageReader: the pixels of a JPEG or PNG file, row by row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lowtide/bytes.h"

#include "data/format/byte_source.h"
#include "data/image/resampler.h"

namespace lowtide::data {

struct ImageSize {
  std::int64_t width = 0;
  std::int64_t height = 0;

  [[nodiscard]] ImageSize transposed() const { return {.width = height, .height = width}; }

  bool operator==(const ImageSize&) const = default;
};

// Larger images are taken for bombs, before anything is allocated for them.
constexpr std::int64_t kLongestImageSide = 65'500;
constexpr std::int64_t kMostImagePixels = std::int64_t{1} << 28U;
// A progressive JPEG or interlaced PNG is held whole while it is decoded: at most this much of it.
constexpr Bytes kMostImageBytes = Bytes(std::int64_t{1} << 29U);

// Rows are of bytes, grey or red, green, blue. Grey becomes three equal channels, colours become
// grey by the weights 0.299, 0.587, 0.114; palettes are looked up, 16 bits rounded to 8, CMYK
// turned into light; transparency is dropped. Pixels come as they are stored, upright or not.
class ImageReader {
 public:
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;
  virtual ~ImageReader() = default;

  [[nodiscard]] ImageSize size() const { return size_; }
  // What turns the stored pixels upright, as the file's Exif metadata says.
  [[nodiscard]] const Turn& upright() const { return upright_; }
  // What decoding takes on the heap at most.
  [[nodiscard]] Bytes memory() const { return memory_; }

  // Comes once, before the rows: 1 or 3 channels, and a reduction (1, 2, 4 or 8) that a decoder may
  // make while decoding. Returns the one made; there are ceil(size / reduction) pixels each way.
  virtual int start(int channels, int reduction) = 0;
  // The next row: width x channels bytes.
  virtual void read_row(std::span<std::uint8_t> row) = 0;
  virtual void skip_rows(std::int64_t rows) = 0;
  // Checks what follows the last row.
  virtual void finish() = 0;

 protected:
  ImageReader() = default;

  ImageSize size_;
  Turn upright_;
  Bytes memory_;
};

// Tells the format from the first bytes and reads the header. All of the reader's functions throw
// Error(kInvalidFile) naming the file for malformed and oversized images, and Error(kUnsupported)
// for those of another kind.
std::unique_ptr<ImageReader> open_image(const ByteSource& file);

std::unique_ptr<ImageReader> open_jpeg(const ByteSource& file);
std::unique_ptr<ImageReader> open_png(const ByteSource& file);

// Throws for a size that no image should have.
void check_image_size(const ByteSource& file, ImageSize size);
// Throws where an image that must be held whole is too large for that.
void check_image_memory(const ByteSource& file, Bytes whole);

}  // namespace lowtide::data
