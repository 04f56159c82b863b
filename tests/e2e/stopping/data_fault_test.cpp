// Data that cannot be read in the middle of a run: training ends with a message that names the
// file, the state so far is saved, and a run with sound data goes on from it as if nothing had
// happened.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"
#include "support/pictures.h"

namespace lowtide::e2e {
namespace {

namespace fs = std::filesystem;

struct Source {
  std::string name;
  std::string pattern;  // of the files' paths, for the faults
  Words zoo;
  std::string (*make)(const Scene&);
  Words options = {};
};

void PrintTo(const Source& source, std::ostream* out) { *out << source.name; }

const Words kSmall = {"mlp", "--size", "8", "--channels", "3", "--width", "8", "--classes", "2"};

std::string photos(const Scene& scene) {
  for (int i = 0; i < 24; ++i) {
    const fs::path folder = fs::path(scene / "photos") / (i % 2 == 0 ? "even" : "odd");
    fs::create_directories(folder);
    const support::Picture picture = support::smooth_picture(12 + i % 5, 11 + i % 3, 3, i);
    const std::string name = (folder / std::to_string(i)).string();
    if (i % 4 < 2) support::write_png(name + ".png", picture);
    if (i % 4 >= 2) support::write_jpeg(name + ".jpg", picture);
  }
  return scene / "photos";
}

std::string token_file(const Scene& scene) {
  std::string bytes;
  for (int i = 0; i < 24 * 8 + 1; ++i) bytes += {static_cast<char>(i * i % 16), '\0'};
  support::write_file(scene / "text.bin", bytes);
  return scene / "text.bin";
}

std::string idx_folder(const Scene& scene) {
  const auto header = [](std::string text, int rank, std::initializer_list<int> dims) {
    text += {'\0', '\0', '\x08', static_cast<char>(rank)};
    for (const int dim : dims) text += {'\0', '\0', '\0', static_cast<char>(dim)};
    return text;
  };
  fs::create_directories(scene / "mnist");
  std::string images = header("", 3, {24, 8, 8});
  std::string labels = header("", 1, {24});
  for (int i = 0; i < 24; ++i) {
    for (int k = 0; k < 64; ++k) images += static_cast<char>((i * k + k) % 251);
    labels += static_cast<char>(i % 2);
  }
  support::write_file(scene / "mnist/train-images-idx3-ubyte", images);
  support::write_file(scene / "mnist/train-labels-idx1-ubyte", labels);
  return scene / "mnist";
}

const std::vector<Source> kSources = {
    {"Images", "photos", kSmall, photos, {"--augment", "crop,flip"}},
    {"Tokens",
     "text.bin",
     {"gpt2", "--layers", "1", "--width", "8", "--heads", "2", "--vocabulary", "16", "--sequence",
      "8"},
     token_file},
    {"Idx",
     "train-images",
     {"mlp", "--size", "8", "--channels", "1", "--width", "8", "--classes", "2"},
     idx_folder},
};

class DataFaults : public testing::TestWithParam<Source> {
 protected:
  [[nodiscard]] Outcome train_with(const std::string& fault, const std::string& count = "") const {
    Words environment = {std::string("LD_PRELOAD=") + LOWTIDE_FAULTS, "LOWTIDE_FAULT=" + fault,
                         "ASAN_OPTIONS=verify_asan_link_order=0"};
    if (!count.empty()) environment.push_back("LOWTIDE_FAULT_COUNT=" + count);
    return lowtide(Words{"train"} + run + saved, {.environment = environment});
  }

  [[nodiscard]] std::string fault(const std::string& call,
                                  long first,
                                  long count,
                                  int error) const {
    return core::text("{} {} {} {} {}", call, GetParam().pattern, first, count, error);
  }

  // How often a run makes that call on the data.
  [[nodiscard]] long calls(const std::string& call) const {
    const std::string count = scene / "count";
    const Outcome outcome = train_with(fault(call, 1L << 40, 1, EIO), count);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    forget();
    return std::stol(support::read_file(count));
  }

  void forget() const {
    for (const char* const age : {"", ".1"}) fs::remove(ck + age);
  }

  void expect_recovery() const {
    const Trained rest = train(scene, run + saved, "rest.onnx");
    EXPECT_TRUE(rest.bytes == whole.bytes);
    forget();
  }

  Scene scene;
  std::string model = scene.zoo(GetParam().zoo);
  std::string data = GetParam().make(scene);
  std::string ck = scene / "run.safetensors";
  Words run = Words{model, "--data", data, "--batch", "6", "--lr", "0.01", "--steps", "20"} +
              GetParam().options;
  Words saved = {"--checkpoint", ck, "--checkpoint-every", "100", "--resume", ck};
  Trained whole = train(scene, run, "whole.onnx");
};

TEST_P(DataFaults, EndTrainingWithTheStateSaved) {
  const long all = calls("pread");
  for (const int error : {EIO, -1}) {
    SCOPED_TRACE(error);
    const Outcome outcome = train_with(fault("pread", all * 2 / 3, 1000000, error));
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find(GetParam().pattern), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(error < 0 ? "too early" : std::strerror(error)), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find(ck + " holds step "), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    expect_recovery();
  }
}

TEST_P(DataFaults, ShortAndInterruptedReadsAreContinued) {
  for (const int error : {0, EINTR}) {
    SCOPED_TRACE(error);
    const Outcome outcome =
        train_with(fault("pread", error == 0 ? 1 : 20, error == 0 ? 1000000 : 5, error));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_recovery();
  }
}

INSTANTIATE_TEST_SUITE_P(Sources,
                         DataFaults,
                         testing::ValuesIn(kSources),
                         [](const auto& instance) { return std::string(instance.param.name); });

// Folders of images open each file anew: one may be gone by then, or be out of reach.
using ImageFaults = DataFaults;

TEST_P(ImageFaults, FilesThatCannotBeOpenedAnyMoreAreNamed) {
  const long all = calls("open");
  for (const int error : {EACCES, ENOENT, EMFILE}) {
    SCOPED_TRACE(std::strerror(error));
    const Outcome outcome = train_with(fault("open", all * 2 / 3, 1000000, error));
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("photos/"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(std::strerror(error)), std::string::npos) << outcome.err;
    expect_recovery();
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, ImageFaults, testing::Values(kSources[0]), [](const auto&) {
  return "Images";
});

}  // namespace
}  // namespace lowtide::e2e
