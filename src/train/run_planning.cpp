// TrainingRun's plans, where they are not simply made: taken from a file, fitted again, written
// out.
#include <algorithm>

#include "core/text.h"
#include "train/fit/budget.h"
#include "train/fit/plan_report.h"
#include "train/fit/saved_plan.h"
#include "train/training_run.h"

namespace lowtide::train {

using core::fail;

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
  memory.policy = plan::name(configuration_->main().plan->policy);
  report_.costs = file.costs == "measured" ? "measured" : "model";
  report_.runtime = runtime(*configuration_);
  report_.smallest_feasible =
      std::max(smallest_budget(report_.runtime, configuration_->arena_bytes()), file.budget);
  report_.fits = report_.smallest_feasible <= report_.budget;
  if (!report_.fits) throw too_large_for_plan(report_.runtime);
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
    const Bytes needed = smallest_budget(runtime, configuration_->arena_bytes());
    if (needed > report_.budget) throw too_large_for_plan(runtime);
    return;
  }
  report_.smallest_feasible = smallest_budget(runtime, configuration_->smallest_arena());
  if (configuration_->fit(report_.budget - runtime)) {
    report_.fits = false;
    throw does_not_fit(report_);
  }
  describe_choice(recipe_, *configuration_, std::nullopt, settings_.memory, report_);
}

void TrainingRun::write_plan(std::ostream& stream) const {
  LT_CHECK(report_.fits, "there is a plan");
  plan::write_plan_file(stream, plan_file(recipe_, settings_, *configuration_, report_.costs,
                                          report_.budget, report_.runtime));
}

}  // namespace lowtide::train
