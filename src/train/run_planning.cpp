// TrainingRun's plans: made for the best micro-batch size, taken from a file, fitted again, written
// out; and what a checkpoint says to them.
#include <algorithm>

#include "core/text.h"
#include "kernels/dnnl/engine.h"
#include "plan/explain/explain.h"
#include "train/fit/budget.h"
#include "train/fit/measured_costs.h"
#include "train/fit/plan_report.h"
#include "train/plans/saved_plan.h"
#include "train/plans/sweep.h"
#include "train/training_run.h"

namespace lowtide::train {

using core::fail;

// Looks at every size, so that the smallest feasible budget does not depend on the one asked for;
// except at those that can neither lower that nor be faster, whatever their plans are.
void TrainingRun::choose_configuration() {
  std::optional<std::int64_t> best;
  double best_seconds = 0;
  std::optional<plan::Infeasible> obstacle;
  Bytes smallest;
  for (const std::int64_t size : micro_batches()) {
    if (smallest != Bytes() && !tier_) {
      std::optional<Configuration> next = configuration_of(size);
      const Configuration::Least least = next->least();
      const Bytes needed = smallest_budget(runtime(*next), least.arena);
      const bool slow = needed > report_.budget || (best && least.seconds >= best_seconds);
      const bool passed_over = slow && needed >= smallest;
      if (!passed_over) configuration_.emplace(*std::move(next));
      next.reset();
      kernels::forget_unused();
      if (passed_over) continue;
    } else {
      configure(size);
    }
    const Bytes other = runtime(*configuration_);
    const Bytes needed = smallest_budget(other, configuration_->smallest_arena());
    if (smallest == Bytes() || needed < smallest) smallest = needed;
    if (needed > report_.budget) {
      if (!obstacle || needed == smallest) obstacle = configuration_->fit(report_.budget - other);
      continue;
    }
    LT_CHECK(!configuration_->fit(report_.budget - other), "what is large enough must fit");
    const double seconds = configuration_->predicted_seconds();
    if (!best || seconds < best_seconds) {
      best = size;
      best_seconds = seconds;
    }
  }
  report_.smallest_feasible = smallest;
  if (best && configuration_->micro_batch() != *best) {
    configure(*best);
    configuration_->fit(report_.budget - runtime(*configuration_));
  }
  report_.fits = best.has_value();
  report_.runtime = runtime(*configuration_);
  settle_checkpoints();
  describe_choice(recipe_, *configuration_, obstacle, settings_.memory, report_);
}

void TrainingRun::obey_plan() {
  MemorySettings& memory = settings_.memory;
  const std::string name = memory.plan.string();
  const plan::PlanFile file = plan::read_plan_file(memory.plan);
  const Bytes found = settle_budget(memory.budget);
  report_.budget = memory.budget ? found : std::min(found, file.budget);
  if (report_.budget < file.budget) {
    throw fail(ErrorCode::kDoesNotFit,
               "{}: was made for a budget of {} ({} bytes), this run has {} ({} bytes); plan again "
               "for less",
               name, file.budget.str(), file.budget.count(), report_.budget.str(),
               report_.budget.count());
  }
  configure(micro_batch_of(file, name, recipe_, settings_));
  obey(file, name, *configuration_);
  if (configuration_->spill_bytes() > Bytes(0) && !spill_) {
    throw fail(ErrorCode::kInvalidArgument,
               "{}: moves tensors to a spill file and needs --spill DIR", name);
  }
  if (memory.spill_limit && configuration_->spill_bytes() > *memory.spill_limit) {
    throw fail(ErrorCode::kInvalidArgument,
               "{}: needs a spill file of {}, beyond the --spill-limit of {}", name,
               configuration_->spill_bytes().str(), memory.spill_limit->str());
  }
  const std::string policy(plan::name(configuration_->main().plan->policy));
  if (memory.policy != policy && memory.policy != MemorySettings().policy) {
    throw fail(ErrorCode::kInvalidArgument,
               "{}: is a plan for another run: --policy was {} there and is {} here", name, policy,
               memory.policy);
  }
  memory.policy = policy;
  report_.costs = file.costs == "measured" ? "measured" : "model";
  report_.runtime = runtime(*configuration_);
  report_.smallest_feasible =
      std::max(report_.runtime + configuration_->arena_bytes(), file.budget);
  report_.fits = report_.smallest_feasible <= report_.budget;
  if (!report_.fits) throw too_large_for_plan(report_.runtime);
  settle_checkpoints();
  describe_choice(recipe_, *configuration_, std::nullopt, memory, report_);
}

Error TrainingRun::too_large_for_plan(Bytes runtime) const {
  return fail(ErrorCode::kDoesNotFit,
              "{}: its arena of {} and the {} that the process itself takes do not fit the budget "
              "of {}; plan again",
              settings_.memory.plan.string(), configuration_->arena_bytes().str(), runtime.str(),
              report_.budget.str());
}

void TrainingRun::fit_beside(Bytes runtime) {
  report_.runtime = runtime;
  if (!settings_.memory.plan.empty()) {
    if (runtime + configuration_->arena_bytes() > report_.budget) throw too_large_for_plan(runtime);
    return;
  }
  report_.smallest_feasible = smallest_budget(runtime, configuration_->smallest_arena());
  if (configuration_->fit(report_.budget - runtime)) {
    report_.fits = false;
    throw does_not_fit(report_);
  }
  describe_choice(recipe_, *configuration_, std::nullopt, settings_.memory, report_);
}

void TrainingRun::use_cached_costs() {
  if (!report_.fits || settings_.memory.costs == "model") return;
  std::optional<std::vector<plan::Costs>> costs =
      cached_costs(*configuration_, cost_scope(recipe_.machine), cost_cache_);
  if (costs) use_costs(*std::move(costs));
}

void TrainingRun::measure_if_asked() {
  constexpr double kMostSeconds = 60;
  const bool asked = settings_.memory.costs == "measured" && settings_.memory.plan.empty();
  if (!asked || !report_.fits || report_.costs == "measured") return;
  settle_memory();
  measure(kMostSeconds);
}

// Before training there are a few seconds for it.
bool TrainingRun::measure_to_train() {
  constexpr double kMostSeconds = 3;
  constexpr double kCheapStep = 1;  // seconds of a step, by the model
  const MemorySettings& memory = settings_.memory;
  const bool wanted = memory.plan.empty() && memory.costs != "model";
  const bool dear = memory.costs == "auto" && configuration_->predicted_seconds() > kCheapStep;
  if (!wanted || dear || report_.costs == "measured") return false;
  measure(kMostSeconds);
  return true;
}

// Another plan may need more of the process than the one that was measured.
bool TrainingRun::settle_memory() {
  bool changed = false;
  while (true) {
    const Bytes used = settle_runtime(needs(*configuration_));
    if (used <= report_.runtime) return changed;
    fit_beside(used);
    changed = true;
  }
}

void TrainingRun::measure(double seconds) {
  if (spill_) spill_->reserve(configuration_->spill_bytes(), configuration_->transfers());
  Measurement measured;
  {
    memory::Arena arena(configuration_->arena_bytes(), memory::Pages::kHuge);
    measured = measure_costs(*configuration_, arena, spill_ ? &*spill_ : nullptr, seconds,
                             cost_scope(recipe_.machine));
  }
  if (spill_) spill_.emplace(settings_.memory.spill);  // training begins with a file of zeros
  if (measured.measured < measured.kernels) {
    recipe_.notes.push_back(
        core::text("of {} nodes, {} were measured in {} s; the times of the "
                   "others are the model's, scaled as those were",
                   measured.kernels, measured.measured, seconds));
  }
  if (!cost_cache_.add(measured.seconds)) {
    recipe_.notes.push_back(core::text("{}: cannot be written, so that measured costs are not kept",
                                       settings_.memory.cost_cache.string()));
  }
  use_costs(std::move(measured.costs));
}

void TrainingRun::use_costs(std::vector<plan::Costs> costs) {
  if (!configuration_->use_costs(std::move(costs))) {
    LT_CHECK(!configuration_->fit(report_.budget - report_.runtime),
             "what fits does not depend on costs");
  }
  report_.costs = "measured";
  describe_choice(recipe_, *configuration_, std::nullopt, settings_.memory, report_);
}

void TrainingRun::answer(const PlanQuestions& questions) {
  if (!report_.fits) return;
  report_.explanations.clear();
  report_.idle_tensors.clear();
  const Unit& main = configuration_->main();
  const graph::Graph& graph = main.pass.graph;
  for (const std::string& name : questions.explain) {
    report_.explanations.push_back(plan::explain(graph, main.costs, *main.plan, name));
  }
  if (questions.idle_tensors) {
    constexpr std::size_t kMost = 10;
    for (const plan::IdleTensor& tensor :
         plan::idle_at_peak(graph, main.costs, *main.plan, kMost)) {
      report_.idle_tensors.push_back({.name = graph.value(tensor.value).name,
                                      .bytes = tensor.bytes,
                                      .repeatable = tensor.repeatable,
                                      .again_seconds = tensor.again_seconds,
                                      .why = tensor.why});
    }
  }
  if (questions.sweep) report_.sweep = sweep(*configuration_, report_.runtime);
}

void TrainingRun::settle_checkpoints() {
  for (std::string& note : checkpoints_.settle(recipe_, settings_, *configuration_)) {
    recipe_.notes.push_back(std::move(note));
  }
}

void TrainingRun::write_plan(std::ostream& stream) const {
  LT_CHECK(report_.fits, "there is a plan");
  plan::write_plan_file(stream, plan_file(recipe_, settings_, *configuration_, report_.costs,
                                          report_.budget, report_.runtime));
}

}  // namespace lowtide::train
