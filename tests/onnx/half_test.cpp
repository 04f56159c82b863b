// Numbers of 16 bits: conversions, and tensors of them read and written back.
#include "onnx/bytes/half.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "onnx/toy.h"
#include "onnx/write.h"

namespace lowtide::onnx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Half, EveryNumberComesBack) {
  for (const Half half : {Half::kFloat16, Half::kBfloat16}) {
    for (std::uint32_t bits = 0; bits < 1U << 16U; ++bits) {
      const auto number = static_cast<std::uint16_t>(bits);
      const float wide = half_to_float(half, number);
      const std::uint16_t back = float_to_half(half, wide);
      if (std::isnan(wide)) {
        EXPECT_TRUE(std::isnan(half_to_float(half, back))) << bits;
      } else {
        ASSERT_EQ(back, number) << wide;
      }
    }
  }
}

TEST(Half, Float16HasItsValues) {
  EXPECT_EQ(half_to_float(Half::kFloat16, 0x3C00), 1.0F);
  EXPECT_EQ(half_to_float(Half::kFloat16, 0xC100), -2.5F);
  EXPECT_EQ(half_to_float(Half::kFloat16, 0x7BFF), 65504.0F);
  EXPECT_EQ(half_to_float(Half::kFloat16, 0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(half_to_float(Half::kFloat16, 0x0400), std::ldexp(1.0F, -14));
  EXPECT_EQ(half_to_float(Half::kFloat16, 0xFC00), -kInfinity);
  EXPECT_TRUE(std::signbit(half_to_float(Half::kFloat16, 0x8000)));
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  const auto rounded16 = [](float x) {
    return half_to_float(Half::kFloat16, float_to_half(Half::kFloat16, x));
  };
  EXPECT_EQ(rounded16(2049), 2048);
  EXPECT_EQ(rounded16(2051), 2052);
  EXPECT_EQ(rounded16(2049.001F), 2050);
  EXPECT_EQ(rounded16(65519.99F), 65504);
  EXPECT_EQ(rounded16(65520), kInfinity);
  EXPECT_EQ(rounded16(-1e9F), -kInfinity);
  EXPECT_EQ(rounded16(std::ldexp(1.0F, -25)), 0);
  EXPECT_EQ(rounded16(std::ldexp(1.5F, -24)), std::ldexp(1.0F, -23));
  EXPECT_EQ(rounded16(std::ldexp(1023.9F, -24)), std::ldexp(1.0F, -14));
  const auto rounded_b16 = [](float x) {
    return half_to_float(Half::kBfloat16, float_to_half(Half::kBfloat16, x));
  };
  EXPECT_EQ(rounded_b16(1 + std::ldexp(1.0F, -8)), 1);
  EXPECT_EQ(rounded_b16(1 + std::ldexp(3.0F, -8)), 1 + std::ldexp(1.0F, -6));
  EXPECT_EQ(rounded_b16(std::numeric_limits<float>::max()), kInfinity);
}

std::string raw_halves(const std::vector<std::uint16_t>& halves) {
  return {reinterpret_cast<const char*>(halves.data()), halves.size() * sizeof(std::uint16_t)};
}

std::vector<float> floats(const TensorRef& tensor) {
  const auto bytes = load(tensor);
  std::vector<float> result(bytes->size() / sizeof(float));
  std::memcpy(result.data(), bytes->data(), bytes->size());
  return result;
}

// The small network with a weight of halves: 1, -2.
toy::Parts half_network(std::int64_t onnx_type, const std::vector<std::uint16_t>& halves) {
  toy::Parts parts = toy::small_network();
  parts.initializers = {
      WireWriter().integer(1, 2).integer(2, onnx_type).text(8, "w").text(9, raw_halves(halves))};
  return parts;
}

TEST(Half, TensorsAreReadAsFloats) {
  const std::vector<float> wanted = {1, -2};
  const auto read = [](const WireWriter& tensor) {
    toy::Parts parts = toy::small_network();
    parts.initializers = {tensor};
    return toy::parse_text(toy::model(parts)).graph.initializers.at(0);
  };
  const std::vector<std::int64_t> numbers = {0x3C00, 0xC000};
  const TensorRef listed = read(WireWriter().integer(1, 2).integer(2, 10).packed(5, numbers));
  EXPECT_EQ(listed.type.dtype, core::DType::kFloat32);
  EXPECT_EQ(listed.half, Half::kFloat16);
  EXPECT_EQ(floats(listed), wanted);
  const TensorRef raw =
      read(WireWriter().integer(1, 2).integer(2, 16).text(9, raw_halves({0x3F80, 0xC000})));
  EXPECT_EQ(raw.half, Half::kBfloat16);
  EXPECT_EQ(floats(raw), wanted);
}

TEST(Half, AreWeightsOfTheModel) {
  const toy::Folder folder;
  toy::write_file(folder / "in.onnx", toy::model(half_network(10, {0x3C00, 0xC000})));
  const Model model = read(folder / "in.onnx", {.batch = 2, .catalog = toy::catalog()});
  ASSERT_EQ(model.initializers.size(), 1U);
  EXPECT_EQ(model.graph.type(model.initializers[0].value).dtype, core::DType::kFloat32);
}

TEST(Half, AreWrittenRoundedWhereTheyLay) {
  const std::vector<float> trained = {2049, std::ldexp(1.5F, -24)};
  const auto bytes = std::as_bytes(std::span(trained));
  const toy::Folder folder;
  for (const std::int64_t type : {10, 16}) {
    toy::write_file(folder / "in.onnx", toy::model(half_network(type, {0x3C00, 0xC000})));
    write_trained(folder / "in.onnx", folder / "out.onnx", {.tensors = {{"w", bytes_of(bytes)}}});
    const TensorRef written = parse_file(folder / "out.onnx").graph.initializers.at(0);
    const Half half = type == 10 ? Half::kFloat16 : Half::kBfloat16;
    EXPECT_EQ(written.half, half);
    std::vector<float> wanted;
    for (const float x : trained) wanted.push_back(half_to_float(half, float_to_half(half, x)));
    EXPECT_EQ(floats(written), wanted);
    EXPECT_EQ(toy::read_file(folder / "out.onnx").size(),
              toy::read_file(folder / "in.onnx").size());
  }
}

TEST(Half, SplitsTakeTheMergedTensorsWidth) {
  const std::vector<float> own = {5, 6};
  const toy::Folder folder;
  toy::write_file(folder / "in.onnx", toy::model(half_network(10, {0x3C00, 0x3C00})));
  write_trained(folder / "in.onnx", folder / "out.onnx",
                {.splits = {{.name = "w.1",
                             .merged = "w",
                             .node_output = "h",
                             .input = 1,
                             .shape = {2},
                             .bytes = bytes_of(std::as_bytes(std::span(own)))}}});
  const ModelFile file = parse_file(folder / "out.onnx");
  EXPECT_EQ(file.graph.initializers.at(1).half, Half::kFloat16);
  EXPECT_EQ(floats(file.graph.initializers.at(1)), own);
}

TEST(Half, TooLargeNumbersAreRefusedByName) {
  const std::vector<float> trained = {1, 7e4F};
  const toy::Folder folder;
  toy::write_file(folder / "in.onnx", toy::model(half_network(10, {0x3C00, 0xC000})));
  const std::string message = toy::message_of(
      [&] {
        write_trained(folder / "in.onnx", folder / "out.onnx",
                      {.tensors = {{"w", bytes_of(std::as_bytes(std::span(trained)))}}});
      },
      ErrorCode::kNumeric);
  EXPECT_NE(message.find("'w'"), std::string::npos) << message;
  EXPECT_NE(message.find("70000 is too large for float16"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
}

}  // namespace
}  // namespace lowtide::onnx
