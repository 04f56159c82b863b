#include "train/evaluation.h"

#include <chrono>
#include <cmath>
#include <map>
#include <string>

#include "core/text.h"
#include "data/loader.h"
#include "memory/arena.h"
#include "train/batch_feed.h"
#include "train/evaluation_totals.h"
#include "train/fit/budget.h"
#include "train/fit/configuration.h"
#include "train/fit/plan_report.h"
#include "train/prepare/data/open_data.h"
#include "train/prepare/recipe.h"
#include "train/prepare/settings/unread.h"

namespace lowtide::train {
namespace {

std::vector<std::int64_t> batch_sizes(const Recipe& recipe) {
  const std::int64_t tail = recipe.dataset->samples() % recipe.batch;
  return tail == 0 ? std::vector{recipe.batch} : std::vector{recipe.batch, tail};
}

// Plans within the budget, settling what the process itself takes; returns the arena's size.
Bytes fit(Configuration& configuration,
          const Recipe& recipe,
          const data::Loader& loader,
          PlanReport& report) {
  RuntimeNeeds needs = needs_of(configuration, loader.buffer_bytes(), recipe.machine);
  needs.threads += loader.threads() - 1;  // one is allowed for in any case
  report.runtime = settle_runtime(needs);
  report.smallest_feasible = smallest_budget(report.runtime, configuration.smallest_arena());
  const auto obstacle = configuration.fit(report.budget - report.runtime);
  report.fits = !obstacle.has_value();
  if (obstacle) {
    describe_obstacle(*obstacle, report);
    throw does_not_fit(report);
  }
  return configuration.arena_bytes();
}

}  // namespace

EvalReport evaluate(const EvalSettings& settings) {
  check_read(settings);
  const auto start = std::chrono::steady_clock::now();
  const Recipe recipe =
      settle(settings.model, settings.data, settings.loss, settings.machine, data::Split::kTest);
  data::Loader loader(
      *recipe.dataset, data::Sampler(recipe.dataset->samples(), recipe.batch, {.shuffle = false}),
      loader_targets(recipe, *recipe.dataset), loader_options(recipe, data::Split::kTest));
  Configuration configuration =
      Configuration::for_evaluation(recipe, batch_sizes(recipe), plan::Policy::kKeep);
  PlanReport report;
  report.budget = settle_budget(settings.memory.budget);
  memory::Arena arena(fit(configuration, recipe, loader, report), memory::Pages::kHuge);
  configuration.bind(arena.data());
  EvaluationTotals totals;
  for (std::int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    const data::Batch& batch = loader.next();
    totals.add(configuration.evaluation(batch.samples), recipe.loss, batch);
  }
  EvalReport result = totals.report(configuration.main().pass, recipe.loss);
  result.samples = recipe.dataset->samples();
  const std::span<const std::string> classes = recipe.dataset->class_names();
  result.classes = classes.empty() ? remembered_names(recipe.file, kClassesKey)
                                   : std::vector(classes.begin(), classes.end());
  result.budget = report.budget;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace lowtide::train
