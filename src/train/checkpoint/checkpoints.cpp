#include "train/checkpoint/checkpoints.h"

#include <algorithm>
#include <set>

#include "core/output/output_file.h"
#include "core/text.h"
#include "optim/updates.h"
#include "train/checkpoint/run_record.h"

namespace lowtide::train {
namespace {

using core::fail;
using core::text;
using State = StateLayout::State;

// All state but sums of gradients: no step reads those of the one before.
std::vector<State> saved_states(const Configuration& configuration) {
  std::set<std::string> sums;
  const PassGraph& pass = configuration.main().pass;
  for (const passes::Parameter& parameter : pass.parameters) {
    sums.insert(optim::accumulator_name(pass.graph.value(parameter.value).name));
  }
  std::vector<State> result = configuration.state().states();
  std::erase_if(result, [&](const State& state) { return sums.contains(state.name); });
  for (const State& state : result) {
    LT_CHECK(state.type.layout == core::Layout::kPlain || core::layouts_coincide(state.type.shape),
             "state is stored in the order of its shape");
  }
  return result;
}

std::string held(const SafeTensor* tensor) {
  return tensor == nullptr ? "not there" : tensor->type.str();
}

// One text for each way to write a path, links aside.
std::string place(const std::filesystem::path& path) {
  return path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string();
}

bool stands_at(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

}  // namespace

Checkpoints::Checkpoints(const CheckpointSettings& settings) : settings_(settings) {
  if (settings.keep < 1) {
    throw fail(ErrorCode::kInvalidArgument, "at least one checkpoint must be kept, got {}",
               settings.keep);
  }
  if (settings.every && *settings.every < 1) {
    throw fail(ErrorCode::kInvalidArgument, "checkpoints cannot be {} steps apart",
               *settings.every);
  }
  if (settings.file.empty() && settings.every) {
    throw fail(ErrorCode::kInvalidArgument, "steps between checkpoints need a file for them");
  }
  if (settings.resume.empty()) return;
  const bool first_run = place(settings.resume) == place(settings.file) &&
                         !stands_at(settings.file) && !stands_at(aged_checkpoint(settings.file, 1));
  if (!first_run) resumed_ = CheckpointFile::open(settings.resume);
}

std::int64_t Checkpoints::micro_batch(std::int64_t asked, std::int64_t batch) const {
  return asked == 0 && resumed_ ? std::min(resumed_->number("micro_batch"), batch) : asked;
}

void Checkpoints::describe(const Recipe& recipe,
                           const TrainSettings& settings,
                           const Configuration& configuration) {
  std::vector<std::string> names;
  for (const State& state : saved_states(configuration)) names.push_back(state.name);
  run_ = describe_run(recipe, settings, configuration.micro_batch());
  model_ = describe_model(recipe, names);
}

void Checkpoints::match_tensors(const Configuration& configuration) const {
  std::map<std::string, const SafeTensor*> tensors;
  for (const SafeTensor& tensor : resumed_->tensors()) tensors[tensor.name] = &tensor;
  for (const State& state : saved_states(configuration)) {
    const SafeTensor* const tensor = tensors.contains(state.name) ? tensors[state.name] : nullptr;
    if (tensor == nullptr || tensor->type.dtype != state.type.dtype ||
        tensor->type.shape != state.type.shape) {
      throw fail(ErrorCode::kInvalidArgument, "{}: is of another run: '{}' is {}, and must be {}",
                 resumed_->name(), state.name, held(tensor), state.type.str());
    }
    tensors.erase(state.name);
  }
  if (!tensors.empty()) {
    throw fail(ErrorCode::kInvalidArgument, "{}: is of another run: it has '{}', this run has not",
               resumed_->name(), tensors.begin()->first);
  }
}

std::vector<std::string> Checkpoints::settle(const Recipe& recipe,
                                             const TrainSettings& settings,
                                             const Configuration& configuration) {
  if (settings_.file.empty() && settings_.resume.empty()) return {};
  describe(recipe, settings, configuration);
  if (settings_.resume.empty()) return {};
  if (!resumed_) return {text("{} is not there yet: the run begins", settings_.resume.string())};
  std::vector<std::string> notes = compare_run(*resumed_, run_);
  for (std::string& note : notes) note += text(", from step {} on", step());
  match_tensors(configuration);
  compare_run(*resumed_, model_);
  if (step() > settings.schedule.total_steps) {
    throw fail(ErrorCode::kInvalidArgument, "{}: is at step {}, beyond the {} asked for",
               resumed_->name(), step(), settings.schedule.total_steps);
  }
  notes.push_back(text("goes on from {} at step {}", resumed_->name(), step()));
  return notes;
}

Bytes Checkpoints::memory(const Configuration& configuration) const {
  if (settings_.file.empty() && settings_.resume.empty()) return {};
  return checkpoint_memory(saved_states(configuration).size());
}

// Whether the run goes on from one of the files that it will save to.
bool Checkpoints::resumes_beside() const {
  const std::string file = place(settings_.file);
  const std::string resume = place(settings_.resume);
  return resume == file || resume.starts_with(file + ".");
}

void Checkpoints::claim() const {
  if (settings_.file.empty()) return;
  if (stands_at(settings_.file) && !resumes_beside()) {
    throw fail(ErrorCode::kInvalidArgument,
               "{}: is there already and would be overwritten; to go on from it, resume it",
               settings_.file.string());
  }
  core::remove_stale_outputs(settings_.file);
}

void Checkpoints::restore(const Configuration& configuration, const StateMemory& memory) {
  if (!resumed_) return;
  std::map<std::string, std::size_t> entries;
  for (const State& state : saved_states(configuration)) entries[state.name] = state.entry;
  std::vector<std::byte> piece(static_cast<std::size_t>(kCheckpointPiece.count()));
  for (const SafeTensor& tensor : resumed_->tensors()) {
    for (Bytes at; at < tensor.type.bytes(); at += kCheckpointPiece) {
      const auto bytes = std::span(piece).first(
          static_cast<std::size_t>(std::min(kCheckpointPiece, tensor.type.bytes() - at).count()));
      resumed_->read(tensor, at.count(), bytes);
      memory.write(entries.at(tensor.name), at.count(), bytes);
    }
  }
  if (place(settings_.resume) == place(settings_.file)) whole_ = settings_.file;
  resumed_.reset();
}

void Checkpoints::save(const std::filesystem::path& path,
                       int keep,
                       std::int64_t step,
                       CheckpointRecord record,
                       const Recipe& recipe,
                       const TrainSettings& settings,
                       const Configuration& configuration,
                       const StateMemory& memory) {
  if (run_.empty()) describe(recipe, settings, configuration);
  for (const RunField& field : run_) record[field.key] = field.value;
  for (const RunField& field : model_) record[field.key] = field.value;
  record[kStepKey] = text("{}", step);
  std::vector<CheckpointTensor> tensors;
  for (const State& state : saved_states(configuration)) {
    tensors.push_back(
        {state.name, state.type,
         [&memory, entry = state.entry](std::int64_t from, std::span<std::byte> into) {
           memory.read(entry, from, into);
         }});
  }
  // Only what is known to be good takes the place of an older one.
  write_checkpoint(path, std::move(record), tensors, {.keep = keep, .rotate = whole_ == path});
  whole_ = path;
}

}  // namespace lowtide::train
