// Decoding: every kind of file gives the pixels that were written; what is damaged is named.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "data/image/image_reader.h"
#include "data/scratch.h"
#include "support/pictures.h"

namespace lowtide::data {
namespace {

using support::Picture;

struct Pixels {
  ImageSize size;
  std::vector<std::uint8_t> samples;
};

Pixels decode(const std::filesystem::path& path, int channels, int reduction = 1) {
  const auto reader = open_image(ByteSource::open(path));
  const int by = reader->start(channels, reduction);
  const ImageSize size = {(reader->size().width + by - 1) / by,
                          (reader->size().height + by - 1) / by};
  Pixels pixels{.size = size,
                .samples = std::vector<std::uint8_t>(
                    static_cast<std::size_t>(size.width * size.height * channels))};
  const auto stride = static_cast<std::size_t>(size.width * channels);
  for (std::int64_t y = 0; y < size.height; ++y) {
    reader->read_row(
        std::span(pixels.samples).subspan(static_cast<std::size_t>(y) * stride, stride));
  }
  reader->finish();
  return pixels;
}

void expect_near(const std::vector<std::uint8_t>& got,
                 const std::vector<std::uint8_t>& wanted,
                 int tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  int worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - wanted[i]));
  EXPECT_LE(worst, tolerance);
}

class Png : public testing::TestWithParam<bool> {
 protected:
  support::PngStyle style() const {
    return {.interlaced = GetParam(), .wide = false, .palette = {}};
  }
  ScratchFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.png";
};

TEST_P(Png, ColoursComeBackExactly) {
  const Picture picture = support::smooth_picture(13, 7, 3);
  support::write_png(path_, picture, style());
  const Pixels pixels = decode(path_, 3);
  EXPECT_EQ(pixels.size, (ImageSize{13, 7}));
  EXPECT_EQ(pixels.samples, picture.samples);
}

TEST_P(Png, GreyBecomesThreeEqualChannelsAndBack) {
  const Picture picture = support::smooth_picture(9, 5, 1);
  support::write_png(path_, picture, style());
  EXPECT_EQ(decode(path_, 1).samples, picture.samples);
  const Pixels colour = decode(path_, 3);
  for (std::size_t i = 0; i < colour.samples.size(); ++i) {
    ASSERT_EQ(colour.samples[i], picture.samples[i / 3]);
  }
}

TEST_P(Png, TransparencyIsDropped) {
  const Picture picture = support::smooth_picture(6, 4, 4);
  support::write_png(path_, picture, style());
  const Pixels pixels = decode(path_, 3);
  for (std::size_t i = 0; i < pixels.samples.size(); ++i) {
    ASSERT_EQ(pixels.samples[i], picture.samples[i / 3 * 4 + i % 3]);
  }
  const Picture grey = support::smooth_picture(6, 4, 2);
  support::write_png(path_, grey, style());
  const Pixels one = decode(path_, 1);
  for (std::size_t i = 0; i < one.samples.size(); ++i) {
    ASSERT_EQ(one.samples[i], grey.samples[2 * i]);
  }
}

TEST_P(Png, PalettesAreLookedUp) {
  support::PngStyle palette = style();
  palette.palette = {255, 0, 0, 10, 20, 30, 0, 0, 255};
  support::write_png(path_, {.width = 3, .height = 1, .channels = 1, .samples = {2, 0, 1}},
                     palette);
  EXPECT_EQ(decode(path_, 3).samples,
            (std::vector<std::uint8_t>{0, 0, 255, 255, 0, 0, 10, 20, 30}));
}

TEST_P(Png, SixteenBitsAreRoundedToEight) {
  support::PngStyle wide = style();
  wide.wide = true;
  // 0, 128/257 rounded to 0, 129/257 to 1, 65535.
  support::write_png(
      path_, {.width = 4, .height = 1, .channels = 1, .samples = {0, 0, 0, 128, 0, 129, 255, 255}},
      wide);
  EXPECT_EQ(decode(path_, 1).samples, (std::vector<std::uint8_t>{0, 0, 1, 255}));
}

TEST_P(Png, ColoursBecomeGreyByTheirWeights) {
  support::write_png(path_,
                     {.width = 4,
                      .height = 1,
                      .channels = 3,
                      .samples = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9}},
                     style());
  expect_near(decode(path_, 1).samples, {76, 150, 29, 9}, 1);
}

INSTANTIATE_TEST_SUITE_P(Interlaced, Png, testing::Bool());

class Jpeg : public testing::TestWithParam<bool> {
 protected:
  support::JpegStyle style() const { return {.progressive = GetParam()}; }
  ScratchFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.jpg";
};

TEST_P(Jpeg, ColoursAndGreyComeBackNearly) {
  for (const int channels : {1, 3}) {
    const Picture picture = support::smooth_picture(67, 35, channels);
    support::write_jpeg(path_, picture, style());
    const Pixels pixels = decode(path_, channels);
    EXPECT_EQ(pixels.size, (ImageSize{67, 35}));
    expect_near(pixels.samples, picture.samples, 8);
  }
}

TEST_P(Jpeg, DecodesSmallerAtOnce) {
  const Picture picture = support::smooth_picture(67, 35, 1);
  support::write_jpeg(path_, picture, style());
  for (const int by : {2, 4, 8}) {
    const Pixels pixels = decode(path_, 1, by);
    EXPECT_EQ(pixels.size, (ImageSize{(67 + by - 1) / by, (35 + by - 1) / by}));
    // A pixel is about the mean of those it stands for.
    double sum = 0;
    for (int y = 0; y < by; ++y) {
      for (int x = 0; x < by; ++x) sum += picture.samples[static_cast<std::size_t>(67 * y + x)];
    }
    EXPECT_NEAR(pixels.samples.front(), sum / (by * by), 6);
  }
}

TEST_P(Jpeg, SkippedRowsLeaveTheOthersAsTheyAre) {
  const Picture picture = support::smooth_picture(50, 40, 3);
  support::write_jpeg(path_, picture, style());
  const Pixels whole = decode(path_, 3);
  for (const std::int64_t skipped : {1, 7, 8, 16, 23, 39}) {
    const auto reader = open_image(ByteSource::open(path_));
    reader->start(3, 1);
    reader->skip_rows(skipped);
    std::vector<std::uint8_t> row(150);
    reader->read_row(row);
    EXPECT_TRUE(std::equal(row.begin(), row.end(), whole.samples.begin() + skipped * 150))
        << skipped;
  }
}

TEST_P(Jpeg, InksBecomeLight) {
  // Stored as 255 - ink: no ink at all is white; full cyan leaves green and blue.
  Picture picture{.width = 16, .height = 8, .channels = 4, .samples = {}};
  for (int i = 0; i < 16 * 8; ++i) {
    const std::uint8_t cyan = i % 16 < 8 ? 255 : 0;
    picture.samples.insert(picture.samples.end(), {cyan, 255, 255, 255});
  }
  support::JpegStyle inks = style();
  inks.inks = true;
  inks.quality = 100;
  support::write_jpeg(path_, picture, inks);
  const std::vector<std::uint8_t> pixels = decode(path_, 3).samples;
  expect_near({pixels.begin(), pixels.begin() + 3}, {255, 255, 255}, 3);
  expect_near({pixels.begin() + 45, pixels.begin() + 48}, {0, 255, 255}, 3);
  const std::vector<std::uint8_t> grey = decode(path_, 1).samples;
  expect_near({grey[0], grey[15]}, {255, 179}, 4);
}

// Held whole or not, the reader says so before it happens.
TEST_P(Jpeg, OnlyProgressiveFilesNeedMemoryForAllTheirPixels) {
  support::write_jpeg(path_, support::smooth_picture(1000, 2000, 3), style());
  const Bytes memory = open_image(ByteSource::open(path_))->memory();
  if (GetParam()) {
    EXPECT_GE(memory, Bytes(1000 * 2000 * 3));
  } else {
    EXPECT_LT(memory, Bytes(1024 * 1024));
  }
}

INSTANTIATE_TEST_SUITE_P(Progressive, Jpeg, testing::Bool());

TEST(Image, WhatIsNoImageIsRefusedByName) {
  const ScratchFolder folder;
  expect_error(ErrorCode::kInvalidFile, {"empty.png"},
               [&] { open_image(ByteSource::open(folder.write("empty.png", {}))); });
  expect_error(ErrorCode::kUnsupported, {"text.jpg", "neither"}, [&] {
    open_image(ByteSource::open(folder.write("text.jpg", {'h', 'e', 'l', 'l', 'o'})));
  });
}

TEST(Image, ADamagedFileIsRefusedByNameWhereverItIsCut) {
  const ScratchFolder folder;
  support::write_png(folder.path() / "a.png", support::smooth_picture(20, 20, 3));
  support::write_jpeg(folder.path() / "a.jpg", support::smooth_picture(20, 20, 3));
  for (const char* const name : {"a.png", "a.jpg"}) {
    const FileBytes whole = read_file(folder.path() / name);
    for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
      const auto cut = folder.write(
          name, FileBytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      try {
        decode(cut, 3);
        ADD_FAILURE() << name << " of " << length << " bytes";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
    }
  }
}

// A header may claim anything; nothing is allocated for it.
TEST(Image, BombsAreRefusedByTheirSize) {
  const ScratchFolder folder;
  const auto path = folder.path() / "bomb.png";
  support::write_png(path, support::smooth_picture(4, 4, 1));
  FileBytes bytes = read_file(path);
  const FileBytes sizes = {0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF};
  std::copy(sizes.begin(), sizes.end(), bytes.begin() + 16);
  // The checksum of IHDR with these sizes.
  const std::uint32_t checksum = crc32(0, std::as_bytes(std::span(bytes).subspan(12, 17)));
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[29 + i] = static_cast<std::uint8_t>(checksum >> (24 - 8 * i));
  }
  folder.write("bomb.png", bytes);
  expect_error(ErrorCode::kInvalidFile, {"bomb.png"}, [&] { open_image(ByteSource::open(path)); });

  const auto photo = folder.path() / "bomb.jpg";
  support::write_jpeg(photo, support::smooth_picture(16, 16, 3), {.progressive = true});
  FileBytes jpeg = read_file(photo);
  for (std::size_t i = 0; i + 8 < jpeg.size(); ++i) {
    if (jpeg[i] != 0xFF || jpeg[i + 1] != 0xC2) continue;  // the frame: length, bits, height, width
    const FileBytes huge = {0x40, 0x00, 0x3F, 0xFF};
    std::copy(huge.begin(), huge.end(), jpeg.begin() + static_cast<std::ptrdiff_t>(i) + 5);
    break;
  }
  folder.write("bomb.jpg", jpeg);
  expect_error(ErrorCode::kInvalidFile, {"bomb.jpg", "decoded whole"},
               [&] { open_image(ByteSource::open(photo)); });
}

}  // namespace
}  // namespace lowtide::data
