// What only some golden cases can show: micro-batches, and ONNX's rule for running statistics.
#include <gtest/gtest.h>

#include "golden/case.h"

namespace lowtide::golden {
namespace {

class MicroBatches : public testing::TestWithParam<std::string> {};

TEST_P(MicroBatches, HoweverABatchIsCutTheNumbersAreThoseOfTheWhole) {
  const Case golden(GetParam());
  for (const char* const samples : {"1", "3", "4", "8"}) {
    SCOPED_TRACE(samples);
    const Trained run = golden.train({"--micro-batch", samples});
    EXPECT_EQ(run.result.at("micro_batch").get<int>(), std::stoi(samples));
    golden.expect_golden(run);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         MicroBatches,
                         testing::Values("a1_mlp", "a10_regression", "a11_groupnorm_accumulate"),
                         [](const auto& instance) { return instance.param; });

// The exporter wrote the batch into a Reshape of this file: no other size is tried, or taken.
TEST(FixedBatch, IsNotCut) {
  const Case golden("a2_convnet");
  EXPECT_GT(golden.smallest_budget({}), 0);
  EXPECT_EQ(golden.smallest_budget({}), golden.smallest_budget({"--micro-batch", "8"}));
  try {
    static_cast<void>(golden.train({"--micro-batch", "4"}));
    ADD_FAILURE() << "trained";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("node 'node_view'"), std::string::npos)
        << error.what();
  }
}

class RunningStatistics : public testing::TestWithParam<std::string> {};

TEST_P(RunningStatistics, FollowOnnxWhereAskedTo) {
  const Case golden(GetParam());
  golden.expect_golden(golden.train({"--running-stats", "onnx"}), "running_population");
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         RunningStatistics,
                         testing::Values("a3_resnet_bn",
                                         "a4_resnet_bn_dynamo",
                                         "a5_mobilenet",
                                         "a6_densenet",
                                         "a13_merged_initializers"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace lowtide::golden
