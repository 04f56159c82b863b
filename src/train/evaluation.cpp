#include "train/evaluation.h"

#include <chrono>
#include <cmath>
#include <map>
#include <string>

#include "core/text.h"
#include "data/loader.h"
#include "memory/arena.h"
#include "train/batch_feed.h"
#include "train/fit/budget.h"
#include "train/fit/configuration.h"
#include "train/fit/plan_report.h"
#include "train/prepare/data/open_data.h"
#include "train/prepare/recipe.h"

namespace lowtide::train {
namespace {

// Sums over the data set.
struct Totals {
  double loss = 0;    // each batch's mean, times what it is a mean of
  double weight = 0;  // sum of what the batches' means are means of
  std::int64_t correct = 0;
  std::int64_t top_five = 0;
  std::int64_t counted = 0;
  double absolute_error = 0;  // summed as the loss is
};

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
    if (unit.pass.absolute_error.valid()) {
      totals.absolute_error +=
          read_scalar<double>(unit, unit.pass.absolute_error) / static_cast<double>(normalizer);
    }
  }
  totals.counted += counted;
  if (unit.pass.correct.valid()) {
    totals.correct += read_scalar<std::int64_t>(unit, unit.pass.correct);
  }
  if (unit.pass.top_five.valid()) {
    totals.top_five += read_scalar<std::int64_t>(unit, unit.pass.top_five);
  }
}

std::map<std::string, double> metrics_of(const Totals& totals,
                                         const PassGraph& pass,
                                         const Loss& loss) {
  std::map<std::string, double> metrics;
  const auto share = [&](std::int64_t hits) {
    return static_cast<double>(hits) / static_cast<double>(totals.counted);
  };
  if (pass.correct.valid() && totals.counted > 0) metrics["accuracy"] = share(totals.correct);
  if (pass.top_five.valid() && totals.counted > 0) {
    metrics["top_5_accuracy"] = share(totals.top_five);
  }
  if (totals.weight <= 0) return metrics;
  if (pass.absolute_error.valid()) metrics["mae"] = totals.absolute_error / totals.weight;
  const bool plain = loss.label_smoothing == 0 && loss.class_weights.empty();
  if (loss.next_tokens && plain) metrics["perplexity"] = std::exp(totals.loss / totals.weight);
  return metrics;
}

}  // namespace

EvalReport evaluate(const EvalSettings& settings) {
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
  memory::Arena arena(fit(configuration, recipe, loader, report));
  configuration.bind(arena.data());
  Totals totals;
  for (std::int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
    run_batch(configuration, recipe.loss, loader.next(), totals);
  }
  EvalReport result;
  result.loss = totals.weight > 0 ? totals.loss / totals.weight : 0.0;
  result.samples = recipe.dataset->samples();
  const std::span<const std::string> classes = recipe.dataset->class_names();
  result.classes = classes.empty() ? remembered_classes(recipe.file)
                                   : std::vector(classes.begin(), classes.end());
  result.budget = report.budget;
  result.metrics = metrics_of(totals, configuration.main().pass, recipe.loss);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace lowtide::train
