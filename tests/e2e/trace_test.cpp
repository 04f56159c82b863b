// `train --trace`: where a step's time goes.
#include <gtest/gtest.h>

#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

Json read_json(const std::string& path) { return Json::parse(support::read_file(path)); }

double total_of(const Json& events, const std::string& category) {
  double sum = 0;
  for (const Json& event : events) {
    if (event.at("cat") == category) sum += event.at("dur").get<double>();
  }
  return sum;
}

TEST(Trace, HoldsEveryNodeOfAStepInOrder) {
  const Scene scene;
  const Outcome outcome =
      lowtide({"train", scene.small_network(), "--data", scene.images(), "--batch", "12", "--steps",
               "3", "--trace", scene / "trace.json", "-o", scene / "out.onnx"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("GFLOP/s"), std::string::npos) << outcome.out;
  const Json trace = read_json(scene / "trace.json");
  const Json& events = trace.at("traceEvents");
  ASSERT_FALSE(events.empty());
  double end = 0;
  for (const Json& event : events) {
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_GE(event.at("ts").get<double>(), end - 1e-3);
    EXPECT_FALSE(event.at("args").at("kernel").get<std::string>().empty());
    EXPECT_EQ(event.at("args").at("repetition"), 0);
    end = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  for (const char* const phase : {"forward", "loss", "backward", "update"}) {
    EXPECT_GT(total_of(events, phase), 0) << phase;
  }
  EXPECT_NEAR(trace.at("otherData").at("step_seconds").get<double>() * 1e6, end, 1);
  EXPECT_GT(trace.at("otherData").at("peak_flops_per_second").get<double>(), 1e8);
  EXPECT_GT(trace.at("otherData").at("peak_bytes_per_second").get<double>(), 1e7);
}

TEST(Trace, CoversEveryMicroBatchAndTheUpdate) {
  const Scene scene;
  const Outcome outcome =
      lowtide({"train", scene.small_network(), "--data", scene.images(), "--batch", "12",
               "--micro-batch", "4", "--steps", "1", "--trace", scene / "trace.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  int losses = 0;
  const Json trace = read_json(scene / "trace.json");
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("args").at("op") == "CrossEntropy") ++losses;
    EXPECT_EQ(event.at("args").at("repetition"), 0);
  }
  EXPECT_EQ(losses, 3);
}

TEST(Trace, ChangesNoWeight) {
  const Scene scene;
  const Words run = {scene.small_network(), "--data", scene.images(), "--steps", "4"};
  const Trained plain = train(scene, run, "plain.onnx");
  const Trained traced = train(scene, run + Words{"--trace", scene / "trace.json"}, "traced.onnx");
  EXPECT_EQ(plain.bytes, traced.bytes);
}

TEST(Trace, APlaceThatCannotBeWrittenIsKnownBeforeTraining) {
  const Scene scene;
  expect_refused(scene,
                 {"train", scene.small_network(), "--data", scene.images(), "--trace",
                  scene / "nowhere/trace.json"},
                 {"nowhere", "no folder"});
}

}  // namespace
}  // namespace lowtide::e2e
