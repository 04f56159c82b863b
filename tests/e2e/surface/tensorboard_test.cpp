// Event files for TensorBoard: every step once, with the numbers of the log.
#include <filesystem>

#include <gtest/gtest.h>

#include "e2e/scene.h"
#include "e2e/surface/event_files.h"

namespace lowtide::e2e {
namespace {

class EventFiles : public testing::Test {
 protected:
  // Trains without an end in an error; the log goes to `log`.
  void run(const Words& more) const {
    const Outcome outcome =
        lowtide(Words{"train", model, "--data", data, "--val-split", "0.25", "--batch", "8", "--lr",
                      "0.1", "--eval-every", "2", "--tensorboard", folder, "--log", log} +
                more);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // Each chart has the steps of the log that hold its number, once and in order.
  void expect_shows_the_log() const {
    Series expected;
    std::istringstream lines(support::read_file(log));
    for (std::string line; std::getline(lines, line);) {
      const Json step = Json::parse(line);
      for (const std::string& chart : charts) {
        const std::string key = key_of(chart);
        if (!step.contains(key)) continue;
        expected[chart].emplace_back(step["step"].get<std::int64_t>(), step[key].get<float>());
      }
    }
    const Series shown = read_event_folder(folder);
    for (const std::string& chart : charts) {
      ASSERT_TRUE(shown.contains(chart)) << chart;
      EXPECT_EQ(shown.at(chart), expected[chart]) << chart;
      EXPECT_FALSE(expected[chart].empty()) << chart;
    }
  }

  static std::string key_of(const std::string& chart) {
    if (chart == "train/resident_bytes") return "rss_bytes";
    if (chart.starts_with("train/")) return chart.substr(6);
    return "val_" + chart.substr(chart.find('/') + 1);
  }

  Scene scene;
  std::string model = scene.small_network();
  std::string data = scene.images({.samples = 24});
  std::string folder = scene / "runs/first";
  std::string log = scene / "log.jsonl";
  Words charts = {"train/loss",           "train/lr",        "train/grad_norm",
                  "train/resident_bytes", "validation/loss", "validation/accuracy"};
};

TEST_F(EventFiles, HoldEveryStepOfTheLog) {
  run({"--steps", "5"});
  ASSERT_EQ(files().size(), 1U);
  const std::string name = std::filesystem::path(files()[0]).filename().string();
  EXPECT_EQ(name.rfind("events.out.tfevents.", 0), 0U) << name;
  const std::vector<Event> events = read_events(files()[0]);
  ASSERT_EQ(events.size(), 7U);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_EQ(events[1].session, 1);
  EXPECT_EQ(events[1].step, 1);
  EXPECT_GT(events[2].wall_time, 1.7e9);
  EXPECT_GT(events[2].scalars.at("train/samples_per_second"), 0);
  EXPECT_GE(events[2].scalars.at("train/accuracy"), 0);
  EXPECT_EQ(events[2].scalars.count("validation/loss"), 0U);
  EXPECT_EQ(events[3].scalars.count("validation/loss"), 1U);
  expect_shows_the_log();
}

// The run goes on from before its last step: that step and the ones behind it are taken back.
TEST_F(EventFiles, OfARunThatGoesOnShowEachStepOnce) {
  const std::string checkpoint = scene / "run.safetensors";
  run({"--steps", "6", "--checkpoint", checkpoint, "--checkpoint-every", "4"});
  run({"--steps", "8", "--weight-decay", "0.1", "--resume", checkpoint + ".1"});
  ASSERT_EQ(files().size(), 2U);
  EXPECT_EQ(read_events(files()[1])[1].step, 5);
  expect_shows_the_log();
}

TEST_F(EventFiles, OfANewRunTakeThePlaceOfAnOlderOne) {
  run({"--steps", "6"});
  run({"--steps", "3", "--weight-decay", "0.1"});
  expect_shows_the_log();
}

// A clock that was set back, or two runs within a second.
TEST_F(EventFiles, SortBehindThoseThatAreThere) {
  std::filesystem::create_directories(folder);
  const std::string later = folder + "/events.out.tfevents.4102444800.elsewhere.1";
  support::write_file(later, "");
  support::write_file(folder + "/events.out.tfevents.of-another-kind", "");
  run({"--steps", "2"});
  run({"--steps", "2"});
  ASSERT_EQ(files().size(), 4U);
  EXPECT_EQ(files()[0], later);
  EXPECT_EQ(files()[1].rfind(folder + "/events.out.tfevents.4102444801.", 0), 0U) << files()[1];
  EXPECT_EQ(files()[2].rfind(folder + "/events.out.tfevents.4102444802.", 0), 0U) << files()[2];
}

TEST_F(EventFiles, AreRefusedWhereNoFolderCanBe) {
  support::write_file(scene / "file", "");
  expect_refused(scene,
                 {"train", model, "--data", data, "--steps", "1", "--tensorboard", scene / "file"},
                 {scene / "file", "cannot"});
}

}  // namespace
}  // namespace lowtide::e2e
