// From a loaded batch to the inputs of a pass, and from its outputs back to numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "lowtide/trainer.h"

#include "data/loader.h"
#include "train/fit/configuration.h"
#include "train/prepare/recipe.h"

namespace lowtide::train {

// What a loader must deliver for the recipe: one array per feed, then the labels. `dataset` is the
// recipe's, or one with arrays of the same names: its validation data.
std::vector<data::Target> loader_targets(const Recipe& recipe, const data::Dataset& dataset);

// How a loader reads for training, with the data's random choices, or for evaluation, without.
data::LoaderOptions loader_options(const Recipe& recipe, data::Split purpose);

// Writes the pass's inputs: its samples of the batch, from `first` on, the labels, the normalizer.
void feed_pass(const Unit& unit, const data::Batch& batch, std::int64_t first, float normalizer);

// What the sum of losses of a whole batch is multiplied by to become its mean: 1 / elements, or
// for cross-entropy 1 / (sum of the weights of the labels that count), 0 where none does. Sets
// `counted` to the number of labels that count (of elements, without classes).
float loss_normalizer(const Loss& loss, const data::Batch& batch, std::int64_t& counted);

// Adds what a pass gave: its part of the loss and the metrics, and the norm of the gradients where
// this is the pass that updates.
void add_results(const Unit& unit, StepReport& report);

// A scalar output after a step.
template <class T>
T read_scalar(const Unit& unit, graph::ValueId value) {
  T result;
  std::memcpy(&result, unit.program->bytes(value).data(), sizeof(T));
  return result;
}

}  // namespace lowtide::train
