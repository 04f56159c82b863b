#include "train/fit/plan_report.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/text.h"

namespace lowtide::train {
namespace {

using core::text;
using graph::Role;

std::string_view role_name(const plan::Buffer& buffer, const graph::Graph& graph) {
  if (buffer.kind == plan::BufferKind::kScratch) return "workspaces";
  switch (graph.value(buffer.value).role) {
    case Role::kParameter: return "parameters";
    case Role::kStatistic: return "running statistics";
    case Role::kOptimizer: return "optimizer state";
    case Role::kConstant: return "constants";
    case Role::kGradient: return "gradients";
    case Role::kInput:
    case Role::kScalar: return "inputs";
    case Role::kActivation: break;
  }
  return "activations";
}

// Bytes by role at the step where the most are in use, largest first.
std::vector<BudgetShare> spent_at_peak(const Configuration& configuration) {
  const graph::Graph& graph = configuration.main().pass.graph;
  const plan::Plan& plan = *configuration.main().plan;
  std::map<std::string_view, Bytes> sums;
  for (const plan::Buffer& buffer : plan.buffers) {
    const bool in_use = buffer.first <= plan.peak_step && plan.peak_step <= buffer.last;
    if (buffer.kind == plan::BufferKind::kTransient || buffer.kind == plan::BufferKind::kScratch) {
      if (in_use) sums[role_name(buffer, graph)] += buffer.size;
    }
  }
  const StateLayout& state = configuration.state();
  const StatePlaces& places = configuration.places();
  sums["parameters"] += state.bytes(Role::kParameter, places);
  sums["optimizer state"] += state.bytes(Role::kOptimizer, places);
  sums["running statistics"] += state.bytes(Role::kStatistic, places);
  sums["constants"] += state.bytes(Role::kConstant, places);
  sums["fragmentation"] = plan.arena_bytes - plan.peak_live_bytes;
  std::vector<BudgetShare> result;
  for (const auto& [role, bytes] : sums) {
    if (bytes > Bytes()) result.push_back({std::string(role), bytes});
  }
  std::sort(result.begin(), result.end(),
            [](const BudgetShare& a, const BudgetShare& b) { return a.bytes > b.bytes; });
  return result;
}

void add_notes(const Recipe& recipe, const Configuration& configuration, PlanReport& report) {
  const PassGraph& pass = configuration.main().pass;
  report.notes = recipe.notes;
  report.notes.insert(report.notes.end(), pass.notes.begin(), pass.notes.end());
  std::map<std::string, int> split;
  for (const passes::Parameter& parameter : pass.parameters) {
    if (!parameter.split_from.empty()) ++split[parameter.split_from];
  }
  for (const auto& [name, count] : split) {
    report.notes.push_back(
        text("'{}' was merged by the exporter; its {} uses train apart", name, count));
  }
  if (pass.couples_samples && configuration.accumulates()) {
    report.notes.push_back(text("batch statistics are now those of each micro-batch of {} samples",
                                configuration.micro_batch()));
  }
}

// Of the whole state and of the main program.
void describe_spill(const Configuration& configuration, PlanReport& report) {
  const plan::Plan& plan = *configuration.main().plan;
  const graph::Graph& graph = configuration.main().pass.graph;
  report.spilled = static_cast<int>(plan.slots.size());
  report.spill_file = configuration.spill_bytes();
  report.spill_stored = plan::traffic(graph, plan, plan::Direction::kStore);
  report.spill_fetched = plan::traffic(graph, plan, plan::Direction::kFetch);
  report.stall_seconds = plan.stall_seconds;
}

}  // namespace

RuntimeNeeds needs_of(const Configuration& configuration,
                      Bytes buffers,
                      const core::Machine& machine) {
  return {.primitives = configuration.primitives(),
          .nodes = configuration.node_count(),
          .buffers = buffers,
          .threads = machine.threads};
}

void describe_obstacle(const plan::Infeasible& obstacle, PlanReport& report) {
  report.peak_node = obstacle.peak_node;
  report.spent.clear();
  for (const plan::Resident& resident : obstacle.residents) {
    report.spent.push_back({resident.name, resident.bytes});
  }
}

void describe_choice(const Recipe& recipe,
                     const Configuration& configuration,
                     const std::optional<plan::Infeasible>& obstacle,
                     const MemorySettings& memory,
                     PlanReport& report) {
  report.batch = recipe.batch;
  report.policy = memory.policy;
  report.micro_batch = configuration.micro_batch();
  add_notes(recipe, configuration, report);
  if (!report.fits) {
    if (obstacle) describe_obstacle(*obstacle, report);
    return;
  }
  const plan::Plan& plan = *configuration.main().plan;
  const graph::Graph& graph = configuration.main().pass.graph;
  report.arena = configuration.arena_bytes();
  report.kept = plan.kept;
  report.recomputed = plan.recomputed;
  describe_spill(configuration, report);
  report.fragmentation = plan.arena_bytes - plan.peak_live_bytes;
  report.predicted_seconds = configuration.predicted_seconds();
  report.keep_seconds = configuration.least().seconds;
  report.lower_bound_seconds = configuration.lower_bound_seconds();
  report.spent = spent_at_peak(configuration);
  if (!plan.steps.empty()) {
    report.peak_node = graph.node(plan.steps[static_cast<std::size_t>(plan.peak_step)].node).name;
  }
}

Error does_not_fit(const PlanReport& report) {
  std::string largest;
  for (const BudgetShare& share : report.spent) {
    if (!largest.empty()) largest += ", ";
    largest += text("{} ({})", share.role, share.bytes.str());
    if (largest.size() > 200) break;
  }
  std::string budget = report.budget.str();
  if (budget == report.smallest_feasible.str())
    budget += text(" ({} bytes)", report.budget.count());
  return core::fail(ErrorCode::kDoesNotFit,
                    "a budget of {} is too small: the smallest that works is {} ({} bytes); most "
                    "is in use at '{}': {}",
                    budget, report.smallest_feasible.str(), report.smallest_feasible.count(),
                    report.peak_node, largest);
}

}  // namespace lowtide::train
