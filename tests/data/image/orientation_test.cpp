// Photos held in any of the eight ways come out upright.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "data/image/exif.h"
#include "data/scratch.h"
#include "data/source/image_folder.h"
#include "support/pictures.h"

namespace lowtide::data {
namespace {

using support::Picture;

// Where Exif says that the first row and the first column of the stored pixels are in the picture.
enum class Side { kTop, kBottom, kLeft, kRight };

struct Orientation {
  int value = 1;
  Side row = Side::kTop;
  Side column = Side::kLeft;
};

constexpr std::array kOrientations = {
    Orientation{1, Side::kTop, Side::kLeft},     Orientation{2, Side::kTop, Side::kRight},
    Orientation{3, Side::kBottom, Side::kRight}, Orientation{4, Side::kBottom, Side::kLeft},
    Orientation{5, Side::kLeft, Side::kTop},     Orientation{6, Side::kRight, Side::kTop},
    Orientation{7, Side::kRight, Side::kBottom}, Orientation{8, Side::kLeft, Side::kBottom}};

// The upright picture as a camera held that way stores it.
Picture stored(const Picture& upright, const Orientation& orientation) {
  const bool sideways = orientation.row == Side::kLeft || orientation.row == Side::kRight;
  Picture result = upright;
  if (sideways) std::swap(result.width, result.height);
  result.samples.clear();
  for (std::int64_t row = 0; row < result.height; ++row) {
    for (std::int64_t column = 0; column < result.width; ++column) {
      std::int64_t x = 0;
      std::int64_t y = 0;
      const auto lies = [&](Side side, std::int64_t at) {
        switch (side) {
          case Side::kTop: y = at; break;
          case Side::kBottom: y = upright.height - 1 - at; break;
          case Side::kLeft: x = at; break;
          case Side::kRight: x = upright.width - 1 - at; break;
        }
      };
      lies(orientation.row, row);
      lies(orientation.column, column);
      const auto first = upright.samples.begin() + (y * upright.width + x) * upright.channels;
      result.samples.insert(result.samples.end(), first, first + upright.channels);
    }
  }
  return result;
}

// What Exif says of that orientation, after another tag, in either byte order.
FileBytes exif_content(int value, bool little) {
  FileBytes tiff;
  const auto number = [&](std::uint32_t n, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      tiff.push_back(static_cast<std::uint8_t>(n >> 8 * (little ? i : bytes - 1 - i)));
    }
  };
  tiff.insert(tiff.end(), 2, static_cast<std::uint8_t>(little ? 'I' : 'M'));
  number(42, 2);
  number(8, 4);
  number(2, 2);
  for (const auto& [tag, content] : {std::pair{0x0100, 77}, std::pair{0x0112, value}}) {
    number(static_cast<std::uint32_t>(tag), 2);
    number(3, 2);
    number(1, 4);
    number(static_cast<std::uint32_t>(content), 2);
    number(0, 2);
  }
  number(0, 4);
  return tiff;
}

FileBytes exif_segment(int value, bool little) {
  const FileBytes tiff = exif_content(value, little);
  FileBytes segment = {0xFF, 0xE1, 0, static_cast<std::uint8_t>(tiff.size() + 8), 'E', 'x', 'i',
                       'f',  0,    0};
  segment.insert(segment.end(), tiff.begin(), tiff.end());
  return segment;
}

class Orientations : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path write(const Picture& picture,
                                            const FileBytes& segment) const {
    const auto path = folder_.path() / "photo.jpg";
    support::write_jpeg(path, picture, {.quality = 100});
    FileBytes bytes = read_file(path);
    bytes.insert(bytes.begin() + 2, segment.begin(), segment.end());
    return folder_.write("photo.jpg", bytes);
  }

  [[nodiscard]] static std::vector<std::uint8_t> decode(const std::filesystem::path& path,
                                                        ImageSize output,
                                                        const Augmentation& augmentation = {}) {
    const ImageOptions options{.channels = 3, .height = output.height, .width = output.width};
    std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * output.width * output.height));
    decode_image(
        ByteSource::open(path), options,
        [&](ImageSize size) {
          return augmentation.any() ? random_view(size, output, augmentation, 5, 1, 2)
                                    : centre_view(size, output);
        },
        out);
    return out;
  }

  static void expect_near(const std::vector<std::uint8_t>& got,
                          const std::vector<std::uint8_t>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    int worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::max(worst, std::abs(got[i] - wanted[i]));
    EXPECT_LE(worst, 8);  // a picture turned another way is off by tens
  }

  ScratchFolder folder_;
  Picture upright_ = support::smooth_picture(48, 32, 3);
};

// Whole, cut to another shape, scaled down while decoding, cropped and mirrored: what the picture
// gives that was stored upright.
TEST_F(Orientations, GiveWhatTheUprightPictureGives) {
  const Picture large = support::smooth_picture(480, 320, 3);
  const Augmentation both = {.crop = true, .flip = true, .least_area = 0.2};
  const auto seen = [&](const Orientation& orientation, bool little) {
    const FileBytes segment = exif_segment(orientation.value, little);
    std::vector<std::vector<std::uint8_t>> all;
    const auto small = write(stored(upright_, orientation), segment);
    all.push_back(decode(small, {.width = 48, .height = 32}));
    all.push_back(decode(small, {.width = 20, .height = 31}));
    all.push_back(decode(small, {.width = 17, .height = 24}, both));
    all.push_back(decode(write(stored(large, orientation), segment), {.width = 24, .height = 16}));
    return all;
  };
  const auto wanted = seen(kOrientations[0], true);
  for (const Orientation& orientation : kOrientations) {
    for (const bool little : {false, true}) {
      SCOPED_TRACE(orientation.value);
      const auto got = seen(orientation, little);
      for (std::size_t i = 0; i < got.size(); ++i) expect_near(got[i], wanted[i]);
    }
  }
}

// And that is the picture: not eight times the same mistake.
TEST_F(Orientations, GiveTheVeryPicture) {
  for (const Orientation& orientation : kOrientations) {
    SCOPED_TRACE(orientation.value);
    const auto path = write(stored(upright_, orientation), exif_segment(orientation.value, true));
    const auto planes = decode(path, {.width = 48, .height = 32});
    std::vector<std::uint8_t> interleaved;
    for (std::size_t i = 0; i < 48 * 32; ++i) {
      for (std::size_t c = 0; c < 3; ++c) interleaved.push_back(planes[c * 48 * 32 + i]);
    }
    expect_near(interleaved, upright_.samples);
  }
}

TEST_F(Orientations, OfPngsAreThoseOfTheirExifChunk) {
  const auto path = folder_.path() / "photo.png";
  const ImageSize output = {.width = 48, .height = 32};
  support::write_png(path, upright_);
  const auto wanted = decode(path, output);
  for (const Orientation& orientation : kOrientations) {
    for (const bool interlaced : {false, true}) {
      SCOPED_TRACE(orientation.value);
      support::write_png(
          path, stored(upright_, orientation),
          {.interlaced = interlaced, .exif = exif_content(orientation.value, interlaced)});
      expect_near(decode(path, output), wanted);
    }
  }
  // One that is damaged is passed over.
  FileBytes bytes = read_file(path);
  const std::string name = "eXIf";
  auto at = std::search(bytes.begin(), bytes.end(), name.begin(), name.end());
  ASSERT_NE(at, bytes.end());
  *(at + 20) ^= 0x10;
  EXPECT_EQ(open_image(ByteSource::open(folder_.write("photo.png", bytes)))->upright(), Turn());
}

TEST_F(Orientations, WithoutSenseAreNone) {
  const Turn none;
  EXPECT_EQ(turn_of_exif({}), none);
  for (const int value : {0, 9, 65535}) {
    const auto path = write(upright_, exif_segment(value, true));
    EXPECT_EQ(turn_of_jpeg(ByteSource::open(path)), none) << value;
  }
  // Cut anywhere, or with any byte replaced, it is read or not, and nothing else happens.
  const FileBytes segment = exif_segment(6, false);
  const auto bytes = std::as_bytes(std::span(segment)).subspan(10);
  EXPECT_EQ(turn_of_exif(bytes), (Turn{.transposed = true, .mirror_y = true}));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    static_cast<void>(turn_of_exif(bytes.first(i)));
    std::vector<std::byte> changed(bytes.begin(), bytes.end());
    changed[i] = std::byte{0xFF};
    static_cast<void>(turn_of_exif(changed));
  }
  // Segments of other kinds before it are passed over.
  FileBytes both = {0xFF, 0xE1, 0, 4, 'x', 'y'};
  both.insert(both.end(), segment.begin(), segment.end());
  EXPECT_EQ(turn_of_jpeg(ByteSource::open(write(upright_, both))),
            (Turn{.transposed = true, .mirror_y = true}));
}

}  // namespace
}  // namespace lowtide::data
