// Datasets from .npz files that NumPy wrote and from IDX folders.
#include "data/dataset.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

namespace lowtide::data {
namespace {

const std::filesystem::path kFiles = LOWTIDE_TEST_FILES;

template <class T>
std::vector<T> values(const Dataset& dataset,
                      std::string_view field,
                      const std::vector<std::int64_t>& samples) {
  const std::size_t index = dataset.index(field);
  const Field& what = dataset.fields()[index];
  std::vector<T> out(samples.size() * static_cast<std::size_t>(what.sample_shape.elements()));
  dataset.read(index, samples, std::as_writable_bytes(std::span(out)));
  return out;
}

class NumpyFile : public testing::TestWithParam<const char*> {};

TEST_P(NumpyFile, ReadsEveryArray) {
  const auto dataset = open(kFiles / GetParam());
  EXPECT_EQ(dataset->samples(), 6);
  ASSERT_EQ(dataset->fields().size(), 7U);
  const Field& x = dataset->fields()[dataset->index("x")];
  EXPECT_EQ(x.dtype, core::DType::kFloat32);
  EXPECT_EQ(x.sample_shape, core::Shape({3, 4}));
  EXPECT_EQ(dataset->fields()[dataset->index("label")].sample_shape, core::Shape());

  const auto floats = values<float>(*dataset, "x", {5, 0, 1});
  std::vector<float> expected;
  for (const int sample : {5, 0, 1}) {
    for (int i = 0; i < 12; ++i) expected.push_back(static_cast<float>(sample * 12 + i) / 8 - 2);
  }
  EXPECT_EQ(floats, expected);
  EXPECT_EQ(values<std::int64_t>(*dataset, "label", {0, 1, 2, 3, 4, 5}),
            (std::vector<std::int64_t>{3, 1, 4, 1, 5, 9}));
  EXPECT_EQ(values<std::int32_t>(*dataset, "big", {4, 2}), (std::vector<std::int32_t>{8, 9, 4, 5}));
  EXPECT_EQ(values<std::uint8_t>(*dataset, "u8", {3}), (std::vector<std::uint8_t>{3}));
  EXPECT_EQ(values<std::uint8_t>(*dataset, "flag", {0, 1}), (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(values<double>(*dataset, "f64", {2}), (std::vector<double>{2.0 / 3.0}));
  EXPECT_EQ(values<std::int16_t>(*dataset, "i16", {0, 5}), (std::vector<std::int16_t>{-3, 2}));
}

INSTANTIATE_TEST_SUITE_P(All,
                         NumpyFile,
                         testing::Values("stored.npz", "deflated.npz", "streamed.npz"));

}  // namespace
}  // namespace lowtide::data
