// Token files: what follows what, windows in evaluation and in training, parts that share nothing.
#include "data/source/token_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "data/scratch.h"

namespace lowtide::data {
namespace {

template <class T>
std::filesystem::path tokens(const ScratchFolder& folder, std::int64_t count) {
  FileBytes bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    const T token = static_cast<T>(i);
    std::array<std::uint8_t, sizeof(T)> raw = {};
    std::memcpy(raw.data(), &token, sizeof(T));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
  return folder.write("text.bin", bytes);
}

OpenOptions of(core::DType dtype, std::int64_t sequence) {
  OpenOptions options;
  options.tokens = {.dtype = dtype, .sequence = sequence};
  return options;
}

template <class T>
std::vector<T> sample(const Dataset& dataset, std::size_t field, std::int64_t i) {
  std::vector<T> out(static_cast<std::size_t>(dataset.fields()[field].sample_shape.elements()));
  dataset.read(field, {&i, 1}, std::as_writable_bytes(std::span(out)));
  return out;
}

std::vector<std::uint16_t> drawn(const Dataset& dataset, std::int64_t epoch, std::int64_t i) {
  std::vector<std::uint16_t> out(
      static_cast<std::size_t>(dataset.fields()[0].sample_shape.elements()));
  dataset.read_in_epoch(0, {&i, 1}, epoch, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(TokenFile, WindowsFollowEachOtherAndLabelsAreTheNextTokens) {
  const ScratchFolder folder;
  const auto dataset = open(tokens<std::uint16_t>(folder, 12), of(core::DType::kUint16, 3));
  EXPECT_EQ(dataset->samples(), 3);  // the last of 12 is a label only; two are left over
  EXPECT_EQ(sample<std::uint16_t>(*dataset, 0, 0), (std::vector<std::uint16_t>{0, 1, 2}));
  EXPECT_EQ(sample<std::uint16_t>(*dataset, 0, 2), (std::vector<std::uint16_t>{6, 7, 8}));
  EXPECT_EQ(sample<std::uint16_t>(*dataset, 1, 2), (std::vector<std::uint16_t>{7, 8, 9}));
  const auto wide = open(tokens<std::uint32_t>(folder, 70000), of(core::DType::kUint32, 100));
  EXPECT_EQ(sample<std::uint32_t>(*wide, 1, 698).back(), 69900U);
}

TEST(TokenFile, PlacesAreThoseInTheFile) {
  const ScratchFolder folder;
  OpenOptions options = of(core::DType::kUint16, 4);
  options.seed = 9;
  const auto path = tokens<std::uint16_t>(folder, 41);
  const Parts parts = open_parts(path, options, 0.3, 0);
  for (const auto& part : {parts.training, parts.validation}) {
    for (std::int64_t i = 0; i < part->samples(); ++i) {
      // Each token is its own place.
      const auto named = [](std::uint16_t token) {
        return "token " + std::to_string(token) + " of the file";
      };
      EXPECT_EQ(part->place(0, i, 2), named(sample<std::uint16_t>(*part, 0, i)[2]));
      EXPECT_EQ(part->place(1, i, 2), named(sample<std::uint16_t>(*part, 1, i)[2]));
      EXPECT_EQ(part->place(0, i, 3, 5), named(drawn(*part, 5, i)[3]));
    }
  }
}

TEST(TokenFile, EpochsDrawWindowsAnywhere) {
  const ScratchFolder folder;
  OpenOptions options = of(core::DType::kUint16, 4);
  options.seed = 9;
  const auto dataset = open(tokens<std::uint16_t>(folder, 21), options);
  std::set<std::uint16_t> begins;
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    const auto window = drawn(*dataset, epoch, epoch % 5);
    for (std::size_t i = 1; i < window.size(); ++i) ASSERT_EQ(window[i], window[0] + i);
    begins.insert(window[0]);
  }
  EXPECT_EQ(begins.size(), 17U);  // 0 to 16: the label of the last token of the last one is 20
  EXPECT_EQ(*begins.rbegin(), 16);
  EXPECT_EQ(drawn(*dataset, 7, 2), drawn(*open(folder.path() / "text.bin", options), 7, 2));
  options.seed = 10;
  const auto other = open(folder.path() / "text.bin", options);
  int same = 0;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    same += drawn(*dataset, epoch, 0) == drawn(*other, epoch, 0) ? 1 : 0;
  }
  EXPECT_LT(same, 12);
}

TEST(TokenFile, TheLabelOfADrawnWindowIsItsOwn) {
  const ScratchFolder folder;
  const auto dataset = open(tokens<std::uint16_t>(folder, 1000), of(core::DType::kUint16, 10));
  for (std::int64_t i = 0; i < dataset->samples(); ++i) {
    std::vector<std::uint16_t> label(10);
    dataset->read_in_epoch(1, {&i, 1}, 3, std::as_writable_bytes(std::span(label)));
    EXPECT_EQ(label[0], drawn(*dataset, 3, i)[0] + 1);
  }
}

// No token that is predicted in validation is read in training.
TEST(TokenFile, PartsShareNoToken) {
  const ScratchFolder folder;
  const auto path = tokens<std::uint16_t>(folder, 1003);
  for (const double share : {0.01, 0.1, 0.5, 0.9}) {
    const Parts parts = open_parts(path, of(core::DType::kUint16, 10), share, 0);
    EXPECT_NEAR(static_cast<double>(parts.validation->samples()), share * 100, 1);
    const std::uint16_t first = sample<std::uint16_t>(*parts.validation, 0, 0)[0];
    const std::int64_t last = parts.training->samples() - 1;
    EXPECT_LT(sample<std::uint16_t>(*parts.training, 1, last).back(), first);
    for (std::int64_t epoch = 0; epoch < 300; ++epoch) {
      EXPECT_LT(drawn(*parts.training, epoch, 0).back(), first);
    }
  }
}

TEST(TokenFile, RefusesWhatHoldsNoSample) {
  const ScratchFolder folder;
  const auto path = tokens<std::uint16_t>(folder, 5);
  expect_error(ErrorCode::kInvalidFile, {"text.bin", "5 tokens", "6"},
               [&] { open(path, of(core::DType::kUint16, 5)); });
  expect_error(ErrorCode::kInvalidFile, {"text.bin", "10 bytes", "uint32"},
               [&] { open(path, of(core::DType::kUint32, 1)); });
  expect_error(ErrorCode::kInvalidArgument, {"--shape"},
               [&] { open(path, of(core::DType::kUint16, 0)); });
}

}  // namespace
}  // namespace lowtide::data
