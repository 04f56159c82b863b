// Reading and printing counts of bytes.
#include "lowtide/bytes.h"

#include <string>

#include <gtest/gtest.h>

#include "lowtide/error.h"

namespace lowtide {
namespace {

TEST(Bytes, LiteralsCountInBinaryUnits) {
  EXPECT_EQ((3_B).count(), 3);
  EXPECT_EQ((2_KiB).count(), 2048);
  EXPECT_EQ((1_MiB).count(), 1 << 20);
  EXPECT_EQ((1_GiB).count(), 1 << 30);
}

TEST(Bytes, ArithmeticAndRounding) {
  EXPECT_EQ(1_KiB + 1_B, Bytes(1025));
  EXPECT_EQ(1_KiB - 1_B, Bytes(1023));
  EXPECT_EQ(3 * 1_KiB, Bytes(3072));
  EXPECT_EQ(Bytes(0).rounded_up(64_B), 0_B);
  EXPECT_EQ(Bytes(1).rounded_up(64_B), 64_B);
  EXPECT_EQ(Bytes(64).rounded_up(64_B), 64_B);
  EXPECT_EQ(Bytes(65).rounded_up(64_B), 128_B);
}

struct Reading {
  const char* text;
  std::int64_t count;
};

class BytesParse : public testing::TestWithParam<Reading> {};

TEST_P(BytesParse, ReadsTheSuffixItNames) {
  EXPECT_EQ(Bytes::parse(GetParam().text).count(), GetParam().count);
}

INSTANTIATE_TEST_SUITE_P(Suffixes,
                         BytesParse,
                         testing::Values(Reading{"0", 0},
                                         Reading{"1048576", 1048576},
                                         Reading{"17B", 17},
                                         Reading{"2k", 2048},
                                         Reading{"300MB", 300'000'000},
                                         Reading{"512MiB", 536'870'912},
                                         Reading{"512 mib", 536'870'912},
                                         Reading{"1.5GiB", 1'610'612'736},
                                         Reading{"1.5GB", 1'500'000'000},
                                         Reading{"1T", 1'099'511'627'776},
                                         Reading{"0.5k", 512}));

class BytesRefuse : public testing::TestWithParam<const char*> {};

TEST_P(BytesRefuse, NamesTheText) {
  try {
    static_cast<void>(Bytes::parse(GetParam()));
    FAIL() << "'" << GetParam() << "' was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find(GetParam()), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts,
    BytesRefuse,
    testing::Values("", "MiB", "-1", "1 2", "1MiBs", "1e3", "nan", "inf", "0x10", "9999999999GiB"));

TEST(Bytes, PrintsAtMostOneDecimal) {
  EXPECT_EQ(Bytes(17).str(), "17 B");
  EXPECT_EQ((200_MiB).str(), "200 MiB");
  EXPECT_EQ(Bytes(1536).str(), "1.5 KiB");
  EXPECT_EQ(Bytes(1'610'612'736).str(), "1.5 GiB");
  EXPECT_EQ((-1 * 2_KiB).str(), "-2 KiB");
  EXPECT_EQ((5000 * 1_GiB).str(), "5000 GiB");
}

TEST(Error, WithinPutsTheContextFirst) {
  const Error error = Error(ErrorCode::kIo, "no space").within("node 'a'").within("model.onnx");
  EXPECT_STREQ(error.what(), "model.onnx: node 'a': no space");
  EXPECT_EQ(error.code(), ErrorCode::kIo);
}

}  // namespace
}  // namespace lowtide
