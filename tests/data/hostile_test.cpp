// Thousands of damaged files of every kind: each is read or refused by an Error, in bounded memory
// and time.
#include "support/hostile.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/random.h"
#include "data/dataset.h"
#include "data/image/image_reader.h"
#include "data/scratch.h"
#include "support/pictures.h"

namespace lowtide::data {
namespace {

namespace fs = std::filesystem;

// Every sample of every field, in both ways.
void read_all(const Dataset& dataset) {
  for (std::size_t field = 0; field < dataset.fields().size(); ++field) {
    const Bytes width = dataset.fields()[field].sample_bytes();
    if (width > Bytes(1 << 20)) continue;
    std::vector<std::byte> out(static_cast<std::size_t>(width.count()));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(dataset.samples(), 20); ++i) {
      dataset.read(field, {&i, 1}, out);
      dataset.read_in_epoch(field, {&i, 1}, 3, out);
    }
  }
}

struct Kind {
  std::string name;
  fs::path (*make)(const ScratchFolder&);  // writes a good source; returns the file to damage
  int rounds = 1000;
};

class Hostile : public testing::TestWithParam<Kind> {};

TEST_P(Hostile, DamagedFilesAreReadOrRefused) {
  const ScratchFolder folder;
  const fs::path file = GetParam().make(folder);
  const bool alone = file.parent_path() == folder.path();
  const bool digits = file.parent_path().filename() == "mnist";
  const fs::path source = alone ? file : digits ? file.parent_path() : folder.path();
  OpenOptions options;
  options.image = {.channels = 3, .height = 6, .width = 6};
  options.image.augmentation.crop = digits || !alone;
  options.tokens = {.dtype = core::DType::kUint16, .sequence = 5};
  const FileBytes good = read_file(file);
  read_all(*open(source, options));
  core::RandomStream random = support::hostile_stream(2026);
  int refused = 0;
  const int rounds = support::hostile_rounds(GetParam().rounds);
  for (int round = 0; round < rounds; ++round) {
    folder.write(fs::relative(file, folder.path()).string(), support::damaged(good, random));
    const support::Patience patience(round);
    try {
      read_all(*open(source, options));
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()), "");
    }
  }
  EXPECT_GT(refused, rounds / 20);
  EXPECT_LT(support::peak_memory(), kMostImageBytes + Bytes(1 << 27));
}

fs::path npz(const ScratchFolder& folder) {
  return folder.write("a.npz", read_file(kFiles / "small-deflated.npz"));
}

fs::path idx(const ScratchFolder& folder) {
  fs::create_directories(folder.path() / "mnist");
  FileBytes images = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2};
  images.insert(images.end(), 12, 7);
  folder.write("mnist/train-labels-idx1-ubyte", {0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 0});
  return folder.write("mnist/train-images-idx3-ubyte", images);
}

template <bool kInterlaced>
fs::path png(const ScratchFolder& folder) {
  fs::create_directories(folder.path() / "class");
  const fs::path path = folder.path() / "class" / "a.png";
  support::write_png(path, support::smooth_picture(23, 17, 3),
                     {.interlaced = kInterlaced, .wide = false, .palette = {}});
  return path;
}

template <bool kProgressive>
fs::path jpeg(const ScratchFolder& folder) {
  fs::create_directories(folder.path() / "class");
  const fs::path path = folder.path() / "class" / "a.jpg";
  support::write_jpeg(path, support::smooth_picture(40, 30, 3), {.progressive = kProgressive});
  return path;
}

fs::path csv(const ScratchFolder& folder) {
  std::string text = "a,\"b\",label\n";
  for (int i = 0; i < 30; ++i) text += std::to_string(i) + ".5,\"-3e2\",name\r\n";
  return folder.write("t.csv", FileBytes(text.begin(), text.end()));
}

fs::path tokens(const ScratchFolder& folder) { return folder.write("t.bin", FileBytes(26, 1)); }

INSTANTIATE_TEST_SUITE_P(Kinds,
                         Hostile,
                         testing::Values(Kind{"Npz", npz, 2000},
                                         Kind{"Idx", idx, 1000},
                                         Kind{"Png", png<false>, 1000},
                                         Kind{"InterlacedPng", png<true>, 1000},
                                         Kind{"Jpeg", jpeg<false>, 1000},
                                         Kind{"ProgressiveJpeg", jpeg<true>, 1000},
                                         Kind{"Csv", csv, 2000},
                                         Kind{"Tokens", tokens, 200}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace lowtide::data
