// .npy headers: what NumPy writes, what Lowtide writes, and what must be refused.
#include "data/format/npy.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "data/scratch.h"

namespace lowtide::data {
namespace {

FileBytes npy(std::string_view dictionary, std::size_t content, std::uint8_t major = 1) {
  FileBytes bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', major, 0};
  const std::size_t length = dictionary.size();
  for (std::size_t i = 0; i < (major == 1 ? 2U : 4U); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(length >> (8 * i)));
  }
  bytes.insert(bytes.end(), dictionary.begin(), dictionary.end());
  for (std::size_t i = 0; i < content; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  return bytes;
}

class Npy : public testing::Test {
 protected:
  StoredArray open(const FileBytes& bytes) {
    return open_npy(ByteSource::open(folder_.write("x.npy", bytes)));
  }

  void refuse(ErrorCode code, const FileBytes& bytes, const std::string& part) {
    expect_error(code, {"x.npy", part}, [&] { open(bytes); });
  }

  ScratchFolder folder_;
};

TEST_F(Npy, ReadsEveryVersionAndSpelling) {
  for (const auto major : std::to_array<std::uint8_t>({1, 2, 3})) {
    const StoredArray array =
        open(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n", 24, major));
    EXPECT_EQ(array.dtype, core::DType::kFloat32);
    EXPECT_EQ(array.shape, core::Shape({2, 3}));
  }
  EXPECT_EQ(open(npy(R"({"shape":(4,),"descr":"|u1","fortran_order":False})", 4)).shape,
            core::Shape({4}));
  EXPECT_EQ(open(npy("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", 8)).shape,
            core::Shape());
  EXPECT_EQ(open(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 5)}", 0)).shape,
            core::Shape({0, 5}));
}

TEST_F(Npy, ReadsBothByteOrders) {
  for (const char* descr : {"<u2", ">u2"}) {
    const StoredArray array = open(
        npy(std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (2,)}", 4));
    std::vector<std::uint16_t> out(1);
    array.read(1, std::as_writable_bytes(std::span(out)));
    EXPECT_EQ(out[0], descr[0] == '<' ? 0x0302 : 0x0203);
  }
}

TEST_F(Npy, ReadsHalvesAsFloats) {
  for (const bool big : {false, true}) {
    FileBytes bytes = npy(std::string("{'descr': '") + (big ? '>' : '<') +
                              "f2', 'fortran_order': False, 'shape': (4,)}",
                          0);
    // 1, -2.5, the least and the largest.
    for (const std::uint16_t half : std::to_array<std::uint16_t>({0x3C00, 0xC100, 1, 0x7BFF})) {
      bytes.push_back(static_cast<std::uint8_t>(big ? half >> 8U : half));
      bytes.push_back(static_cast<std::uint8_t>(big ? half : half >> 8U));
    }
    const StoredArray array = open(bytes);
    EXPECT_EQ(array.dtype, core::DType::kFloat32);
    std::vector<float> out(4);
    array.read(0, std::as_writable_bytes(std::span(out)));
    EXPECT_EQ(out, (std::vector<float>{1, -2.5F, 0x1p-24F, 65504}));
    array.read(1, std::as_writable_bytes(std::span(out).first(2)));
    EXPECT_EQ(out[0], -2.5F);
    EXPECT_EQ(out[1], 0x1p-24F);
  }
}

TEST_F(Npy, ColumnsArePutIntoRows) {
  EXPECT_EQ(open(npy("{'descr': '|i1', 'fortran_order': True, 'shape': (1, 4, 1)}", 4)).shape,
            core::Shape({1, 4, 1}));
  const StoredArray cube =
      open(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2)}", 12));
  std::vector<std::uint8_t> out(12);
  cube.read(0, std::as_writable_bytes(std::span(out)));
  // Element [i, j, k] is i + 2 j + 6 k.
  EXPECT_EQ(out, (std::vector<std::uint8_t>{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}));
  const StoredArray swapped =
      open(npy("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 2)}", 8));
  std::vector<std::uint16_t> words(4);
  swapped.read(0, std::as_writable_bytes(std::span(words)));
  EXPECT_EQ(words, (std::vector<std::uint16_t>{0x0001, 0x0405, 0x0203, 0x0607}));
  EXPECT_EQ(open(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 999999999)}", 0)).shape,
            core::Shape({0, 999999999}));
}

// More than is held at once.
TEST_F(Npy, ManyColumnsArePutIntoRows) {
  constexpr std::size_t kRows = 3000;
  constexpr std::size_t kColumns = 1000;
  FileBytes bytes =
      npy("{'descr': '<u4', 'fortran_order': True, 'shape': (3000, 1000)}", kRows * kColumns * 4);
  std::vector<std::uint32_t> columns(kRows * kColumns);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = static_cast<std::uint32_t>(i % kRows * kColumns + i / kRows);
  }
  std::memcpy(bytes.data() + bytes.size() - columns.size() * 4, columns.data(), columns.size() * 4);
  const StoredArray array = open(bytes);
  std::vector<std::uint32_t> rows(columns.size());
  array.read(0, std::as_writable_bytes(std::span(rows)));
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], i);
}

TEST_F(Npy, ReadsLengthsOfPython2) {
  EXPECT_EQ(open(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L)}", 6)).shape,
            core::Shape({2, 3}));
}

TEST_F(Npy, RefusesOtherElements) {
  for (const char* descr : {"<f16", "<c8", "<U5", "|O", "<M8[s]", "", "f4", "<"}) {
    refuse(ErrorCode::kUnsupported,
           npy(std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (1,)}", 4),
           std::string("'") + descr + "'");
  }
  refuse(ErrorCode::kUnsupported,
         npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4), "structures");
  refuse(ErrorCode::kInvalidFile, npy("{'descr': '|f4', 'fortran_order': False, 'shape': (1,)}", 4),
         "lacks a byte order");
}

TEST_F(Npy, RefusesMalformedHeaders) {
  for (const char* text :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}"}) {
    refuse(ErrorCode::kInvalidFile, npy(text, 4), "malformed .npy header");
  }
  FileBytes other = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4);
  other[0] = 'P';
  refuse(ErrorCode::kInvalidFile, other, "not an .npy array");
  refuse(ErrorCode::kUnsupported, npy("{}", 0, 4), "version 4");
}

TEST_F(Npy, RefusesHugeClaimsBeforeTakingMemory) {
  FileBytes header = npy("{}", 0, 2);
  for (std::size_t i = 8; i < 12; ++i) header[i] = 0xff;
  refuse(ErrorCode::kInvalidFile, header, "header of 4294967295 bytes");
  refuse(ErrorCode::kInvalidFile,
         npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 8),
         "too many elements");
  refuse(ErrorCode::kInvalidFile,
         npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", 8),
         "takes 8000000000000");
  std::string many = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 1000; ++i) many += "1, ";
  refuse(ErrorCode::kInvalidFile, npy(many + ")}", 8), "malformed");
}

TEST_F(Npy, EveryTruncationIsAnError) {
  const FileBytes whole =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }       \n", 24);
  const auto path = folder_.write("x.npy", whole);
  for_each_truncation(path, [&] {
    expect_error(ErrorCode::kInvalidFile, {"x.npy"}, [&] { open_npy(ByteSource::open(path)); });
  });
}

TEST_F(Npy, FlippedBitsNeverDoMoreThanThrow) {
  const FileBytes whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
  const auto path = folder_.write("x.npy", whole);
  int refused = 0;
  for_each_flip(path, whole, [&](std::size_t bit) {
    try {
      EXPECT_EQ(open_npy(ByteSource::open(path)).elements.size(), 24_B) << bit;
    } catch (const Error&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, 100);
}

TEST_F(Npy, WritesWhatItReads) {
  const core::Shape shapes[] = {{}, {3}, {2, 3}, {1000000, 3, 224, 224}};
  for (const core::Shape& shape : shapes) {
    const auto header = npy_header(core::DType::kInt32, shape);
    EXPECT_EQ(header.size() % 64, 0U);
    if (shape.elements() > 100) continue;
    FileBytes bytes(header.size() + 4 * static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < header.size(); ++i)
      bytes[i] = std::to_integer<std::uint8_t>(header[i]);
    const StoredArray array = open(bytes);
    EXPECT_EQ(array.dtype, core::DType::kInt32);
    EXPECT_EQ(array.shape, shape);
  }
  const auto header = npy_header(core::DType::kBool, core::Shape({5}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(header.data()) + 10, 56),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), ");
}

}  // namespace
}  // namespace lowtide::data
