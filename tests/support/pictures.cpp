#include "support/pictures.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>

#include <jpeglib.h>
#include <png.h>

namespace lowtide::support {
namespace {

std::FILE* create(const std::filesystem::path& path) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error(path.string() + ": cannot be written");
  return file;
}

}  // namespace

Picture smooth_picture(std::int64_t width, std::int64_t height, std::int64_t channels, int seed) {
  Picture picture{.width = width, .height = height, .channels = channels, .samples = {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const double at = static_cast<double>(x) / static_cast<double>(width) * (1.5 + 0.3 * seed) +
                          static_cast<double>(y) / static_cast<double>(height) * 2 +
                          static_cast<double>(c + seed);
        picture.samples.push_back(static_cast<std::uint8_t>(127.5 + 100 * std::sin(at)));
      }
    }
  }
  return picture;
}

void write_png(const std::filesystem::path& path, const Picture& picture, const PngStyle& style) {
  std::FILE* const file = create(path);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  constexpr int kTypes[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width),
               static_cast<png_uint_32>(picture.height), style.wide ? 16 : 8,
               style.palette.empty() ? kTypes[picture.channels] : PNG_COLOR_TYPE_PALETTE,
               style.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (std::size_t i = 0; i + 2 < style.palette.size(); i += 3) {
    palette.push_back({style.palette[i], style.palette[i + 1], style.palette[i + 2]});
  }
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  std::vector<std::uint8_t> exif = style.exif;
  if (!exif.empty()) {
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  }
  png_write_info(png, info);
  const std::size_t stride = picture.samples.size() / static_cast<std::size_t>(picture.height);
  std::vector<std::uint8_t> samples = picture.samples;
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    rows.push_back(samples.data() + static_cast<std::size_t>(y) * stride);
  }
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

void write_jpeg(const std::filesystem::path& path, const Picture& picture, const JpegStyle& style) {
  std::FILE* const file = create(path);
  jpeg_compress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_stdio_dest(&jpeg, file);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = static_cast<int>(picture.channels);
  jpeg.in_color_space = style.inks ? JCS_CMYK : picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, style.quality, TRUE);
  if (style.inks) jpeg.write_Adobe_marker = TRUE;
  if (style.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<std::uint8_t> samples = picture.samples;
  const std::size_t stride = samples.size() / static_cast<std::size_t>(picture.height);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    JSAMPROW row = samples.data() + static_cast<std::size_t>(y) * stride;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::fclose(file);
}

}  // namespace lowtide::support
