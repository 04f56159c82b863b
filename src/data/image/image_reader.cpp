#include "data/image/image_reader.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace lowtide::data {

std::unique_ptr<ImageReader> open_image(const ByteSource& file) {
  constexpr std::array kPng = {std::byte{0x89}, std::byte{'P'}, std::byte{'N'}, std::byte{'G'}};
  constexpr std::array kJpeg = {std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
  std::array<std::byte, 4> start = {};
  if (file.size() < Bytes(start.size())) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: {} bytes are no image", file.name(),
                     file.size().count());
  }
  file.read_at(Bytes(0), start);
  if (start == kPng) return open_png(file);
  if (std::equal(kJpeg.begin(), kJpeg.end(), start.begin())) return open_jpeg(file);
  throw core::fail(ErrorCode::kUnsupported, "{}: neither a JPEG nor a PNG file", file.name());
}

void check_image_size(const ByteSource& file, ImageSize size) {
  if (size.width < 1 || size.height < 1 || size.width > kLongestImageSide ||
      size.height > kLongestImageSide || size.width * size.height > kMostImagePixels) {
    throw core::fail(ErrorCode::kInvalidFile,
                     "{}: an image of {} x {} pixels; each side may have {}, the whole {}",
                     file.name(), size.width, size.height, kLongestImageSide, kMostImagePixels);
  }
}

void check_image_memory(const ByteSource& file, Bytes whole) {
  if (whole > kMostImageBytes) {
    throw core::fail(ErrorCode::kInvalidFile,
                     "{}: it can only be decoded whole, in {}; at most {} are taken for that",
                     file.name(), whole.str(), kMostImageBytes.str());
  }
}

}  // namespace lowtide::data
