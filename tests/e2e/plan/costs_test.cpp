// `--costs` and `--cost-cache`: measured times change plans and never numbers.
#include <filesystem>

#include <gtest/gtest.h>

#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

class Costs : public testing::Test {
 protected:
  Scene scene;
  std::string model = scene.zoo({"wrn", "--depth", "16", "--width", "1", "--size", "24"});
  std::string data = scene.images({.samples = 44, .channels = 3, .size = 24, .classes = 10});
  std::string cache = scene / "costs.json";
  Words run = {model, "--data", data, "--batch", "16", "--cost-cache", cache};
};

TEST_F(Costs, AreTheModelsUntilSomethingIsMeasured) {
  EXPECT_EQ(plan(run).at("costs"), "model");
  EXPECT_FALSE(std::filesystem::exists(cache));
  EXPECT_EQ(plan(run + Words{"--costs", "measured"}).at("costs"), "measured");
  EXPECT_TRUE(std::filesystem::exists(cache));
  EXPECT_EQ(plan(run).at("costs"), "measured");
  EXPECT_EQ(plan(run + Words{"--costs", "model"}).at("costs"), "model");
  // Twice from one cache is the same to the bit.
  EXPECT_EQ(plan(run).at("predicted_seconds"), plan(run).at("predicted_seconds"));
}

TEST_F(Costs, DoNotMoveTheSmallestBudgetNorTheWeights) {
  const std::int64_t smallest = smallest_budget(run + Words{"--costs", "model"});
  const Words tight = {"--budget", std::to_string(smallest), "--steps", "2"};
  const Trained by_model = train(scene, run + tight + Words{"--costs", "model"}, "model.onnx");
  // Measures before training, within the budget.
  const Trained measured =
      train(scene, run + tight + Words{"--costs", "measured"}, "measured.onnx");
  EXPECT_EQ(measured.bytes, by_model.bytes);
  EXPECT_LE(measured.result.at("peak_rss_bytes").get<std::int64_t>(), smallest);
  EXPECT_EQ(smallest_budget(run), smallest);
  const Trained cached = train(scene, run + tight, "cached.onnx");
  EXPECT_EQ(cached.bytes, by_model.bytes);
  support::Folder spill;
  const Words here = {"--spill", spill.path().string(), "--momentum", "0.9"};
  const std::int64_t spilled = smallest_budget(run + here + Words{"--costs", "model"});
  const Words tighter = {"--budget", std::to_string(spilled), "--steps", "3"};
  EXPECT_EQ(train(scene, run + here + tighter + Words{"--costs", "measured"}, "a.onnx").bytes,
            train(scene, run + here + tighter + Words{"--costs", "model"}, "b.onnx").bytes);
}

TEST_F(Costs, OfMicroBatchesAreMeasuredToo) {
  const std::string lenet = scene.zoo({"lenet", "--channels", "3", "--size", "24"});
  Words arguments = run + Words{"--micro-batch", "3", "--steps", "2"};
  arguments.front() = lenet;
  const Trained measured = train(scene, arguments + Words{"--costs", "measured"}, "a.onnx");
  EXPECT_EQ(measured.bytes, train(scene, arguments + Words{"--costs", "model"}, "b.onnx").bytes);
  EXPECT_EQ(plan(arguments + Words{"--costs", "measured"}).at("costs"), "measured");
  EXPECT_EQ(plan(arguments).at("costs"), "measured");
}

TEST_F(Costs, ACacheThatIsRubbishIsNone) {
  for (const std::string& rubbish :
       {std::string(), std::string("{"), std::string("[]"), std::string(100000, '['),
        std::string("{\"format\":\"lowtide costs\",\"version\":1,\"seconds\":{\"a\":-1}}"),
        std::string("{\"format\":\"lowtide costs\",\"version\":1,\"seconds\":[1]}"),
        std::string("\0\xff\xfe", 3)}) {
    support::write_file(cache, rubbish);
    EXPECT_EQ(plan(run).at("costs"), "model");
  }
  EXPECT_EQ(plan(run + Words{"--costs", "measured"}).at("costs"), "measured");
  EXPECT_EQ(plan(run).at("costs"), "measured");
}

// Of as many kernels as the file may hold, a run takes in only its own.
TEST_F(Costs, ALargeCacheNeedsNoBudget) {
  const std::int64_t smallest = smallest_budget(run + Words{"--costs", "model"});
  ASSERT_EQ(plan(run + Words{"--costs", "measured"}).at("costs"), "measured");
  std::string text = support::read_file(cache);
  text.resize(text.rfind("}}"));
  for (int i = 0; text.size() < 12U * 1024 * 1024; ++i) {
    text += ",\n\"" + std::string(200, 'k') + std::to_string(i) + "\":0.5";
  }
  support::write_file(cache, text + "}}\n");
  EXPECT_EQ(plan(run).at("costs"), "measured");
  const Words tight = {"--budget", std::to_string(smallest), "--steps", "2"};
  EXPECT_LE(train(scene, run + tight).result.at("peak_rss_bytes").get<std::int64_t>(), smallest);
}

TEST_F(Costs, ACacheThatCannotBeWrittenIsANote) {
  Words arguments = run + Words{"--costs", "measured"};
  arguments[6] = "/dev/null/costs.json";
  const Json planned = plan(arguments);
  EXPECT_EQ(planned.at("costs"), "measured");
  EXPECT_NE(planned.at("notes").dump().find("/dev/null/costs.json"), std::string::npos);
}

TEST_F(Costs, AnUnknownSourceIsWrongUsage) {
  EXPECT_EQ(lowtide(Words{"plan"} + run + Words{"--costs", "guessed"}).exit_code, 2);
}

}  // namespace
}  // namespace lowtide::e2e
