// Conversions, normalization and the checks on values.
#include "data/convert.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/memory_dataset.h"
#include "data/scratch.h"

namespace lowtide::data {
namespace {

using core::DType;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
std::span<const std::byte> raw(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::vector<float> floats(const std::vector<T>& values) {
  std::vector<float> out(values.size());
  const Field field{"x", core::dtype_of<T>(),
                    core::Shape({static_cast<std::int64_t>(values.size())})};
  to_float32(field, raw(values), std::nullopt, out);
  return out;
}

TEST(ToFloat32, TakesEveryType) {
  EXPECT_EQ(floats<float>({1.5F, -2}), (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(floats<double>({0.1, 1e9}), (std::vector<float>{0.1F, 1e9F}));
  EXPECT_EQ(floats<std::int8_t>({-128, 127}), (std::vector<float>{-128, 127}));
  EXPECT_EQ(floats<std::int16_t>({-300, 300}), (std::vector<float>{-300, 300}));
  EXPECT_EQ(floats<std::int32_t>({-70000}), (std::vector<float>{-70000}));
  EXPECT_EQ(floats<std::int64_t>({1LL << 40}), (std::vector<float>{0x1p40F}));
  EXPECT_EQ(floats<std::uint8_t>({0, 255}), (std::vector<float>{0, 255}));
  EXPECT_EQ(floats<std::uint16_t>({65535}), (std::vector<float>{65535}));
  EXPECT_EQ(floats<std::uint32_t>({4294967040U}), (std::vector<float>{4294967040.0F}));
  EXPECT_EQ(floats<std::uint64_t>({1ULL << 63U}), (std::vector<float>{0x1p63F}));
  std::vector<float> out(3);
  to_float32({"x", DType::kBool, core::Shape()}, raw<std::uint8_t>({0, 1, 7}), std::nullopt, out);
  EXPECT_EQ(out, (std::vector<float>{0, 1, 1}));
}

TEST(ToFloat32, NormalizesBytesByChannel) {
  // Two samples of two channels of three values.
  std::vector<std::uint8_t> values;
  for (int i = 0; i < 12; ++i) values.push_back(static_cast<std::uint8_t>(23 * i));
  const Field field{"image", DType::kUint8, core::Shape({2, 3})};
  const Normalization by{{0.25F, 0.5F}, {0.5F, 0.3F}};
  std::vector<float> out(12);
  to_float32(field, raw(values), by, out);
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t channel = i / 3 % 2;
    EXPECT_EQ(out[i],
              (static_cast<float>(values[i]) / 255.0F - by.mean[channel]) / by.deviation[channel]);
  }
}

TEST(ToFloat32, NormalizesOtherTypesWithoutScaling) {
  const Field field{"x", DType::kFloat32, core::Shape({2})};  // rank 1: one channel
  std::vector<float> out(4);
  to_float32(field, raw<float>({1, 2, 3, 4}), Normalization{{2}, {0.5F}}, out);
  EXPECT_EQ(out, (std::vector<float>{-2, 0, 2, 4}));
}

TEST(ToFloat32, RefusesNormalizationsThatDoNotFit) {
  const Field field{"image", DType::kUint8, core::Shape({3, 1, 1})};
  const auto refuse = [&](const Normalization& by, const std::string& part) {
    expect_error(ErrorCode::kInvalidArgument, {"'image'", part},
                 [&] { check_normalization(field, by); });
  };
  check_normalization(field, {{0}, {1}});
  check_normalization(field, {{0, 0, 0}, {1, 1, 1}});
  refuse({{0, 0}, {1, 1}}, "3 channels");
  refuse({{0, 0, 0}, {1}}, "3 means and 1 deviations");
  refuse({{}, {}}, "0 means");
  refuse({{0}, {0}}, "deviation 0");
  refuse({{kInfinity}, {1}}, "mean inf");
}

TEST(ToInteger, ConvertsWhatFitsAndNamesWhatDoesNot) {
  std::vector<std::int64_t> wide(2);
  to_int64({"label", DType::kUint8, core::Shape()}, raw<std::uint8_t>({3, 255}), wide);
  EXPECT_EQ(wide, (std::vector<std::int64_t>{3, 255}));
  expect_error(ErrorCode::kInvalidArgument, {"'label'", "9223372036854775808", "int64"}, [&] {
    to_int64({"label", DType::kUint64, core::Shape()}, raw<std::uint64_t>({1, 1ULL << 63U}), wide);
  });
  std::vector<std::int32_t> narrow(2);
  to_int32({"label", DType::kInt64, core::Shape()}, raw<std::int64_t>({-100, 7}), narrow);
  EXPECT_EQ(narrow, (std::vector<std::int32_t>{-100, 7}));
  expect_error(ErrorCode::kInvalidArgument, {"'label'", "2147483648", "int32"}, [&] {
    to_int32({"label", DType::kInt64, core::Shape()}, raw<std::int64_t>({0, 1LL << 31}), narrow);
  });
  expect_error(ErrorCode::kInvalidArgument, {"'label'", "float32"}, [&] {
    to_int64({"label", DType::kFloat32, core::Shape()}, raw<float>({0, 1}), wide);
  });
}

TEST(Checks, FindWhatIsNotFinite) {
  EXPECT_EQ(find_not_finite(std::vector<float>{1, 2, 3}), std::nullopt);
  EXPECT_EQ(find_not_finite(std::vector<float>{1, 2, std::nanf(""), kInfinity}), 2U);
  EXPECT_EQ(find_not_finite(std::vector<float>{-kInfinity}), 0U);
}

TEST(Checks, FindIntegersOutsideARange) {
  const auto find = [](const auto& values, const IntegerRange& range) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    return find_outside(core::dtype_of<T>(), std::as_bytes(std::span(values)), range);
  };
  const std::vector<std::int64_t> labels = {0, 9, -100, 10};
  EXPECT_FALSE(find(std::vector<std::int64_t>{0, 9}, {.end = 10}));
  EXPECT_EQ(find(labels, {.end = 10})->at, 2U);
  EXPECT_EQ(find(labels, {.end = 10, .ignored = -100})->at, 3U);
  EXPECT_EQ(find(labels, {.end = 10, .ignored = -100})->value, 10);
  EXPECT_FALSE(find(std::vector<std::int32_t>{-7, 6}, indices_of(7)));
  EXPECT_EQ(find(std::vector<std::int32_t>{-7, -8}, indices_of(7))->value, -8);
  EXPECT_EQ(find(std::vector<std::uint8_t>{0, 200}, indices_of(128))->value, 200);
}

TEST(ComputeNormalization, IsExactForBytes) {
  // Channel 0 is 0 or 255, half each; channel 1 never changes.
  MemoryDataset dataset(4, {{"image", DType::kUint8, core::Shape({2, 1, 1})}});
  dataset.set<std::uint8_t>(0, {0, 51, 255, 51, 255, 51, 0, 51});
  const Normalization result = compute_normalization(dataset, 0);
  EXPECT_EQ(result.mean, (std::vector<float>{0.5F, 0.2F}));
  EXPECT_EQ(result.deviation, (std::vector<float>{0.5F, 1.0F}));
}

TEST(ComputeNormalization, DoesNotDependOnTheOrderOfBytes) {
  std::vector<std::uint8_t> values;
  for (std::uint64_t i = 0; i < 3000000; ++i)
    values.push_back(static_cast<std::uint8_t>(i * 7919 / 13));
  MemoryDataset forward(3000, {{"image", DType::kUint8, core::Shape({1, 1000})}});
  forward.set(0, values);
  MemoryDataset backward(3000, {{"image", DType::kUint8, core::Shape({1, 1000})}});
  backward.set(0, std::vector<std::uint8_t>(values.rbegin(), values.rend()));
  EXPECT_EQ(compute_normalization(forward, 0), compute_normalization(backward, 0));
}

TEST(ComputeNormalization, KeepsDigitsFarFromZero) {
  MemoryDataset dataset(4, {{"x", DType::kFloat64, core::Shape({1})}});
  dataset.set<double>(0, {1e9 - 1, 1e9 + 1, 1e9 - 1, 1e9 + 1});
  const Normalization result = compute_normalization(dataset, 0);
  EXPECT_EQ(result.mean, (std::vector<float>{1e9F}));
  EXPECT_EQ(result.deviation, (std::vector<float>{1.0F}));
}

TEST(ComputeNormalization, NamesTheSampleThatIsNotFinite) {
  MemoryDataset dataset(3, {{"x", DType::kFloat32, core::Shape({2})}});
  dataset.set<float>(0, {1, 2, 3, 4, kInfinity, 6});
  expect_error(ErrorCode::kNumeric, {"'x', sample 2, element 0: inf"},
               [&] { compute_normalization(dataset, 0); });
}

TEST(Normalization, TextReadsBackExactly) {
  const Normalization value{{0.1F, 1.0F / 3, 1e-30F}, {0.3F, std::nextafter(1.0F, 2.0F), 7e20F}};
  EXPECT_EQ(Normalization::parse(value.str()), value);
  EXPECT_EQ((Normalization{{0.5F}, {0.25F}}).str(), "mean=0.5;deviation=0.25");
  for (const char* text : {"", "mean=1", "mean=1;deviation=", "mean=1,2;deviation=1",
                           "mean=1,;deviation=1,2", "mean=x;deviation=1", "mean=1;deviation=1 "}) {
    expect_error(ErrorCode::kInvalidArgument, {"is not a normalization"},
                 [&] { Normalization::parse(text); });
  }
}

}  // namespace
}  // namespace lowtide::data
