#include "train/validation.h"

#include <charconv>
#include <chrono>

#include "core/text.h"
#include "train/batch_feed.h"
#include "train/evaluation_totals.h"

namespace lowtide::train {

Validation::Validation(const Recipe& recipe, std::int64_t batch)
    : recipe_(&recipe),
      loader_(*recipe.validation,
              data::Sampler(recipe.validation->samples(), batch, {.shuffle = false}),
              loader_targets(recipe, *recipe.validation),
              loader_options(recipe, data::Split::kTest)) {}

EvalReport Validation::run(const Configuration& configuration) {
  const auto start = std::chrono::steady_clock::now();
  EvaluationTotals totals;
  const Unit* unit = nullptr;
  for (std::int64_t i = 0; i < loader_.batches_per_epoch(); ++i) {
    const data::Batch& batch = loader_.next();
    unit = &configuration.evaluation(batch.samples);
    totals.add(*unit, recipe_->loss, batch);
  }
  EvalReport report = totals.report(unit->pass, recipe_->loss);
  report.samples = recipe_->validation->samples();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

CheckpointRecord standing_record(const Standing& standing) {
  if (standing.best_step < 0) return {};
  return {{"validation.best_loss", core::text("{}", standing.best_loss)},
          {"validation.best_step", core::text("{}", standing.best_step)},
          {"validation.since_best", core::text("{}", standing.since_best)}};
}

Standing standing_of(const CheckpointRecord& record) {
  const auto parsed = [&](const char* key, auto& value) {
    const auto found = record.find(key);
    if (found == record.end()) return false;
    const char* const end = found->second.data() + found->second.size();
    return std::from_chars(found->second.data(), end, value).ptr == end;
  };
  Standing standing;
  const bool whole = parsed("validation.best_loss", standing.best_loss) &&
                     parsed("validation.best_step", standing.best_step) &&
                     parsed("validation.since_best", standing.since_best);
  return whole ? standing : Standing();
}

}  // namespace lowtide::train
