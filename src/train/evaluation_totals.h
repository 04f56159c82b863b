// EvaluationTotals: what a data set's batches add up to.
#pragma once

#include <cstdint>

#include "lowtide/infer.h"

#include "data/loader.h"
#include "train/fit/configuration.h"
#include "train/prepare/recipe.h"

namespace lowtide::train {

class EvaluationTotals {
 public:
  // Runs a batch through a bound evaluation unit of its size.
  void add(const Unit& unit, const Loss& loss, const data::Batch& batch);

  // Loss and metrics of all batches so far.
  [[nodiscard]] EvalReport report(const PassGraph& pass, const Loss& loss) const;

 private:
  double loss_ = 0;    // each batch's mean, times what it is a mean of
  double weight_ = 0;  // sum of what the batches' means are means of
  std::int64_t correct_ = 0;
  std::int64_t top_five_ = 0;
  std::int64_t counted_ = 0;
  double absolute_error_ = 0;  // summed as the loss is
};

}  // namespace lowtide::train
