// `plan --sweep`, `--explain` and the baselines: policies side by side, and each of them trains the
// same network.
#include <sstream>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

const Words kPolicies = {"lowtide",    "keep",       "chen",         "no-bn",
                         "residual-1", "residual-2", "superneurons", "dtr"};

// What a report shows, as its script reads it.
Json page_data(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = html.find(open) + open.size();
  return Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

class Compared : public testing::Test {
 protected:
  Scene scene;
  std::string model = scene.zoo({"wrn", "--depth", "16", "--width", "1", "--size", "24"});
  std::string data = scene.images({.samples = 32, .channels = 3, .size = 24, .classes = 10});
  Words run = {model, "--data", data, "--batch", "32", "--costs", "model"};
};

TEST_F(Compared, EveryPolicyTrainsToTheSameBytesWithinItsSmallestBudget) {
  const Words options = {"--steps", "2", "--momentum", "0.9"};
  const Trained kept = train(scene, run + options + Words{"--policy", "keep"}, "keep.onnx");
  const Json sweep = plan(run + Words{"--momentum", "0.9", "--sweep"}).at("sweep").at("curves");
  for (const Json& curve : sweep) {
    const auto policy = curve.at("policy").get<std::string>();
    const auto smallest = curve.at("smallest_feasible_bytes").get<std::int64_t>();
    const Words budget = {"--policy", policy, "--budget", std::to_string(smallest)};
    const Trained trained = train(scene, run + options + budget, policy + ".onnx");
    EXPECT_EQ(trained.bytes, kept.bytes) << policy;
    EXPECT_LE(trained.result.at("peak_rss_bytes").get<std::int64_t>(), smallest) << policy;
    EXPECT_EQ(trained.result.at("plan").at("policy"), policy);
    if (policy != "keep") {
      EXPECT_GT(trained.result.at("plan").at("recomputed").get<int>(), 0) << policy;
    }
  }
}

TEST_F(Compared, ThePlanSaysWhatItTakesOverKeepingAllAndOverTheBound) {
  const Words options = run + Words{"--policy", "lowtide"};
  const Json kept = plan(options);
  EXPECT_EQ(kept.at("recomputed"), 0);
  EXPECT_NEAR(kept.at("predicted_seconds").get<double>() / kept.at("keep_seconds").get<double>(), 1,
              1e-3);
  EXPECT_NE(lowtide(Words{"plan"} + options).out.find(", 0.0 % over keeping all\n"),
            std::string::npos);
  const Words tight = options + Words{"--budget", std::to_string(smallest_budget(options))};
  const Json small = plan(tight);
  const auto percent_over = [&](const std::string& what) {
    return core::text(
        "{:.1f} % over ",
        100 * (small.at("predicted_seconds").get<double>() / small.at(what).get<double>() - 1));
  };
  EXPECT_GT(small.at("predicted_seconds"), kept.at("predicted_seconds"));
  EXPECT_EQ(small.at("keep_seconds"), kept.at("keep_seconds"));
  const Outcome text = lowtide(Words{"plan"} + tight);
  for (const std::string& part : {percent_over("keep_seconds") + "keeping all, ",
                                  percent_over("lower_bound_seconds") + "what no plan can beat"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << " in " << text.out;
  }
}

TEST_F(Compared, TheSweepIsWhatPlanSaysAtEachBudget) {
  const Json planned = plan(run + Words{"--sweep"});
  const Json& sweep = planned.at("sweep");
  ASSERT_EQ(sweep.at("curves").size(), kPolicies.size());
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    const Json& curve = sweep.at("curves")[i];
    EXPECT_EQ(curve.at("policy"), kPolicies[i]);
    const Json& points = curve.at("points");
    ASSERT_FALSE(points.empty()) << kPolicies[i];
    EXPECT_EQ(points.front().at("budget_bytes"), curve.at("smallest_feasible_bytes"));
    for (const std::size_t at : {std::size_t{0}, points.size() / 2}) {
      const Json& point = points[at];
      const Json alone =
          plan(run + Words{"--policy", kPolicies[i], "--budget", point.at("budget_bytes").dump()});
      EXPECT_EQ(alone.at("arena_bytes"), point.at("arena_bytes"));
      EXPECT_EQ(alone.at("predicted_seconds"), point.at("predicted_seconds"));
      EXPECT_EQ(alone.at("recomputed"), point.at("recomputed"));
    }
    double before = 1e9;
    for (const Json& point : points) {
      EXPECT_LE(point.at("predicted_seconds").get<double>(), before);
      EXPECT_LE(point.at("recomputed_seconds").get<double>(),
                point.at("predicted_seconds").get<double>());
      EXPECT_LE(point.at("share_of_keep").get<double>(), 1.0);
      before = point.at("predicted_seconds").get<double>();
    }
  }
  const Outcome text = lowtide(Words{"plan"} + run + Words{"--sweep"});
  for (const std::string& policy : kPolicies) {
    EXPECT_NE(text.out.find(policy), std::string::npos) << text.out;
  }
}

TEST_F(Compared, ExplainsNodesAndTensors) {
  const std::int64_t smallest = smallest_budget(run);
  const Words tight = run + Words{"--budget", std::to_string(smallest)};
  const Outcome outcome = lowtide(Words{"plan"} + tight + Words{"--explain", "conv1.weight"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* const part : {"tensor 'conv1.weight'", "float32", "parameter", "--spill"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  const Json json = plan(tight + Words{"--explain", "group1.0.conv2"});
  EXPECT_NE(json.at("explanations").at("group1.0.conv2").get<std::string>().find("Conv"),
            std::string::npos);
  expect_refused(scene, Words{"plan"} + run + Words{"--explain", "no such thing"},
                 {"no node or tensor of the plan is named 'no such thing'"});
}

TEST_F(Compared, TheReportIsOnePageWithoutTheNetwork) {
  support::Folder spill;
  const std::string page = scene / "plan.html";
  const Words options = {"--budget", std::to_string(smallest_budget(run)), "--report", page};
  ASSERT_EQ(lowtide(Words{"plan"} + run + options).exit_code, 0);
  const std::string plan_page = support::read_file(page);
  ASSERT_EQ(lowtide(Words{"train"} + run + options + Words{"--steps", "3"}).exit_code, 0);
  const std::string train_page = support::read_file(page);
  for (const std::string& html : {plan_page, train_page}) {
    EXPECT_EQ(html.rfind("<!doctype html>", 0), 0U);
    EXPECT_EQ(html.find("@DATA@"), std::string::npos);
    for (const char* const outside : {"http://", "https://", "src=", "<link", "@import", "url("}) {
      const std::size_t at = html.find(outside);
      // The one address is the name of a vocabulary, which is not fetched.
      EXPECT_TRUE(at == std::string::npos || html.compare(at, 25, "http://www.w3.org/2000/sv") == 0)
          << outside << " at " << at;
    }
    const Json shown = page_data(html);
    EXPECT_EQ(shown.at("plan").at("format"), "lowtide plan");
    EXPECT_EQ(shown.at("sweep").at("curves").size(), kPolicies.size());
    EXPECT_EQ(shown.at("tensors").size(), 10U);
    EXPECT_EQ(shown.at("log").is_null(), html == plan_page);
  }
}

TEST_F(Compared, TheReportHasTheCurvesOfTrainingAndValidation) {
  const std::string page = scene / "run.html";
  const std::string log = scene / "log.jsonl";
  ASSERT_EQ(lowtide(Words{"train"} + run +
                    Words{"--val-split", "0.3", "--steps", "5", "--eval-every", "2", "--report",
                          page, "--log", log})
                .exit_code,
            0);
  const Json curves = page_data(support::read_file(page)).at("log");
  std::istringstream lines(support::read_file(log));
  Json expected = {{"step", Json::array()}, {"loss", Json::array()}, {"accuracy", Json::array()}};
  std::size_t steps = 0;
  for (std::string line; std::getline(lines, line); ++steps) {
    const Json step = Json::parse(line);
    EXPECT_EQ(curves["loss"].at(steps), step["loss"]);
    EXPECT_EQ(curves["step"].at(steps), step["step"]);
    if (!step.contains("val_loss")) continue;
    expected["step"].push_back(step["step"]);
    expected["loss"].push_back(step["val_loss"]);
    expected["accuracy"].push_back(step["val_accuracy"]);
  }
  EXPECT_EQ(steps, 5U);
  EXPECT_EQ(expected["step"], Json({2, 4, 5}));
  EXPECT_EQ(curves["validation"]["step"], expected["step"]);
  EXPECT_EQ(curves["validation"]["loss"], expected["loss"]);
  EXPECT_EQ(curves["validation"]["metrics"]["accuracy"], expected["accuracy"]);
}

}  // namespace
}  // namespace lowtide::e2e
