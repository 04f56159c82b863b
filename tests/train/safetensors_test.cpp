// The safetensors format: what is written is what the format says, and only that is read.
#include "train/checkpoint/safetensors.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "core/json.h"
#include "support/folder.h"
#include "train/small_checkpoint.h"

namespace lowtide::train {
namespace {

using core::Json;

// Another reader: the format's rules over a parsed document.
TEST(Safetensors, AreWrittenAsTheFormatSays) {
  const support::Folder folder;
  const std::string path = folder / "small.safetensors";
  write_small_checkpoint(path, 0.5F, 12);
  const std::string bytes = support::read_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  ASSERT_LT(length, bytes.size());
  EXPECT_EQ((8 + length) % 8, 0U);
  EXPECT_EQ(bytes[8], '{');
  const Json header = Json::parse(bytes.substr(8, length));
  std::size_t end = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      for (const auto& text : entry) EXPECT_TRUE(text.is_string());
      continue;
    }
    std::size_t elements = 1;
    for (const std::size_t dim : entry.at("shape")) elements *= dim;
    EXPECT_EQ(entry.at("data_offsets").at(0), end) << name;
    end += 4 * elements;
    EXPECT_EQ(entry.at("data_offsets").at(1), end) << name;
  }
  EXPECT_EQ(8 + length + end, bytes.size());
  EXPECT_EQ(header.at("__metadata__").at("step"), "12");
  EXPECT_EQ(header.at("weight").at("dtype"), "F32");
  EXPECT_EQ(header.at("weight").at("shape"), Json({3, 5}));
  float first = 0;
  std::memcpy(&first, bytes.data() + 8 + length, sizeof(first));
  EXPECT_EQ(first, 0.5F);
}

SafetensorsHeader parse(const std::string& json, std::int64_t data_bytes) {
  const auto size = static_cast<std::int64_t>(json.size());
  return parse_safetensors_header(json, Bytes(8 + size + data_bytes), "file");
}

TEST(Safetensors, ComeInTheOrderOfTheirBytes) {
  const SafetensorsHeader header =
      parse(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
            R"("a":{"data_offsets":[0,8],"shape":[1,1],"dtype":"I64"},"__metadata__":{"k":"v"}})",
            16);
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].type.dtype, core::DType::kInt64);
  EXPECT_EQ(header.tensors[1].offset, header.end + Bytes(8));
  EXPECT_EQ(header.metadata.at("k"), "v");
}

struct Bad {
  const char* name;
  const char* json;
  const char* reason;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadHeaders : public testing::TestWithParam<Bad> {};

// All with 8 bytes of data behind them.
const Bad kBad[] = {
    {"Nothing", "", "no JSON"},
    {"NoJson", "{\"a\":", "no JSON"},
    {"NoObject", "[1]", "a list"},
    {"Number", "3", "a number"},
    {"TensorIsANumber", R"({"a":3})", "a number"},
    {"TensorIsAList", R"({"a":[]})", "a list"},
    {"UnknownType", R"({"a":{"dtype":"F8","shape":[2],"data_offsets":[0,8]}})", "'F8'"},
    {"NoShape", R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", "lacks"},
    {"NoOffsets", R"({"a":{"dtype":"F32","shape":[2]}})", "lacks"},
    {"OneOffset", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8]}})", "two numbers"},
    {"Negative", R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "negative"},
    {"Fraction", R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "fraction"},
    {"Overflow", R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
     "too many"},
    {"Huge", R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})",
     "2^63"},
    {"WidthOverflow", R"({"a":{"dtype":"F32","shape":[288230376151711744],"data_offsets":[0,0]}})",
     "not fill"},
    {"WrongSize", R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "not fill"},
    {"Backwards", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "not fill"},
    {"Gap",
     R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
     R"("b":{"dtype":"U8","shape":[3],"data_offsets":[5,8]}})",
     "begins at byte 5"},
    {"Overlap",
     R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
     R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
     "begins at byte 4"},
    {"Beyond", R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", "cut"},
    {"TooMuch", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "4 bytes follow"},
    {"Twice",
     R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
     R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
     "two tensors"},
    {"MetadataOfNumbers", R"({"__metadata__":{"k":1}})", "a number"},
    {"MetadataOfObjects", R"({"__metadata__":{"k":{}}})", "an object"},
    {"Deep", R"({"a":{"shape":[[[[[[)", "a list"},
};

TEST_P(BadHeaders, AreRefusedWithTheReason) {
  try {
    parse(GetParam().json, 8);
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("file: ", 0), 0U) << message;
    EXPECT_NE(message.find(GetParam().reason), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Safetensors,
                         BadHeaders,
                         testing::ValuesIn(kBad),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace lowtide::train
