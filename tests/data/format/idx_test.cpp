// IDX headers and big-endian elements.
#include "data/format/idx.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/scratch.h"

namespace lowtide::data {
namespace {

StoredArray open_bytes(const ScratchFolder& folder, const FileBytes& bytes) {
  return open_idx(ByteSource::open(folder.write("x-idx", bytes)));
}

template <class T>
std::vector<T> elements(const StoredArray& array) {
  std::vector<T> out(static_cast<std::size_t>(array.shape.elements()));
  array.read(0, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(Idx, ReadsEveryElementType) {
  const ScratchFolder folder;
  const auto bytes = [&](std::uint8_t type, const FileBytes& content, std::uint8_t count) {
    FileBytes file = {0, 0, type, 1, 0, 0, 0, count};
    file.insert(file.end(), content.begin(), content.end());
    return open_bytes(folder, file);
  };
  EXPECT_EQ(elements<std::uint8_t>(bytes(0x08, {1, 255}, 2)), (std::vector<std::uint8_t>{1, 255}));
  EXPECT_EQ(elements<std::int8_t>(bytes(0x09, {1, 255}, 2)), (std::vector<std::int8_t>{1, -1}));
  EXPECT_EQ(elements<std::int16_t>(bytes(0x0B, {1, 2, 255, 254}, 2)),
            (std::vector<std::int16_t>{258, -2}));
  EXPECT_EQ(elements<std::int32_t>(bytes(0x0C, {1, 2, 3, 4}, 1)),
            (std::vector<std::int32_t>{0x01020304}));
  EXPECT_EQ(elements<float>(bytes(0x0D, {0x3f, 0xc0, 0, 0}, 1)), (std::vector<float>{1.5F}));
  EXPECT_EQ(elements<double>(bytes(0x0E, {0xbf, 0xf8, 0, 0, 0, 0, 0, 0}, 1)),
            (std::vector<double>{-1.5}));
}

TEST(Idx, RefusesWhatIsNoIdx) {
  const ScratchFolder folder;
  const auto refuse = [&](const FileBytes& bytes, const std::string& part) {
    expect_error(ErrorCode::kInvalidFile, {"x-idx", part}, [&] { open_bytes(folder, bytes); });
  };
  refuse({0x1f, 0x8b, 8, 1, 0, 0, 0, 0}, "not an IDX file");
  refuse({0, 0, 0x0A, 1, 0, 0, 0, 0}, "0x0a");
  refuse({0, 0, 8, 1, 0, 0, 0, 3, 1, 2}, "holds 2 bytes where uint8[3] takes 3");
  refuse({0, 0, 8, 1, 0, 0, 0, 1, 1, 2}, "holds 2 bytes");
  FileBytes huge = {0, 0, 8, 4};
  huge.insert(huge.end(), 16, 0xff);
  refuse(huge, "too many elements");
}

TEST(Idx, EveryTruncationIsAnError) {
  const ScratchFolder folder;
  const FileBytes whole = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(open_bytes(folder, whole).shape, core::Shape({2, 3}));
  const auto path = folder.path() / "x-idx";
  for_each_truncation(path, [&] {
    expect_error(ErrorCode::kInvalidFile, {"x-idx"}, [&] { open_idx(ByteSource::open(path)); });
  });
}

}  // namespace
}  // namespace lowtide::data
