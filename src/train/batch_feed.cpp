#include "train/batch_feed.h"

namespace lowtide::train {

std::vector<data::Target> loader_targets(const Recipe& recipe, const data::Dataset& dataset) {
  const auto same_field = [&](std::size_t field) {
    return dataset.index(recipe.dataset->fields()[field].name);
  };
  std::vector<data::Target> targets;
  for (const Feed& feed : recipe.feeds) {
    targets.push_back({.field = same_field(feed.field),
                       .dtype = feed.dtype,
                       .normalization = feed.normalization});
    if (feed.rows) targets.back().indices = data::indices_of(*feed.rows);
  }
  data::Target labels{.field = same_field(recipe.label_field), .dtype = core::DType::kFloat32};
  if (recipe.loss.kind == LossKind::kCrossEntropy) {
    labels.dtype = core::DType::kInt64;
    labels.labels =
        data::IntegerRange{.end = recipe.loss.classes, .ignored = recipe.loss.ignore_index};
  }
  labels.check_shares = recipe.loss.kind == LossKind::kBinaryCrossEntropy ||
                        recipe.loss.kind == LossKind::kProbabilityBinaryCrossEntropy;
  targets.push_back(labels);
  return targets;
}

data::LoaderOptions loader_options(const Recipe& recipe, data::Split purpose) {
  return {.in_epochs = purpose == data::Split::kTrain, .readers = recipe.machine.threads};
}

void feed_pass(const Unit& unit, const data::Batch& batch, std::int64_t first, float normalizer) {
  const auto copy = [&](graph::ValueId value, std::span<const std::byte> array) {
    const std::span<std::byte> place = unit.program->bytes(value);
    if (place.empty()) return;  // an input that nothing reads
    const std::size_t sample_bytes = place.size() / static_cast<std::size_t>(unit.pass.samples);
    std::memcpy(place.data(), array.data() + static_cast<std::size_t>(first) * sample_bytes,
                place.size());
  };
  for (std::size_t i = 0; i < unit.pass.inputs.size(); ++i) {
    copy(unit.pass.inputs[i], batch.arrays[i]);
  }
  copy(unit.pass.labels, batch.arrays.back());
  std::memcpy(unit.program->bytes(unit.pass.normalizer).data(), &normalizer, sizeof(float));
}

float loss_normalizer(const Loss& loss, const data::Batch& batch, std::int64_t& counted) {
  const std::span<const std::byte> array = batch.arrays.back();
  if (loss.kind != LossKind::kCrossEntropy) {
    counted = static_cast<std::int64_t>(array.size() / sizeof(float));
    return static_cast<float>(1.0 / static_cast<double>(counted));
  }
  const auto* const labels = reinterpret_cast<const std::int64_t*>(array.data());
  double sum = 0;
  counted = 0;
  for (std::size_t i = 0; i < array.size() / sizeof(std::int64_t); ++i) {
    if (loss.ignore_index && labels[i] == *loss.ignore_index) continue;
    ++counted;
    sum += loss.class_weights.empty()
               ? 1.0
               : static_cast<double>(loss.class_weights[static_cast<std::size_t>(labels[i])]);
  }
  return sum > 0 ? static_cast<float>(1.0 / sum) : 0.0F;
}

void add_results(const Unit& unit, StepReport& report) {
  const PassGraph& pass = unit.pass;
  if (pass.loss.valid()) report.loss += read_scalar<double>(unit, pass.loss);
  if (pass.correct.valid()) report.correct += read_scalar<std::int64_t>(unit, pass.correct);
  if (pass.top_five.valid()) {
    report.top_five = report.top_five.value_or(0) + read_scalar<std::int64_t>(unit, pass.top_five);
  }
  if (pass.absolute_error.valid()) {
    report.absolute_error =
        report.absolute_error.value_or(0) + read_scalar<double>(unit, pass.absolute_error);
  }
  if (pass.grad_norm.valid()) {
    report.grad_norm = static_cast<double>(read_scalar<float>(unit, pass.grad_norm));
  }
}

}  // namespace lowtide::train
