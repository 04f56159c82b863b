#include "train/evaluation.h"

#include <chrono>

#include "core/text.h"
#include "data/loader.h"
#include "memory/arena.h"
#include "train/batch_feed.h"
#include "train/fit/budget.h"
#include "train/fit/configuration.h"
#include "train/fit/plan_report.h"
#include "train/prepare/recipe.h"

namespace lowtide::train {
namespace {

// Sums over the data set.
struct Totals {
  double loss = 0;    // each batch's mean, times what it is a mean of
  double weight = 0;  // sum of what the batches' means are means of
  std::int64_t correct = 0;
  std::int64_t counted = 0;
};

std::vector<std::int64_t> batch_sizes(const Recipe& recipe) {
  const std::int64_t tail = recipe.dataset->samples() % recipe.batch;
  return tail == 0 ? std::vector{recipe.batch} : std::vector{recipe.batch, tail};
}

// Plans within the budget, settling what the process itself takes; returns the arena's size.
Bytes fit(Configuration& configuration, const Recipe& recipe, Bytes buffers, PlanReport& report) {
  const RuntimeNeeds needs = needs_of(configuration, buffers, recipe.machine);
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

void run_batch(const Configuration& configuration,
               const Loss& loss,
               const data::Batch& batch,
               Totals& totals) {
  const Unit& unit = configuration.units()[configuration.portions(batch.samples)[0].unit];
  std::int64_t counted = 0;
  const float normalizer = loss_normalizer(loss, batch, counted);
  feed_pass(unit, batch, 0, normalizer);
  unit.program->step({});
  if (normalizer > 0) {
    totals.loss += read_scalar<double>(unit, unit.pass.loss) / static_cast<double>(normalizer);
    totals.weight += 1.0 / static_cast<double>(normalizer);
  }
  totals.counted += counted;
  if (unit.pass.correct.valid()) {
    totals.correct += read_scalar<std::int64_t>(unit, unit.pass.correct);
  }
}

}  // namespace

EvalReport evaluate(const EvalSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  const Recipe recipe =
      settle(settings.model, settings.data, settings.loss, settings.machine, data::Split::kTest);
  data::Loader loader(*recipe.dataset,
                      data::Sampler(recipe.dataset->samples(), recipe.batch, {.shuffle = false}),
                      loader_targets(recipe));
  Configuration configuration =
      Configuration::for_evaluation(recipe, batch_sizes(recipe), plan::Policy::kKeep);
  PlanReport report;
  report.budget = settle_budget(settings.memory.budget);
  memory::Arena arena(fit(configuration, recipe, loader.buffer_bytes(), report));
  configuration.bind(arena.data());
  Totals totals;
  for (std::int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    run_batch(configuration, recipe.loss, loader.next(), totals);
  }
  EvalReport result;
  result.loss = totals.weight > 0 ? totals.loss / totals.weight : 0.0;
  result.samples = recipe.dataset->samples();
  result.budget = report.budget;
  if (recipe.loss.kind == LossKind::kCrossEntropy && totals.counted > 0) {
    result.metrics["accuracy"] =
        static_cast<double>(totals.correct) / static_cast<double>(totals.counted);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace lowtide::train
