// Arrays of images with augmentation: what an epoch sees of each, and what cannot be augmented.
#include "data/source/augmented_arrays.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "data/memory_dataset.h"
#include "data/scratch.h"

namespace lowtide::data {
namespace {

constexpr std::int64_t kSamples = 200;
constexpr std::int64_t kHeight = 10;
constexpr std::int64_t kWidth = 12;
constexpr std::size_t kPixels = kHeight * kWidth;
constexpr std::size_t kImage = 3 * kPixels;

// Red grows to the right, green downwards, blue is the sample's number.
std::uint8_t pixel(std::size_t sample, std::size_t channel, std::size_t y, std::size_t x) {
  const std::size_t value = channel == 0 ? 20 * x : channel == 1 ? 20 * y : sample;
  return static_cast<std::uint8_t>(value);
}

std::shared_ptr<MemoryDataset> ramps() {
  const auto dataset = std::make_shared<MemoryDataset>(
      kSamples, std::vector<Field>{{"image", core::DType::kUint8, core::Shape{3, kHeight, kWidth}},
                                   {"label", core::DType::kUint8, core::Shape()}});
  std::vector<std::uint8_t> images;
  for (std::size_t i = 0; i < kSamples * kImage; ++i) {
    const std::size_t place = i % kPixels;
    images.push_back(pixel(i / kImage, i % kImage / kPixels, place / kWidth, place % kWidth));
  }
  dataset->set(0, images);
  std::vector<std::uint8_t> labels(kSamples);
  std::iota(labels.begin(), labels.end(), std::uint8_t{0});
  dataset->set(1, labels);
  return dataset;
}

OpenOptions with(const Augmentation& augmentation, std::uint64_t seed = 1) {
  OpenOptions options{.seed = seed};
  options.image.augmentation = augmentation;
  return options;
}

std::vector<std::uint8_t> read_epoch(const Dataset& dataset,
                                     const std::vector<std::int64_t>& samples,
                                     std::int64_t epoch,
                                     std::size_t field = 0) {
  const auto bytes = static_cast<std::size_t>(dataset.fields()[field].sample_bytes().count());
  std::vector<std::uint8_t> out(samples.size() * bytes);
  dataset.read_in_epoch(field, samples, epoch, std::as_writable_bytes(std::span(out)));
  return out;
}

std::vector<std::int64_t> all_samples() {
  std::vector<std::int64_t> samples(kSamples);
  std::iota(samples.begin(), samples.end(), 0);
  return samples;
}

std::uint8_t at(const std::vector<std::uint8_t>& images,
                std::size_t sample,
                std::size_t channel,
                std::size_t y,
                std::size_t x) {
  return images[sample * kImage + channel * kPixels + y * kWidth + x];
}

TEST(AugmentedArrays, MirrorEverySecondImageAndNothingElse) {
  const AugmentedArrays dataset(ramps(), with({.flip = true}));
  const std::vector<std::uint8_t> images = read_epoch(dataset, all_samples(), 0);
  int mirrored = 0;
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    const bool flipped = at(images, sample, 0, 0, 0) != 0;
    mirrored += flipped ? 1 : 0;
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t y = 0; y < kHeight; ++y) {
        for (std::size_t x = 0; x < kWidth; ++x) {
          ASSERT_EQ(at(images, sample, c, y, x), pixel(sample, c, y, flipped ? kWidth - 1 - x : x));
        }
      }
    }
  }
  EXPECT_NEAR(mirrored, kSamples / 2, 30);  // four deviations
}

TEST(AugmentedArrays, CropsAreScaledPartsInEveryChannel) {
  const AugmentedArrays dataset(ramps(), with({.crop = true, .least_area = 0.2}));
  const std::vector<std::uint8_t> images = read_epoch(dataset, all_samples(), 0);
  int narrower = 0;
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    for (std::size_t i = 1; i < kWidth; ++i) {
      EXPECT_GE(at(images, sample, 0, 4, i), at(images, sample, 0, 4, i - 1));
    }
    for (std::size_t i = 1; i < kHeight; ++i) {
      EXPECT_GE(at(images, sample, 1, i, 4), at(images, sample, 1, i - 1, 4));
    }
    EXPECT_EQ(at(images, sample, 2, 7, 3), sample);
    const int spread = at(images, sample, 0, 0, kWidth - 1) - at(images, sample, 0, 0, 0);
    narrower += spread < 20 * 10 ? 1 : 0;  // of 20 * 11
  }
  EXPECT_GT(narrower, kSamples / 2);
}

TEST(AugmentedArrays, AViewDependsOnSeedEpochAndSampleOnly) {
  const Augmentation both = {.crop = true, .flip = true};
  const AugmentedArrays dataset(ramps(), with(both));
  const std::vector<std::uint8_t> alone = read_epoch(dataset, {77}, 3);
  const std::vector<std::uint8_t> beside = read_epoch(dataset, {5, 77, 8}, 3);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), beside.begin() + kImage));
  EXPECT_NE(alone, read_epoch(dataset, {77}, 4));
  EXPECT_NE(alone, read_epoch(AugmentedArrays(ramps(), with(both, 2)), {77}, 3));
}

TEST(AugmentedArrays, EvaluationAndLabelsAreLeftAsTheyAre) {
  const auto arrays = ramps();
  const AugmentedArrays dataset(arrays, with({.crop = true, .flip = true}));
  std::vector<std::uint8_t> seen(kImage);
  std::vector<std::uint8_t> whole(kImage);
  const std::vector<std::int64_t> sample = {42};
  dataset.read(0, sample, std::as_writable_bytes(std::span(seen)));
  arrays->read(0, sample, std::as_writable_bytes(std::span(whole)));
  EXPECT_EQ(seen, whole);
  EXPECT_EQ(read_epoch(dataset, {42}, 0, 1), (std::vector<std::uint8_t>{42}));
}

// A folder of IDX files, as a user gives it.
TEST(AugmentedArrays, AreWhatAFolderOfIdxFilesBecomes) {
  const ScratchFolder folder;
  FileBytes images = {0, 0, 8, 3, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 2};
  FileBytes labels = {0, 0, 8, 1, 0, 0, 0, 40};
  for (std::uint8_t i = 0; i < 40; ++i) {
    images.insert(images.end(), {0, 9});
    labels.push_back(i);
  }
  folder.write("train-images-idx3-ubyte", images);
  folder.write("train-labels-idx1-ubyte", labels);
  const auto dataset = open(folder.path(), with({.flip = true}));
  std::vector<std::int64_t> samples(40);
  std::iota(samples.begin(), samples.end(), 0);
  const std::vector<std::uint8_t> seen = read_epoch(*dataset, samples, 0);
  const auto nines = [&](std::size_t x) {
    int count = 0;
    for (std::size_t i = x; i < seen.size(); i += 2) count += seen[i] == 9 ? 1 : 0;
    return count;
  };
  EXPECT_EQ(nines(0) + nines(1), 40);
  EXPECT_GT(nines(0), 5);
  EXPECT_GT(nines(1), 5);
}

TEST(AugmentedArrays, RefuseWhatHoldsNoImages) {
  const auto floats = std::make_shared<MemoryDataset>(
      3, std::vector<Field>{{"x", core::DType::kFloat32, core::Shape{3, 4, 4}},
                            {"label", core::DType::kUint8, core::Shape()}});
  expect_error(ErrorCode::kInvalidArgument, {"nothing to augment", "'x' is float32 [3, 4, 4]"},
               [&] { AugmentedArrays(floats, with({.flip = true})); });
  const ScratchFolder folder;
  const std::string text = "a,label\n1,0\n2,1\n";
  const auto table = folder.write("t.csv", FileBytes(text.begin(), text.end()));
  expect_error(ErrorCode::kInvalidArgument, {"t.csv", "nothing to augment"},
               [&] { open(table, with({.crop = true})); });
  const auto tokens = folder.write("t.bin", FileBytes(100));
  OpenOptions options = with({.crop = true});
  options.tokens.sequence = 4;
  expect_error(ErrorCode::kInvalidArgument, {"t.bin", "nothing to augment"},
               [&] { open(tokens, options); });
  expect_error(ErrorCode::kInvalidArgument, {"t.bin", "nothing to augment"},
               [&] { open_parts(tokens, options, 0.5, 0); });
}

TEST(AugmentedArrays, RefuseLabelsThatHavePlaces) {
  const auto masks = std::make_shared<MemoryDataset>(
      3, std::vector<Field>{{"image", core::DType::kUint8, core::Shape{3, 4, 4}},
                            {"label", core::DType::kInt64, core::Shape{4, 4}}});
  expect_error(ErrorCode::kInvalidArgument, {"labels have places", "'label' is int64 [4, 4]"},
               [&] { AugmentedArrays(masks, with({.flip = true})); });
}

}  // namespace
}  // namespace lowtide::data
