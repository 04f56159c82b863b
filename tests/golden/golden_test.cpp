// Every golden case: numbers within the tolerance, and a file that is the model's own but for them.
#include <algorithm>

#include <gtest/gtest.h>

#include "golden/case.h"
#include "onnx/model_file.h"

namespace lowtide::golden {
namespace {

class Golden : public testing::TestWithParam<std::string> {
 protected:
  const Case golden{GetParam()};
  const std::string pass = std::to_string(golden.micro_batch());
};

TEST_P(Golden, TrainsLikeTheReference) {
  golden.expect_golden(golden.train({"--micro-batch", pass}));
}

TEST_P(Golden, TrainsLikeTheReferenceWithoutBeingToldThePasses) {
  golden.expect_golden(golden.train({}));
}

TEST_P(Golden, PoliciesAndBudgetsGiveTheSameBytes) {
  const std::vector<std::string> plain = {"--micro-batch", pass, "--policy", "keep"};
  const std::string kept = support::read_file(golden.train(plain).model);
  const std::int64_t smallest = golden.smallest_budget({"--micro-batch", pass});
  const std::vector<std::vector<std::string>> variants = {
      {"--policy", "chen"},
      {"--budget", std::to_string(smallest)},
      {"--budget", std::to_string(smallest * 3 / 2)},
  };
  for (std::vector<std::string> options : variants) {
    options.insert(options.end(), {"--micro-batch", pass});
    const Trained run = golden.train(options);
    EXPECT_TRUE(support::read_file(run.model) == kept) << options[0] << " " << options[1];
    EXPECT_LE(run.result.at("peak_rss_bytes").get<std::int64_t>(),
              run.result.at("budget_bytes").get<std::int64_t>());
  }
}

TEST_P(Golden, InstructionSetsAgree) {
  for (const char* const isa : {"avx2", "reference"}) {
    SCOPED_TRACE(isa);
    golden.expect_golden(golden.train({"--micro-batch", pass, "--isa", isa}));
  }
}

TEST_P(Golden, ThreadCountsAgree) {
  for (const char* const threads : {"1", "2"}) {
    SCOPED_TRACE(threads);
    golden.expect_golden(golden.train({"--micro-batch", pass, "--threads", threads}));
  }
}

TEST_P(Golden, TheTrainedFileKeepsInterfaceNamesAndOpset) {
  const onnx::ModelFile before = onnx::parse_file(golden.model());
  const onnx::ModelFile after = onnx::parse_file(golden.train({}).model);
  const auto names = [](const auto& list) {
    std::vector<std::string> result;
    for (const auto& entry : list) result.push_back(entry.name);
    return result;
  };
  EXPECT_EQ(names(after.graph.inputs), names(before.graph.inputs));
  EXPECT_EQ(names(after.graph.outputs), names(before.graph.outputs));
  EXPECT_EQ(after.opsets, before.opsets);
  EXPECT_EQ(after.ir_version, before.ir_version);
  ASSERT_EQ(after.graph.nodes.size(), before.graph.nodes.size());
  for (std::size_t i = 0; i < after.graph.nodes.size(); ++i) {
    EXPECT_EQ(after.graph.nodes[i].name, before.graph.nodes[i].name);
    EXPECT_EQ(after.graph.nodes[i].type, before.graph.nodes[i].type);
    EXPECT_EQ(after.graph.nodes[i].outputs[0], before.graph.nodes[i].outputs[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(case_names()), [](const auto& instance) {
  return instance.param;
});

}  // namespace
}  // namespace lowtide::golden
