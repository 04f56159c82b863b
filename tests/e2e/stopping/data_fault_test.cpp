// Data that cannot be read in the middle of a run: training ends with a message that names the
// file, the state so far is saved, and a run with sound data goes on from it as if nothing had
// happened.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/stopping/faulty_run.h"
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
  [[nodiscard]] std::string fault(const std::string& call,
                                  long first,
                                  long count,
                                  int error) const {
    return core::text("{} {} {} {} {}", call, GetParam().pattern, first, count, error);
  }

  Scene scene;
  FaultyRun run{scene,
                Words{scene.zoo(GetParam().zoo), "--data", GetParam().make(scene), "--batch", "6",
                      "--lr", "0.01", "--steps", "20"} +
                    GetParam().options,
                100};
};

TEST_P(DataFaults, EndTrainingWithTheStateSaved) {
  const long all = run.calls("pread", GetParam().pattern);
  for (const int error : {EIO, -1}) {
    SCOPED_TRACE(error);
    FaultyRun::expect_failure(run.train_with(fault("pread", all * 2 / 3, 1000000, error)),
                              {GetParam().pattern, error < 0 ? "too early" : std::strerror(error),
                               run.checkpoint() + " holds step "});
    run.expect_recovery();
  }
}

TEST_P(DataFaults, ShortAndInterruptedReadsAreContinued) {
  for (const int error : {0, EINTR}) {
    SCOPED_TRACE(error);
    const Outcome outcome =
        run.train_with(fault("pread", error == 0 ? 1 : 20, error == 0 ? 1000000 : 5, error));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    run.expect_recovery();
  }
}

INSTANTIATE_TEST_SUITE_P(Sources,
                         DataFaults,
                         testing::ValuesIn(kSources),
                         [](const auto& instance) { return std::string(instance.param.name); });

// Folders of images open each file anew: one may be gone by then, or be out of reach.
using ImageFaults = DataFaults;

TEST_P(ImageFaults, FilesThatCannotBeOpenedAnyMoreAreNamed) {
  const long all = run.calls("open", GetParam().pattern);
  for (const int error : {EACCES, ENOENT, EMFILE}) {
    SCOPED_TRACE(std::strerror(error));
    FaultyRun::expect_failure(run.train_with(fault("open", all * 2 / 3, 1000000, error)),
                              {"photos/", std::strerror(error)});
    run.expect_recovery();
  }
}

// Leaving out damaged files is no reason to leave out those that the disk does not give.
TEST_P(ImageFaults, AFailingDiskIsNoDamagedImage) {
  for (const char* const call : {"pread", "open"}) {
    const Outcome outcome =
        run.train_with(fault(call, call[0] == 'p' ? 30 : 10, 1, EIO), {"--bad-samples", "skip"});
    FaultyRun::expect_failure(outcome, {"photos/", std::strerror(EIO)});
  }
  run.expect_recovery();
}

INSTANTIATE_TEST_SUITE_P(Sources, ImageFaults, testing::Values(kSources[0]), [](const auto&) {
  return "Images";
});

}  // namespace
}  // namespace lowtide::e2e
