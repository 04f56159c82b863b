// Datasets from .npz files that NumPy wrote and from IDX folders.
#include "data/dataset.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "data/format/npy.h"
#include "data/scratch.h"

namespace lowtide::data {
namespace {

using core::DType;

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

  std::vector<float> expected;
  for (const int sample : {5, 0, 1}) {
    for (int i = 0; i < 12; ++i) expected.push_back(static_cast<float>(sample * 12 + i) / 8 - 2);
  }
  EXPECT_EQ(values<float>(*dataset, "x", {5, 0, 1}), expected);
  EXPECT_EQ(values<std::int64_t>(*dataset, "label", {0, 1, 2, 3, 4, 5}),
            (std::vector<std::int64_t>{3, 1, 4, 1, 5, 9}));
  EXPECT_EQ(values<std::int32_t>(*dataset, "big", {4, 2}), (std::vector<std::int32_t>{8, 9, 4, 5}));
  EXPECT_EQ(values<std::uint8_t>(*dataset, "u8", {3, 3}), (std::vector<std::uint8_t>{3, 3}));
  EXPECT_EQ(values<std::uint8_t>(*dataset, "flag", {0, 1}), (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(values<double>(*dataset, "f64", {2}), (std::vector<double>{2.0 / 3.0}));
  EXPECT_EQ(values<std::int16_t>(*dataset, "i16", {0, 5}), (std::vector<std::int16_t>{-3, 2}));
}

INSTANTIATE_TEST_SUITE_P(All,
                         NumpyFile,
                         testing::Values("stored.npz", "deflated.npz", "streamed.npz"));

TEST(Npz, OpensOnlyTheArraysAskedFor) {
  const auto dataset = open(kFiles / "stored.npz", {.fields = {"label", "x"}});
  ASSERT_EQ(dataset->fields().size(), 2U);
  EXPECT_EQ(dataset->fields()[0].name, "label");
  EXPECT_EQ(dataset->find("x"), 1U);
  EXPECT_EQ(dataset->find("u8"), std::nullopt);
}

TEST(Npz, MissingArraysListWhatThereIs) {
  expect_error(ErrorCode::kInvalidArgument,
               {"stored.npz", "no array 'image'", "x, label, big, u8, flag, f64, i16"},
               [] { open(kFiles / "stored.npz", {.fields = {"image"}}); });
  // What a model does not read may be of any length and type.
  EXPECT_EQ(
      open(kFiles / "uneven.npz", {.label = "x", .fields = {}, .inputs = {"x"}})->fields().size(),
      1U);
  EXPECT_THROW(open(kFiles / "uneven.npz", {.label = "none", .fields = {}, .inputs = {"x"}}),
               Error);
  const auto dataset = open(kFiles / "uneven.npz", {.fields = {"x"}});
  EXPECT_EQ(dataset->samples(), 3);
  expect_error(ErrorCode::kInvalidArgument, {"uneven.npz", "no array 'label'", "holds x"},
               [&] { static_cast<void>(dataset->index("label")); });
}

TEST(Npz, ArraysMustAgreeInTheirSamples) {
  expect_error(ErrorCode::kInvalidFile, {"uneven.npz", "'x' 3", "'label' 4"},
               [] { open(kFiles / "uneven.npz"); });
}

TEST(Npz, MissingFilesAreNamed) {
  expect_error(ErrorCode::kIo, {"absent.npz"}, [] { open(kFiles / "absent.npz"); });
}

FileBytes npy_file(DType dtype, const core::Shape& shape, const FileBytes& elements) {
  const std::vector<std::byte> header = npy_header(dtype, shape);
  FileBytes bytes;
  for (const std::byte byte : header) bytes.push_back(std::to_integer<std::uint8_t>(byte));
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

TEST(NpyFolder, HoldsAnArrayInEachFile) {
  const ScratchFolder folder;
  folder.write("x.npy", npy_file(DType::kUint8, core::Shape{3, 2}, {1, 2, 3, 4, 5, 6}));
  folder.write("label.npy", npy_file(DType::kUint8, core::Shape{3}, {7, 8, 9}));
  folder.write("readme.txt", {});
  const auto dataset = open(folder.path());
  EXPECT_EQ(dataset->samples(), 3);
  EXPECT_EQ(dataset->fields().size(), 2U);
  EXPECT_EQ(values<std::uint8_t>(*dataset, "x", {2, 0}), (std::vector<std::uint8_t>{5, 6, 1, 2}));
  EXPECT_EQ(values<std::uint8_t>(*dataset, "label", {1}), (std::vector<std::uint8_t>{8}));
  EXPECT_EQ(open(folder.path(), {.fields = {"x"}})->fields().size(), 1U);
  expect_error(ErrorCode::kInvalidArgument, {"no array 'y'", "holds label, x"},
               [&] { open(folder.path(), {.fields = {"y"}}); });
  expect_error(ErrorCode::kInvalidArgument, {"x.npy", "the folder that holds it"},
               [&] { open(folder.path() / "x.npy"); });
}

TEST(NpyFolder, ArraysMustAgreeInTheirSamplesAndBeWhole) {
  const ScratchFolder folder;
  folder.write("x.npy", npy_file(DType::kUint8, core::Shape{3, 2}, {1, 2, 3, 4, 5, 6}));
  folder.write("label.npy", npy_file(DType::kUint8, core::Shape{2}, {7, 8}));
  expect_error(ErrorCode::kInvalidFile, {"'label' 2", "'x' 3"}, [&] { open(folder.path()); });
  folder.write("label.npy", npy_file(DType::kUint8, core::Shape{3}, {7, 8}));
  expect_error(ErrorCode::kInvalidFile, {"label.npy"}, [&] { open(folder.path()); });
}

FileBytes idx_images(std::uint8_t count) {
  FileBytes bytes = {0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 3};
  for (int i = 0; i < count * 6; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  return bytes;
}

FileBytes idx_labels(std::uint8_t count) {
  FileBytes bytes = {0, 0, 8, 1, 0, 0, 0, count};
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(10 - i));
  return bytes;
}

void expect_idx(const Dataset& dataset, std::int64_t samples) {
  EXPECT_EQ(dataset.samples(), samples);
  const Field& image = dataset.fields()[dataset.index("image")];
  EXPECT_EQ(image.dtype, core::DType::kUint8);
  EXPECT_EQ(image.sample_shape, core::Shape({1, 2, 3}));
  EXPECT_EQ(values<std::uint8_t>(dataset, "image", {1}),
            (std::vector<std::uint8_t>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(values<std::uint8_t>(dataset, "label", {2, 0}), (std::vector<std::uint8_t>{8, 10}));
}

TEST(IdxFolder, ReadsPlainFiles) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", idx_images(4));
  folder.write("train-labels-idx1-ubyte", idx_labels(4));
  expect_idx(*open(folder.path()), 4);
}

TEST(IdxFolder, ReadsGzippedFilesAndTheTestSplit) {
  const ScratchFolder folder;
  folder.write("t10k-images-idx3-ubyte.gz", gzipped(idx_images(3)));
  folder.write("t10k-labels-idx1-ubyte.gz", gzipped(idx_labels(3)));
  expect_idx(*open(folder.path(), {.split = Split::kTest, .temp_directory = folder.path()}), 3);
}

TEST(IdxFolder, ReadsNamesWithADotAndCallsLabelsAsAsked) {
  const ScratchFolder folder;
  folder.write("train-images.idx3-ubyte", idx_images(4));
  folder.write("train-labels.idx1-ubyte", idx_labels(4));
  const auto dataset = open(folder.path(), {.label = "target"});
  EXPECT_EQ(values<std::uint8_t>(*dataset, "target", {0}), (std::vector<std::uint8_t>{10}));
}

TEST(IdxFolder, AMissingSplitListsWhatThereIs) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", idx_images(4));
  folder.write("train-labels-idx1-ubyte", idx_labels(4));
  expect_error(ErrorCode::kInvalidArgument,
               {folder.path().string(), "no t10k-images-idx3-ubyte", "train-images-idx3-ubyte"},
               [&] { open(folder.path(), {.split = Split::kTest}); });
  const ScratchFolder empty;
  expect_error(ErrorCode::kInvalidArgument, {"it holds nothing"}, [&] { open(empty.path()); });
}

TEST(IdxFolder, ImagesAndLabelsMustAgree) {
  const ScratchFolder folder;
  folder.write("train-images-idx3-ubyte", idx_images(4));
  folder.write("train-labels-idx1-ubyte", idx_labels(5));
  expect_error(ErrorCode::kInvalidFile, {"'image' 4", "'label' 5"}, [&] { open(folder.path()); });
  folder.write("train-images-idx3-ubyte", idx_images(0));
  folder.write("train-labels-idx1-ubyte", idx_labels(0));
  expect_error(ErrorCode::kInvalidFile, {"holds no samples"}, [&] { open(folder.path()); });
  folder.write("train-images-idx3-ubyte", idx_labels(4));
  expect_error(ErrorCode::kInvalidFile, {"train-images", "[4]"}, [&] { open(folder.path()); });
}

}  // namespace
}  // namespace lowtide::data
