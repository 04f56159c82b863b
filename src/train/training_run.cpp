#include "train/training_run.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>

#include "core/text.h"
#include "kernels/dnnl/engine.h"
#include "kernels/simd/peak.h"
#include "memory/resident.h"
#include "onnx/ties.h"
#include "onnx/write.h"
#include "optim/updates.h"
#include "train/batch_feed.h"
#include "train/fit/budget.h"
#include "train/fit/plan_report.h"
#include "train/numbers/anomaly_finder.h"
#include "train/plans/saved_plan.h"
#include "train/prepare/data/open_data.h"
#include "train/prepare/settings/unread.h"

namespace lowtide::train {
namespace {

using core::fail;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Some exporters write the batch into the shapes that the model reshapes to.
bool takes_any_batch(const Recipe& recipe) {
  try {
    build_model(recipe, 1);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

TrainingRun::TrainingRun(const TrainSettings& settings)
    : settings_(settings),
      checkpoints_(settings.checkpoint),
      recipe_(settle(settings.model,
                     settings.data,
                     settings.loss,
                     settings.machine,
                     data::Split::kTrain,
                     settings.seed)),
      cost_cache_(settings.memory.cost_cache) {
  const auto start = Clock::now();
  check_read(settings);
  const std::string& costs = settings_.memory.costs;
  if (costs != "auto" && costs != "model" && costs != "measured") {
    throw fail(ErrorCode::kInvalidArgument,
               "'{}' is no source of costs; choose auto, model or measured", costs);
  }
  std::int64_t& micro_batch = settings_.memory.micro_batch;
  // A batch is no larger than the data; what fits the one asked for fits it.
  if (micro_batch <= settings_.data.batch) micro_batch = std::min(micro_batch, recipe_.batch);
  micro_batch = checkpoints_.micro_batch(micro_batch, recipe_.batch);
  steps_done_ = checkpoints_.step();
  standing_ = standing_of(checkpoints_.resumed_record());
  settle_steps();
  open_spill();
  if (settings_.memory.plan.empty()) {
    report_.budget = settle_budget(settings_.memory.budget);
    std::string warning = budget_warning(report_.budget);
    if (!warning.empty()) recipe_.notes.push_back(std::move(warning));
    choose_configuration();
    use_cached_costs();
  } else {
    obey_plan();
  }
  report_.planning_seconds = seconds_since(start);
}

void TrainingRun::settle_steps() {
  if (settings_.epochs && settings_.steps) {
    throw fail(ErrorCode::kInvalidArgument, "give either epochs or steps, not both");
  }
  data::Sampler sampler(recipe_.dataset->samples(), recipe_.batch,
                        {.shuffle = settings_.data.shuffle,
                         .seed = settings_.seed,
                         .drop_last = settings_.data.drop_last});
  const std::int64_t per_epoch = sampler.batches_per_epoch();
  const std::int64_t total = settings_.steps.value_or(settings_.epochs.value_or(1) * per_epoch);
  if (total < 0) throw fail(ErrorCode::kInvalidArgument, "the number of steps is negative");
  settings_.schedule.total_steps = total;
  // What gives no rate is known before the first step.
  static_cast<void>(learning_rate(settings_.schedule, settings_.optimizer.lr, 0));
  settings_.optimizer = with_momentum(settings_.schedule, settings_.optimizer, 0);
  if (cycles_momentum(settings_.schedule))
    recipe_.notes.emplace_back("one-cycle moves the momentum, too, unless --no-cycle-momentum");
  batch_sizes_ = {recipe_.batch};
  const std::int64_t tail = recipe_.dataset->samples() % recipe_.batch;
  if (tail != 0 && !settings_.data.drop_last) batch_sizes_.push_back(tail);
  data::LoaderOptions options = loader_options(recipe_, data::Split::kTrain);
  options.epoch = steps_done_ / per_epoch;
  options.batch = steps_done_ % per_epoch;
  loader_.emplace(*recipe_.dataset, std::move(sampler), loader_targets(recipe_, *recipe_.dataset),
                  options);
}

// What the user asked for; or from the whole batch down to single samples, by halving. Only whole
// batches where the file takes no others or statistics must be those of the whole batch.
std::vector<std::int64_t> TrainingRun::micro_batches() const {
  const std::int64_t asked = settings_.memory.micro_batch;
  if (asked < 0 || asked > recipe_.batch) {
    throw fail(ErrorCode::kInvalidArgument, "a micro-batch of {} does not fit a batch of {}", asked,
               recipe_.batch);
  }
  if (asked > 0) return {asked};
  std::vector<std::int64_t> sizes = {recipe_.batch};
  if (recipe_.couples_samples || !takes_any_batch(recipe_)) return sizes;
  while (sizes.back() > 1) sizes.push_back((sizes.back() + 1) / 2);
  return sizes;
}

void TrainingRun::open_spill() {
  const MemorySettings& memory = settings_.memory;
  if (memory.spill.empty()) {
    if (memory.spill_limit) {
      throw fail(ErrorCode::kInvalidArgument, "a limit of the spill file needs a spill folder");
    }
    return;
  }
  spill_.emplace(memory.spill);
  const memory::SpillRates rates = spill_->measure(recipe_.machine.threads);
  report_.spill_rates = {rates.store, rates.fetch};
  constexpr Bytes kNoLimit{std::int64_t{1} << 60U};
  tier_ = {.rates = {rates.store, rates.fetch}, .limit = memory.spill_limit.value_or(kNoLimit)};
}

RuntimeNeeds TrainingRun::needs(const Configuration& configuration) const {
  Bytes buffers = loader_->buffer_bytes();
  buffers += checkpoints_.memory(configuration);
  buffers += StatisticsCopy::memory(configuration.state());
  if (recipe_.validation)
    buffers += loader_->buffer_bytes();  // batches of validation are no larger
  if (settings_.trace) buffers += StepTrace::bytes(configuration);
  if (settings_.report) buffers += report_bytes(configuration);
  RuntimeNeeds needs = needs_of(configuration, buffers, recipe_.machine);
  needs.threads += loader_->threads() - 1;  // one is allowed for in any case
  if (spill_) {
    needs.buffers += memory::SpillStore::memory();
    needs.threads += 2;
  }
  return needs;
}

Bytes TrainingRun::runtime(const Configuration& configuration) const {
  return runtime_allowance(needs(configuration));
}

Configuration TrainingRun::configuration_of(std::int64_t micro_batch) const {
  return Configuration::for_training(recipe_, settings_, batch_sizes_, micro_batch, tier_);
}

void TrainingRun::configure(std::int64_t micro_batch) {
  configuration_.reset();
  kernels::forget_unused();
  configuration_.emplace(configuration_of(micro_batch));
}

void TrainingRun::prepare() {
  if (!recipe_.has_data) throw fail(ErrorCode::kInvalidArgument, "training needs data");
  if (!report_.fits) throw does_not_fit(report_);
  checkpoints_.claim();
  if (recipe_.validation) validation_.emplace(recipe_, configuration_->micro_batch());
  settle_memory();
  if (measure_to_train()) settle_memory();
  if (settings_.report) {
    do {
      answer({.sweep = true, .idle_tensors = true});
    } while (settle_memory());
  }
  if (spill_) spill_->reserve(configuration_->spill_bytes(), configuration_->transfers());
  arena_.emplace(configuration_->arena_bytes(), memory::Pages::kHuge);
  memory::SpillStore* const file = spill_ ? &*spill_ : nullptr;
  configuration_->bind(arena_->data(), file);
  state_.emplace(configuration_->places(), arena_->data(), file);
  statistics_.emplace(configuration_->state());
  checkpoints_.restore(*configuration_, *state_);
  if (settings_.trace) trace_.emplace(*configuration_);
}

void TrainingRun::write_scalars(const Unit& unit, double lr) {
  const optim::Scalars scalars = optim::scalars_for(
      with_momentum(settings_.schedule, settings_.optimizer, steps_done_), lr, steps_done_ + 1);
  const std::span<std::byte> place = unit.program->bytes(unit.pass.scalars);
  LT_CHECK(place.size() == scalars.size() * sizeof(float), "the optimizer's scalars");
  std::memcpy(place.data(), scalars.data(), place.size());
}

// Takes a batch through its programs: `run` gets each with the first of its samples, its inputs
// written, and stops all by returning false.
template <class Run>
void TrainingRun::for_programs(const data::Batch& batch, float normalizer, double lr, Run run) {
  std::int64_t first = 0;
  for (const Portion& portion : configuration_->portions(batch.samples)) {
    const Unit& unit = configuration_->units()[portion.unit];
    if (!configuration_->accumulates()) write_scalars(unit, lr);
    for (std::int64_t k = 0; k < portion.count; ++k) {
      feed_pass(unit, batch, first, normalizer);
      if (configuration_->accumulates()) {
        const float is_first = first == 0 ? 1.0F : 0.0F;
        std::memcpy(unit.program->bytes(unit.pass.scalars).data(), &is_first, sizeof(float));
      }
      if (!run(unit, first)) return;
      first += unit.pass.samples;
    }
  }
  if (!configuration_->accumulates()) return;
  write_scalars(configuration_->update(), lr);
  run(configuration_->update(), 0);
}

graph::StepContext TrainingRun::context(std::int64_t first_sample) const {
  return {.seed = settings_.seed, .step = steps_done_, .first_sample = first_sample};
}

// Where the batch that has just failed goes wrong. It does so again: no weight has changed, and
// random numbers depend on their place only.
std::string TrainingRun::find_anomaly(const data::Batch& batch, float normalizer, double lr) {
  std::string words = "it was not found again";
  for_programs(batch, normalizer, lr, [&](const Unit& unit, std::int64_t first) {
    AnomalyFinder finder(unit);
    if (unit.program->step(context(first), nullptr, &finder)) return true;
    if (finder.found()) words = describe(*finder.found());
    return false;
  });
  return words;
}

// The error of a step that a guard has stopped.
Error TrainingRun::not_finite(const FiniteGuard& guard,
                              const data::Batch& batch,
                              float normalizer,
                              double lr) {
  const std::string what =
      guard.loss() ? core::text("the loss is {}", number_text(*guard.loss()))
                   : core::text("the norm of the gradients is {}", number_text(*guard.grad_norm()));
  const std::string weights =
      guard.updated() ? "weights have been changed by then" : "no weight has been changed by it";
  const std::string where = guard.updated() || !settings_.detect_anomaly
                                ? "--detect-anomaly says where that comes from"
                                : find_anomaly(batch, normalizer, lr);
  return fail(ErrorCode::kNumeric,
              "step {}: {}, {}; {}; a lower learning rate or --clip-norm may help", steps_done_ + 1,
              what, weights, where);
}

StepReport TrainingRun::step() {
  LT_CHECK(arena_.has_value(), "prepare() comes before step()");
  const auto start = Clock::now();
  if (ended_) throw fail(ErrorCode::kInvalidArgument, "no step can follow the one that failed");
  const data::Batch& batch = loader_->next();
  ended_ = true;
  whole_ = false;
  StepReport report;
  report.step = steps_done_ + 1;
  report.epoch = batch.epoch;
  report.samples = batch.samples;
  report.lr = learning_rate(settings_.schedule, settings_.optimizer.lr, steps_done_);
  report.of_tokens = recipe_.loss.has_perplexity();
  report.correct = configuration_->main().pass.correct.valid() ? 0 : -1;
  if (trace_) trace_->begin_step();
  const float scale = loss_normalizer(recipe_.loss, batch, report.counted);
  report.loss_weight = scale > 0 ? 1.0 / static_cast<double>(scale) : 0.0;
  statistics_->take(*state_);
  for_programs(batch, scale, report.lr, [&](const Unit& unit, std::int64_t first) {
    FiniteGuard guard(unit);
    const double waited = unit.program->waited();
    const bool sound =
        unit.program->step(context(first), trace_ ? trace_->enter(unit) : nullptr, &guard);
    if (!sound) {
      const Error error = not_finite(guard, batch, scale, report.lr);
      statistics_->put_back(*state_);
      whole_ = !guard.updated();
      throw error;
    }
    report.spill_wait += unit.program->waited() - waited;
    add_results(unit, report);
    return true;
  });
  if (trace_) trace_->end_step();
  report.epoch_ends = batch.index + 1 == loader_->batches_per_epoch();
  report.seconds = seconds_since(start);
  report.resident = memory::resident_bytes();
  ended_ = false;
  whole_ = true;
  ++steps_done_;
  return report;
}

EvalReport TrainingRun::validate() {
  if (!validation_) {
    throw fail(ErrorCode::kInvalidArgument, "validation needs data of its own");
  }
  check_whole();
  EvalReport report = validation_->run(*configuration_);
  // What is no number is never the best.
  const bool best =
      standing_.best_step < 0 ? std::isfinite(report.loss) : report.loss < standing_.best_loss;
  if (best) {
    standing_ = {.best_loss = report.loss, .best_step = steps_done_, .since_best = 0};
  } else {
    ++standing_.since_best;
  }
  return report;
}

TraceReport TrainingRun::trace() const {
  LT_CHECK(trace_.has_value(), "tracing must have been asked for");
  TraceReport report = trace_->report();
  const std::span<const std::byte> memory(arena_->data(),
                                          static_cast<std::size_t>(arena_->size().count()));
  report.peaks = {.flops_per_second = kernels::peak_flops_per_second(),
                  .bytes_per_second = kernels::peak_bytes_per_second(memory)};
  return report;
}

// What a trained file gets of a state value: its present bytes, or those of its mean.
onnx::ByteSource TrainingRun::state_bytes(const graph::Value& value) const {
  const StateLayout& state = configuration_->state();
  const std::string mean = optim::ema_name(value.name);
  return [this, entry = state.entry(state.contains(mean) ? mean : value.name)](
             std::int64_t from, std::span<std::byte> into) { state_->read(entry, from, into); };
}

void TrainingRun::check_whole() const {
  if (whole_) return;
  throw fail(ErrorCode::kNumeric, "the step after {} did not end well: the state is not whole",
             steps_done_);
}

void TrainingRun::save_checkpoint(const std::filesystem::path& path, int keep) {
  check_whole();
  checkpoints_.save(path, keep, steps_done_, standing_record(standing_), recipe_, settings_,
                    *configuration_, *state_);
}

void TrainingRun::save(const std::filesystem::path& path) {
  check_whole();
  onnx::TrainedTensors trained;
  const PassGraph& pass = configuration_->main().pass;
  for (const passes::Parameter& parameter : pass.parameters) {
    if (!parameter.trained && !parameter.statistic) continue;
    const graph::Value& value = pass.graph.value(parameter.value);
    const onnx::ByteSource bytes = state_bytes(value);
    if (!parameter.split_from.empty()) {
      trained.splits.push_back({parameter.name, parameter.split_from, parameter.node_output,
                                parameter.input, value.type.shape, bytes});
      continue;
    }
    trained.tensors.emplace(parameter.name, bytes);
    for (const onnx::TiedCopy& tie : recipe_.file.ties) {
      if (tie.original != parameter.name) continue;
      trained.tensors.emplace(tie.copy, onnx::transposed_bytes_of(bytes, value.type.shape));
    }
  }
  for (const Feed& feed : recipe_.feeds) {
    const NormalizationKeys keys = normalization_keys(recipe_, feed);
    const data::Field& field = recipe_.dataset->fields()[feed.field];
    const bool told = feed.normalization || field.dtype == core::DType::kUint8 ||
                      !metadata_value(recipe_.file.metadata, keys.numbers).empty();
    if (feed.dtype != core::DType::kFloat32 || !told) continue;
    trained.metadata.emplace(keys.numbers,
                             feed.normalization ? feed.normalization->str() : kNotNormalized);
    trained.metadata.emplace(keys.kind, kind_of(field));
  }
  if (recipe_.dataset->tokens()) {
    trained.metadata.emplace(kTokensKey, core::name(recipe_.dataset->fields().front().dtype));
  }
  const std::span<const std::string> classes = recipe_.dataset->class_names();
  if (!classes.empty()) trained.metadata.emplace(kClassesKey, names_text(classes));
  const std::span<const std::string> columns = recipe_.dataset->columns();
  if (!columns.empty()) trained.metadata.emplace(kColumnsKey, names_text(columns));
  // Writing takes memory of its own, and no step is under way.
  arena_->release(configuration_->places().arena_bytes,
                  arena_->size() - configuration_->places().arena_bytes);
  onnx::write_trained(recipe_.model_path, path, trained);
  malloc_trim(0);  // the next step finds the room that it left
}

}  // namespace lowtide::train
