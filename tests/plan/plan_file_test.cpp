// Plan files: what is written reads back the same, and what anybody else wrote is refused or right.
#include "plan/file/plan_file.h"

#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "plan/execute.h"
#include "plan/file/names.h"
#include "plan/planner.h"
#include "plan/toy_net.h"
#include "support/hostile.h"

namespace lowtide::plan {
namespace {

FileProgram program(const ToyNet& net, const Plan& plan) {
  FileProgram result{.purpose = "train",
                     .samples = 4,
                     .digest = digest(net.graph, net.costs),
                     .values = {},
                     .nodes = {},
                     .plan = plan};
  for (std::size_t i = 0; i < net.graph.value_count(); ++i) {
    const graph::Value& value = net.graph.value(ValueId(i));
    result.values.push_back(
        {value.name, value.type.str(), std::string(name(value.role)), value.type.bytes()});
  }
  for (std::size_t i = 0; i < net.graph.node_count(); ++i) {
    const graph::Node& node = net.graph.node(NodeId(i));
    result.nodes.push_back({.name = node.name,
                            .op = std::string(node.op->name()),
                            .phase = std::string(name(node.phase)),
                            .kernel = "toy \"quoted\" \\ \x01 kernel",
                            .seconds = net.costs[NodeId(i)].seconds / 3,
                            .in = node.inputs,
                            .out = node.outputs});
  }
  return result;
}

PlanFile file_of(const ToyNet& net, const Plan& plan) {
  return {.settings = {{"batch", "4"}, {"micro-batch", "4"}},
          .costs = "model",
          .budget = Bytes(1) + plan.arena_bytes,
          .runtime = Bytes(1),
          .state = {{"w", Bytes(64), false, Bytes(0)}, {"m", Bytes(64), true, Bytes(4096)}},
          .programs = {program(net, plan), program(net, plan)}};
}

std::string written(const PlanFile& file) {
  std::ostringstream stream;
  write_plan_file(stream, file);
  return stream.str();
}

Plan smallest_plan(const ToyNet& net) {
  Planner planner(net.graph, net.costs, net.offsets, net.persistent_bytes(), Policy::kLowtide);
  return std::get<Plan>(planner.make(planner.smallest_arena()));
}

// With transfers.
Plan spilled_plan(const ToyNet& net) {
  const SpillTier tier{
      .rates = {1000, 2000}, .limit = Bytes(std::int64_t{1} << 40U), .smallest = Bytes(1)};
  Planner planner(net.graph, net.costs,
                  {Homes{.offsets = net.offsets, .arena_bytes = net.persistent_bytes()}},
                  Policy::kLowtide, tier);
  return std::get<Plan>(planner.make(planner.smallest_arena()));
}

std::string refusal(const std::string& text) {
  try {
    parse_plan_file(text, "plan.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
    return error.what();
  }
  return "accepted";
}

TEST(PlanFile, ReadsBackWhatWasWritten) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ToyNet net = random_net(seed);
    for (const Plan& plan : {smallest_plan(net), spilled_plan(net)}) {
      const PlanFile file = file_of(net, plan);
      const std::string text = written(file);
      const PlanFile again = parse_plan_file(text, "plan.json");
      EXPECT_EQ(written(again), text);
      EXPECT_EQ(to_text(net.graph, again.programs[1].plan), to_text(net.graph, plan));
      EXPECT_EQ(again.programs[0].plan.predicted_seconds, plan.predicted_seconds);
      EXPECT_EQ(again.programs[0].nodes[0].seconds, file.programs[0].nodes[0].seconds);
      EXPECT_EQ(net.check(again.programs[0].plan), std::vector<std::string>());
    }
  }
}

TEST(PlanFile, TheDigestSeesWhatAPlanReliesOn) {
  const ToyNet net = chain(4, 256);
  const std::string same = digest(net.graph, net.costs);
  EXPECT_EQ(digest(chain(4, 256).graph, net.costs), same);
  EXPECT_NE(digest(chain(4, 320).graph, net.costs), same);
  ToyNet other = net;
  other.costs[NodeId(1)].scratch += Bytes(64);
  EXPECT_NE(digest(other.graph, other.costs), same);
  other = net;
  other.graph.node(NodeId(1)).name += "x";
  EXPECT_NE(digest(other.graph, other.costs), same);
  other = net;
  std::swap(other.graph.node(NodeId(5)).inputs, other.graph.node(NodeId(3)).inputs);
  EXPECT_NE(digest(other.graph, other.costs), same);
  other = net;
  other.costs[NodeId(1)].seconds *= 2;  // not what a plan's rightness relies on
  EXPECT_EQ(digest(other.graph, other.costs), same);
}

TEST(PlanFile, SaysWhereItIsWrong) {
  const ToyNet net = chain(3, 256);
  const std::string good = written(file_of(net, smallest_plan(net)));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_EQ(refusal(""), "plan.json: is not JSON: at byte 1");
  EXPECT_EQ(refusal("[]"), "plan.json: expected an object, found array");
  EXPECT_EQ(refusal("{}"), "plan.json: has no field 'format'");
  EXPECT_EQ(refusal(with("lowtide plan", "other")),
            "plan.json: format: expected \"lowtide plan\", found \"other\"");
  EXPECT_EQ(refusal(with("\"version\":1", "\"version\":2")),
            "plan.json: version: expected 1, found 2");
  EXPECT_EQ(refusal(with("\"node\":0", "\"node\":-1")),
            "plan.json: programs[0].steps[0].node: expected a whole number from 0 to 2147483646, "
            "found -1");
  EXPECT_EQ(refusal(with("\"node\":0", "\"node\":4294967296")),
            "plan.json: programs[0].steps[0].node: expected a whole number from 0 to 2147483646, "
            "found 4294967296");
  EXPECT_EQ(refusal(with("\"node\":0", "\"node\":18446744073709551615")),
            "plan.json: programs[0].steps[0].node: expected a whole number from 0 to 2147483646, "
            "found 18446744073709551615");
  EXPECT_EQ(refusal(with("\"peak_step\":", "\"peak_step\":99")).substr(0, 32),
            "plan.json: programs[0].peak_step");
  EXPECT_EQ(refusal(with("\"kind\":\"transient\"", "\"kind\":\"solid\"")).substr(0, 31),
            "plan.json: programs[0].buffers[");
  EXPECT_EQ(refusal(with("\"predicted_seconds\":", "\"predicted_seconds\":1e999,\"x\":")),
            "plan.json: holds a number that is out of range");
  EXPECT_EQ(refusal(std::string(1'000'000, '[')).substr(0, 33),
            "plan.json: is not JSON: at byte 1");
}

// Whatever bytes change: reading refuses, or check does, or the plan is still right.
class Spoilt : public testing::TestWithParam<int> {};

TEST_P(Spoilt, IsRefusedOrRight) {
  std::mt19937 random(static_cast<unsigned>(100 * support::hostile_seed()) +
                      static_cast<unsigned>(GetParam()));
  const ToyNet net = random_net(static_cast<std::uint64_t>(GetParam()));
  const Results expected = evaluate(net.graph);
  const std::string good =
      written(file_of(net, GetParam() % 2 == 0 ? smallest_plan(net) : spilled_plan(net)));
  const std::vector<std::string> numbers = {
      "0", "1", "-1", "64", "2147483646", "2147483648", "1e18", "1e9", "[]", "1152921504606846976"};
  int refused = 0;
  int wrong = 0;
  const int rounds = support::hostile_rounds(1500);
  for (int i = 0; i < rounds; ++i) {
    const support::Patience patience(i);
    std::string text = good;
    const std::size_t at = random() % text.size();
    const std::size_t digit = text.find_first_of("0123456789", at);
    if (i % 3 == 0) {
      text[at] = static_cast<char>(random());
    } else if (i % 3 == 1 && digit != std::string::npos) {
      const std::size_t end = text.find_first_not_of("0123456789.e-", digit);
      text.replace(digit, end - digit, numbers[random() % numbers.size()]);
    } else {
      text.erase(at, random() % 40);
    }
    try {
      const PlanFile file = parse_plan_file(text, "spoilt");
      for (const FileProgram& program : file.programs) {
        // An arena or file that no machine has may be right, but cannot be run.
        constexpr Bytes kMost{1 << 20};
        if (program.plan.arena_bytes > kMost || program.plan.spill_bytes > kMost) continue;
        if (net.check(program.plan).empty()) {
          EXPECT_EQ(execute(net.graph, program.plan), expected) << "change " << i;
        } else {
          ++wrong;
        }
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(wrong, 20);
  EXPECT_LT(support::peak_memory(), Bytes(1 << 29));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Spoilt, testing::Range(0, 6));

}  // namespace
}  // namespace lowtide::plan
