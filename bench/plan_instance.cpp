// plan_instance FILE.json [--json]: plans an instance for each of its budgets, with recomputation
// and variants as the only levers, and prints what it found.
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "core/json.h"
#include "instance.h"
#include "plan/bound/bound.h"
#include "plan/problem/timeline.h"
#include "plan/search/solve.h"

namespace lowtide::bench {
namespace {

using core::Json;

constexpr int kCuts = 24;

Json schedule(const plan::Timeline& line) {
  Json actions = Json::array();
  for (const plan::Timeline::Step& step : line.steps()) {
    actions.push_back({step.task.index(), line.variant(step.task)});
  }
  return actions;
}

Json plan_for(const Instance& instance, std::int64_t budget) {
  const plan::Problem& problem = instance.problem;
  const std::int64_t limit = budget - instance.persistent_bytes;
  const auto start = std::chrono::steady_clock::now();
  const plan::Choices choices = plan::solve(problem, limit);
  const double bound = plan::lower_bound(problem, limit, kCuts);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const plan::Timeline line(problem, choices);
  return {{"budget_bytes", budget},
          {"feasible", line.peak() <= limit},
          {"seconds", line.seconds()},
          {"lower_bound_seconds", bound},
          {"planning_seconds", taken.count()},
          {"peak_bytes", instance.persistent_bytes + line.peak()},
          {"recomputes", line.repetitions().size()},
          {"schedule", schedule(line)}};
}

int run(std::span<char*> arguments) {
  if (arguments.size() < 2 ||
      (arguments.size() > 2 && arguments[2] != std::string_view("--json"))) {
    std::fputs("usage: plan_instance FILE.json [--json]\n", stderr);
    return 2;
  }
  const Instance instance = read_instance(arguments[1]);
  Json plans = Json::array();
  for (const std::int64_t budget : instance.budgets) plans.push_back(plan_for(instance, budget));
  const double fastest = instance.problem.fastest_seconds();
  if (arguments.size() > 2) {
    const Json result = {{"name", instance.name}, {"fastest_seconds", fastest}, {"plans", plans}};
    std::puts(result.dump().c_str());
    return 0;
  }
  for (const Json& plan : plans) {
    const double extra = 100 * (plan.at("seconds").get<double>() / fastest - 1);
    const double bound = 100 * (plan.at("lower_bound_seconds").get<double>() / fastest - 1);
    std::printf("%s %14lld bytes: %+8.3f %% (at least %.3f %%), %lld recomputed, %.2f s%s\n",
                instance.name.c_str(), plan.at("budget_bytes").get<long long>(), extra, bound,
                plan.at("recomputes").get<long long>(), plan.at("planning_seconds").get<double>(),
                plan.at("feasible").get<bool>() ? "" : ", does not fit");
  }
  return 0;
}

}  // namespace
}  // namespace lowtide::bench

int main(int count, char** arguments) {
  try {
    return lowtide::bench::run({arguments, static_cast<std::size_t>(count)});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plan_instance: %s\n", error.what());
    return 1;
  }
}
