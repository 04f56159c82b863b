// Folders of images: classes by name, every sample the same whoever reads it, damage named.
#include "data/source/image_folder.h"

#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "data/loader.h"
#include "data/scratch.h"
#include "support/pictures.h"

namespace lowtide::data {
namespace {

namespace fs = std::filesystem;

class Photos : public testing::Test {
 protected:
  Photos() {
    options_.image = {.channels = 3, .height = 8, .width = 8};
    for (const char* const name : {"cat", "ant", "bee"}) {
      fs::create_directories(folder_.path() / name / "more");
      for (int i = 0; i < 4; ++i) {
        const auto picture = support::smooth_picture(20 + 3 * i, 14 + i, 3, i + name[0]);
        const std::string stem =
            std::string(name) + "/" + (i == 3 ? "more/" : "") + std::to_string(i);
        if (i % 2 == 0) support::write_png(folder_.path() / (stem + ".png"), picture);
        if (i % 2 == 1) support::write_jpeg(folder_.path() / (stem + ".JPG"), picture);
      }
    }
  }

  std::shared_ptr<const Dataset> opened() const { return open(folder_.path(), options_); }

  ScratchFolder folder_;
  OpenOptions options_;
};

std::vector<std::int64_t> labels_of(const Dataset& dataset) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < dataset.samples(); ++i) numbers.push_back(i);
  std::vector<std::int64_t> labels(numbers.size());
  dataset.read(1, numbers, std::as_writable_bytes(std::span(labels)));
  return labels;
}

TEST_F(Photos, ClassesAreTheFoldersInTheOrderOfTheirNames) {
  const auto dataset = opened();
  EXPECT_EQ(std::vector(dataset->class_names().begin(), dataset->class_names().end()),
            (std::vector<std::string>{"ant", "bee", "cat"}));
  EXPECT_EQ(labels_of(*dataset), (std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(dataset->fields()[0].sample_shape, core::Shape({3, 8, 8}));
}

TEST_F(Photos, OtherFilesAreLeftOutAndCounted) {
  folder_.write("bee/notes.txt", {'x'});
  folder_.write("bee/.hidden.png", {'x'});
  const auto dataset = opened();
  EXPECT_EQ(dataset->samples(), 12);
  ASSERT_EQ(dataset->notes().size(), 1U);
  EXPECT_NE(dataset->notes()[0].find("1 files"), std::string::npos);
}

TEST_F(Photos, TrainAndValSubfoldersAreTheSplit) {
  const ScratchFolder outer;
  fs::create_directories(outer.path() / "train");
  fs::create_directories(outer.path() / "val");
  fs::copy(folder_.path(), outer.path() / "train", fs::copy_options::recursive);
  fs::copy(folder_.path() / "ant", outer.path() / "val" / "ant", fs::copy_options::recursive);
  EXPECT_EQ(open(outer.path(), options_)->samples(), 12);
  options_.split = Split::kTest;
  options_.class_names = {"ant", "bee", "cat"};
  const auto test = open(outer.path(), options_);
  EXPECT_EQ(test->samples(), 4);
  EXPECT_EQ(test->class_names().size(), 3U);
}

TEST_F(Photos, AClassThatWasNotTrainedOnIsRefused) {
  options_.class_names = {"ant", "cat"};
  expect_error(ErrorCode::kInvalidArgument, {"'bee'", "ant, cat"}, [&] { opened(); });
}

TEST_F(Photos, ADamagedFileIsNamedOrLeftOut) {
  const fs::path damaged = folder_.path() / "bee" / "0.png";
  FileBytes bytes = read_file(damaged);
  bytes.erase(bytes.end() - 40, bytes.end());
  folder_.write("bee/0.png", bytes);
  folder_.write("cat/0.png", {'n', 'o', 't', ' ', 'i', 't'});
  expect_error(ErrorCode::kUnsupported, {"cat/0.png"}, [&] { opened(); });
  options_.image.skip_bad = true;
  const auto dataset = opened();
  EXPECT_EQ(dataset->samples(), 10);
  EXPECT_EQ(labels_of(*dataset), (std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 2, 2, 2}));
  ASSERT_EQ(dataset->notes().size(), 2U);
  EXPECT_NE(dataset->notes()[0].find("bee/0.png"), std::string::npos);
  EXPECT_NE(dataset->notes()[1].find("cat/0.png"), std::string::npos);
  // Without its check pass the damage is found when the pixels are read, with the file's name.
  fs::remove(folder_.path() / "cat" / "0.png");
  options_.image.skip_bad = false;
  const auto unchecked = opened();
  std::vector<std::byte> out(192);
  const std::vector<std::int64_t> fifth = {4};
  expect_error(ErrorCode::kInvalidFile, {"bee/0.png"}, [&] { unchecked->read(0, fifth, out); });
}

// Which is not damage: the file may be sound.
TEST_F(Photos, AFileThatCannotBeReadIsAnErrorEvenWhereBadOnesAreLeftOut) {
  fs::create_symlink(folder_.path() / "nowhere", folder_.path() / "cat" / "9.png");
  for (const bool skip : {false, true}) {
    options_.image.skip_bad = skip;
    expect_error(ErrorCode::kIo, {"cat/9.png", "No such file"}, [&] { opened(); });
  }
}

TEST_F(Photos, HiddenFoldersAreNoPartOfIt) {
  fs::copy(folder_.path() / "ant", folder_.path() / "bee" / ".thumbnails");
  EXPECT_EQ(opened()->samples(), 12);
}

TEST_F(Photos, AFolderWithoutImagesOrASizeIsRefused) {
  const ScratchFolder empty;
  fs::create_directories(empty.path() / "one");
  expect_error(ErrorCode::kInvalidFile, {"no class folder"}, [&] { open(empty.path(), options_); });
  options_.image.width = 0;
  expect_error(ErrorCode::kInvalidArgument, {"--image-size"}, [&] { opened(); });
}

std::vector<std::byte> batches(const Dataset& dataset, const LoaderOptions& options, int count) {
  Loader loader(
      dataset, Sampler(dataset.samples(), 5, {.seed = 3}),
      {{.field = 0, .dtype = core::DType::kUint8}, {.field = 1, .dtype = core::DType::kInt64}},
      options);
  std::vector<std::byte> all;
  for (int i = 0; i < count; ++i) {
    for (const auto& array : loader.next().arrays)
      all.insert(all.end(), array.begin(), array.end());
  }
  return all;
}

TEST_F(Photos, BatchesDependNeitherOnThreadsNorOnWhereReadingBegan) {
  options_.seed = 4;
  options_.image.augmentation = {.crop = true, .flip = true};
  const auto dataset = opened();
  const std::vector<std::byte> wanted =
      batches(*dataset, {.prefetch = false, .in_epochs = true}, 7);
  for (const int readers : {1, 2, 5}) {
    for (const bool prefetch : {false, true}) {
      EXPECT_EQ(batches(*dataset, {.prefetch = prefetch, .in_epochs = true, .readers = readers}, 7),
                wanted);
    }
  }
  // Three batches an epoch, of 5, 5 and 2 samples: the fifth of all is the second of epoch 1.
  const std::vector<std::byte> later =
      batches(*dataset, {.in_epochs = true, .readers = 3, .epoch = 1, .batch = 1}, 3);
  const std::size_t sample = 192 + 8;
  EXPECT_EQ(later, std::vector(wanted.begin() + static_cast<std::ptrdiff_t>(17 * sample),
                               wanted.begin() + static_cast<std::ptrdiff_t>(29 * sample)));
}

TEST_F(Photos, OnlyEpochsAugment) {
  const auto plain = batches(*opened(), {}, 6);
  options_.image.augmentation = {.crop = true, .flip = true};
  EXPECT_EQ(batches(*opened(), {}, 6), plain);
  EXPECT_NE(batches(*opened(), {.in_epochs = true}, 6), plain);
}

TEST_F(Photos, WhatDecodingTakesIsCountedForEachReader) {
  const auto dataset = opened();
  const auto bytes = [&](int readers) {
    return Loader(*dataset, Sampler(12, 5, {}), {{.field = 0}}, {.readers = readers})
        .buffer_bytes();
  };
  EXPECT_GT(dataset->held_while_reading(), Bytes(100 * 1024));
  EXPECT_EQ(bytes(3), bytes(1) + 2 * dataset->held_while_reading());
}

}  // namespace
}  // namespace lowtide::data
