// PNG through libpng.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <png.h>

#include "core/check.h"
#include "core/text.h"
#include "data/image/exif.h"
#include "data/image/guarded_reader.h"
#include "data/versions.h"

namespace lowtide::data {
namespace {

// Inflating takes this much, whatever the image; chunks that are held are bounded by as much.
constexpr Bytes kFixedMemory = Bytes(256 * 1024);

class PngReader final : public GuardedReader {
 public:
  explicit PngReader(const ByteSource& file);
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() override { png_destroy_read_struct(&png_, &info_, nullptr); }

  int start(int channels, int reduction) override;
  void read_row(std::span<std::uint8_t> row) override;
  void skip_rows(std::int64_t rows) override;
  void finish() override;

 private:
  static void fail(png_structp png, png_const_charp message);
  static void give(png_structp png, png_bytep into, std::size_t count);
  void read_header();
  [[nodiscard]] Turn turn();
  void read_whole();

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::size_t row_bytes_ = 0;
  std::vector<std::uint8_t> whole_;  // an interlaced image
  std::vector<std::uint8_t> skipped_;
  std::vector<png_bytep> rows_;
  std::size_t next_row_ = 0;
};

void PngReader::fail(png_structp png, png_const_charp message) {
  auto* const self = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(self->message().data(), self->message().size(), "%s", message);
  self->jump();
}

void PngReader::give(png_structp png, png_bytep into, std::size_t count) {
  auto* const self = static_cast<PngReader*>(png_get_io_ptr(png));
  if (!self->take(std::as_writable_bytes(std::span(into, count)))) {
    png_error(png, "the file ends within the image");
  }
}

PngReader::PngReader(const ByteSource& file) : GuardedReader(file) {
  const auto ignore = [](png_structp, png_const_charp) {};
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, ignore);
  LT_CHECK(png_ != nullptr, "libpng is the one this was built with");
  try {
    guarded([this] { read_header(); });
    size_ = {.width = png_get_image_width(png_, info_),
             .height = png_get_image_height(png_, info_)};
    check_image_size(file_, size_);
    upright_ = turn();
    // Two rows of 16-bit colours with transparency; or all of it, at up to three bytes a pixel.
    memory_ = kFixedMemory + Bytes(size_.width * 16);
    if (png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE) {
      const Bytes whole = Bytes(size_.width * size_.height * 3) +
                          Bytes(size_.height * static_cast<std::int64_t>(sizeof(png_bytep)));
      check_image_memory(file_, whole);
      memory_ += whole;
    }
  } catch (const Error&) {
    png_destroy_read_struct(&png_, &info_, nullptr);
    throw;
  }
}

void PngReader::read_header() {
  info_ = png_create_info_struct(png_);
  if (info_ == nullptr) png_error(png_, "no memory");
  png_set_read_fn(png_, this, give);
  png_set_user_limits(png_, kLongestImageSide, kLongestImageSide);
  png_set_chunk_malloc_max(png_, static_cast<png_alloc_size_t>(kFixedMemory.count()));
  // Texts, profiles and the like are passed over.
  constexpr png_byte kExif[] = "eXIf";
  png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_AS_DEFAULT, kExif, 1);
  png_read_info(png_, info_);
}

// As the chunk says that may stand before the pixels.
Turn PngReader::turn() {
  png_uint_32 count = 0;
  png_bytep content = nullptr;
  if (png_get_eXIf_1(png_, info_, &count, &content) == 0) return {};
  return turn_of_exif(std::as_bytes(std::span(content, count)));
}

int PngReader::start(int channels, int) {
  guarded([this, channels] {
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_strip_alpha(png_);
    const bool grey = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) == 0;
    if (channels == 3 && grey) png_set_gray_to_rgb(png_);
    constexpr int kNoWarning = 1;
    if (channels == 1 && !grey) png_set_rgb_to_gray(png_, kNoWarning, 0.299, 0.587);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  });
  row_bytes_ = png_get_rowbytes(png_, info_);
  LT_CHECK(row_bytes_ == static_cast<std::size_t>(size_.width * channels), "a byte a channel");
  if (png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE) read_whole();
  return 1;
}

void PngReader::read_whole() {
  whole_.resize(row_bytes_ * static_cast<std::size_t>(size_.height));
  for (std::size_t y = 0; y < static_cast<std::size_t>(size_.height); ++y) {
    rows_.push_back(whole_.data() + y * row_bytes_);
  }
  guarded([this] { png_read_image(png_, rows_.data()); });
}

void PngReader::read_row(std::span<std::uint8_t> row) {
  LT_CHECK(row.size() == row_bytes_, "room for a row");
  if (whole_.empty()) {
    guarded([this, row] { png_read_row(png_, row.data(), nullptr); });
  } else {
    std::copy_n(rows_[next_row_++], row_bytes_, row.data());
  }
}

void PngReader::skip_rows(std::int64_t rows) {
  if (!whole_.empty()) {
    next_row_ += static_cast<std::size_t>(rows);
    return;
  }
  skipped_.resize(row_bytes_);
  for (std::int64_t i = 0; i < rows; ++i) read_row(skipped_);
}

void PngReader::finish() {
  guarded([this] { png_read_end(png_, nullptr); });
}

}  // namespace

std::string png_version() { return png_get_libpng_ver(nullptr); }

std::unique_ptr<ImageReader> open_png(const ByteSource& file) {
  return std::make_unique<PngReader>(file);
}

}  // namespace lowtide::data
