#include "train/checkpoint/run_record.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <variant>

#include "core/file.h"
#include "core/output/crc32c.h"
#include "core/text.h"
#include "onnx/read.h"
#include "train/prepare/settings/names.h"

namespace lowtide::train {
namespace {

using core::text;

void add_text(core::Crc32c& digest, std::string_view text) {
  digest.add(std::as_bytes(std::span(text)));
}

void add_attributes(core::Crc32c& digest, const onnx::FileGraph& graph);

// An attribute's value in words; a graph is taken apart.
struct AddValue {
  core::Crc32c& digest;

  void operator()(const onnx::OtherAttribute&) const {}
  void operator()(const onnx::AttributeReference& reference) const {
    add_text(digest, reference.name);
  }
  void operator()(std::int64_t value) const { add_text(digest, text("{}", value)); }
  void operator()(float value) const { add_text(digest, text("{}", value)); }
  void operator()(const std::string& value) const { add_text(digest, value); }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    add_text(digest, text("{}", fmt::join(values, ",")));
  }
  void operator()(const onnx::TensorRef& tensor) const {
    add_text(digest, tensor.type.str());
    // A larger one is a constant of the graph.
    if (tensor.type.bytes() <= onnx::kSmallTensor) digest.add(*onnx::load(tensor));
  }
  void operator()(const std::shared_ptr<const onnx::FileGraph>& graph) const {
    add_attributes(digest, *graph);
  }
};

// Of every node, as the file has them, but for what training decides itself.
void add_attributes(core::Crc32c& digest, const onnx::FileGraph& graph) {
  for (const onnx::FileNode& node : graph.nodes) {
    for (const onnx::Attribute& attribute : node.attributes) {
      if (attribute.name == "training_mode") continue;
      add_text(digest, text("\n{} {} ", node.label(), attribute.name));
      std::visit(AddValue{digest}, attribute.value);
    }
  }
}

void add_content(core::Crc32c& digest, const graph::Value& value) {
  const graph::Content& content = value.content;
  if (content.tensor) {
    digest.add(*content.tensor->bytes);
  } else if (!content.file.empty()) {
    const core::File file = core::File::open(content.file);
    std::vector<std::byte> piece(static_cast<std::size_t>(kCheckpointPiece.count()));
    for (Bytes at; at < value.type.bytes(); at += kCheckpointPiece) {
      const auto part = std::span(piece).first(
          static_cast<std::size_t>(std::min(kCheckpointPiece, value.type.bytes() - at).count()));
      file.read_at(Bytes(content.offset) + at, part);
      digest.add(part);
    }
  }
}

std::string yes(bool value) { return value ? "yes" : "no"; }

void describe_data(const Recipe& recipe,
                   const TrainSettings& settings,
                   std::vector<RunField>& run) {
  run.push_back({"samples", "the number of samples", text("{}", recipe.dataset->samples())});
  if (settings.data.validation_split) {
    run.push_back({"held_back", "the number of samples held back for validation",
                   text("{}", recipe.validation->samples())});
  }
  if (const auto tokens = recipe.dataset->tokens()) {
    // Draws depend on it; those that fill no window are no sample.
    run.push_back({"tokens", "the number of tokens", text("{}", *tokens)});
    run.push_back({"token_type", "the type of tokens",
                   std::string(core::name(recipe.dataset->fields().front().dtype))});
  }
  for (const Feed& feed : recipe.feeds) {
    run.push_back({text("normalization.{}", feed.input),
                   text("the normalisation of '{}'", feed.input),
                   feed.normalization ? feed.normalization->str() : "none"});
  }
  run.push_back({"batch", "--batch", text("{}", recipe.batch)});
  run.push_back({"shuffle", "--shuffle", yes(settings.data.shuffle)});
  run.push_back({"drop_last", "--drop-last", yes(settings.data.drop_last)});
  run.push_back({"seed", "--seed", text("{}", settings.seed)});
}

// How files of images become samples, and which of all samples are trained on.
void describe_samples(const DataSettings& data, std::vector<RunField>& run) {
  const ImageSettings& image = data.image;
  run.push_back({"image.size", "the size of images", text("{}", fmt::join(image.size, "x"))});
  run.push_back({"image.crop", "cropping of images",
                 image.crop ? text("from {} of the area", image.crop_area) : "none"});
  run.push_back({"image.flip", "mirroring of images", yes(image.flip)});
  run.push_back({"image.skip_bad", "leaving out bad images", yes(image.skip_bad)});
  run.push_back({"label", "--label", data.label});
  run.push_back({"validation_split", "the share held back for validation",
                 data.validation_split ? text("{}", *data.validation_split) : "none"});
  run.push_back({"split_seed", "the seed of that share", text("{}", data.split_seed)});
}

void describe_loss(const Loss& loss, std::vector<RunField>& run) {
  run.push_back({"loss", "--loss", std::string(name(loss.kind))});
  run.push_back({"output", "--output", loss.output});
  run.push_back({"ignore_index", "--ignore-index",
                 loss.ignore_index ? text("{}", *loss.ignore_index) : "none"});
  run.push_back(
      {"label_smoothing", "--label-smoothing", text("{}", loss.label_smoothing), Change::kNoted});
  run.push_back({"class_weights", "--class-weights", text("{}", fmt::join(loss.class_weights, ",")),
                 Change::kNoted});
}

void describe_optimizer(const OptimizerSettings& optimizer, std::vector<RunField>& run) {
  run.push_back({"optimizer", "--optimizer", std::string(name(optimizer.kind))});
  const auto note = [&](const char* key, const char* option, std::string value) {
    run.push_back({key, option, std::move(value), Change::kNoted});
  };
  note("lr", "--lr", text("{}", optimizer.lr));
  note("momentum", "--momentum", text("{}", optimizer.momentum));
  note("nesterov", "--nesterov", yes(optimizer.nesterov));
  note("weight_decay", "--weight-decay", text("{}", optimizer.weight_decay));
  note("betas", "--betas", text("{},{}", optimizer.betas[0], optimizer.betas[1]));
  note("eps", "--eps", text("{}", optimizer.eps));
  note("no_decay", "--no-decay", text("{}", fmt::join(optimizer.no_decay, " ")));
  note("clip_norm", "--clip-norm", optimizer.clip_norm ? text("{}", *optimizer.clip_norm) : "none");
  note("ema", "--ema", optimizer.ema ? text("{}", *optimizer.ema) : "none");
}

void describe_schedule(const Schedule& schedule, std::vector<RunField>& run) {
  const auto note = [&](const char* key, const char* option, std::string value) {
    run.push_back({key, option, std::move(value), Change::kNoted});
  };
  note("schedule", "--schedule", std::string(name(schedule.kind)));
  note("warmup", "--warmup", text("{}", schedule.warmup));
  note("min_lr", "--min-lr", text("{}", schedule.min_lr));
  note("step_size", "--step-size", text("{}", schedule.step_size));
  note("gamma", "--gamma", text("{}", schedule.gamma));
  note("pct_start", "--pct-start", text("{}", schedule.pct_start));
  note("div_factor", "--div-factor", text("{}", schedule.div_factor));
  note("final_div_factor", "--final-div-factor", text("{}", schedule.final_div_factor));
  note("cycle_momentum", "--cycle-momentum", yes(schedule.cycle_momentum));
  note("base_momentum", "--base-momentum", text("{}", schedule.base_momentum));
  note("max_momentum", "--max-momentum", text("{}", schedule.max_momentum));
  const bool bends =
      schedule.kind != ScheduleKind::kConstant && schedule.kind != ScheduleKind::kStep;
  // With these the steps already taken would have had other rates.
  run.push_back({"total_steps",
                 text("the number of steps in all (schedule {})", name(schedule.kind)),
                 text("{}", schedule.total_steps), bends ? Change::kRefused : Change::kFree});
}

}  // namespace

std::vector<RunField> describe_run(const Recipe& recipe,
                                   const TrainSettings& settings,
                                   std::int64_t micro_batch) {
  std::vector<RunField> run;
  describe_data(recipe, settings, run);
  describe_samples(settings.data, run);
  run.push_back({"micro_batch", "--micro-batch", text("{}", micro_batch)});
  describe_loss(recipe.loss, run);
  run.push_back(
      {"huber_delta", "--huber-delta", text("{}", settings.loss.huber_delta), Change::kNoted});
  run.push_back({"positive_weight", "--pos-weight", text("{}", settings.loss.positive_weight),
                 Change::kNoted});
  run.push_back({"running_stats", "--running-stats",
                 settings.running_statistics == RunningStatistics::kPyTorch ? "pytorch" : "onnx"});
  std::vector<std::string> dropout;
  for (const DropoutSettings& rule : settings.dropout) {
    dropout.push_back(text("{}={}", rule.values, rule.ratio));
  }
  run.push_back({"dropout", "--dropout", text("{}", fmt::join(dropout, " ")), Change::kNoted});
  describe_optimizer(settings.optimizer, run);
  describe_schedule(settings.schedule, run);
  // Sums are ordered by these.
  run.push_back({"threads", "--threads", text("{}", recipe.machine.threads), Change::kNoted});
  const core::Isa isa =
      recipe.machine.isa == core::Isa::kNative ? core::best_isa() : recipe.machine.isa;
  run.push_back({"isa", "--isa", std::string(core::name(isa)), Change::kNoted});
  return run;
}

// Ops with their attributes and versions, names, shapes and how they hang together, as the file has
// them; and the tensors that training leaves as they are.
std::vector<RunField> describe_model(const Recipe& recipe, std::span<const std::string> saved) {
  const onnx::Model model = build_model(recipe, recipe.batch);
  core::Crc32c network;
  add_text(network, graph::dump(model.graph));
  for (const auto& [domain, version] : recipe.file.opsets) {
    add_text(network, text("\n{} {}", domain, version));
  }
  add_attributes(network, recipe.file.graph);
  core::Crc32c fixed;
  for (std::size_t i = 0; i < model.graph.value_count(); ++i) {
    const graph::Value& value = model.graph.value(graph::ValueId(i));
    if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
    if (std::find(saved.begin(), saved.end(), value.name) != saved.end()) continue;
    add_text(fixed, value.name);
    add_content(fixed, value);
  }
  return {{"network", "the network (a digest)", text("{:08x}", network.value())},
          {"fixed", "what the model holds beside what is trained (a digest)",
           text("{:08x}", fixed.value())}};
}

std::vector<std::string> compare_run(const CheckpointFile& checkpoint,
                                     std::span<const RunField> run) {
  std::vector<std::string> refused;
  std::vector<std::string> notes;
  for (const RunField& field : run) {
    const auto saved = checkpoint.record().find(field.key);
    const std::string before = saved == checkpoint.record().end() ? "not given" : saved->second;
    if (before == field.value || field.change == Change::kFree) continue;
    const std::string words =
        text("{} was {} and is now {}", field.name, before.empty() ? "none" : before,
             field.value.empty() ? "none" : field.value);
    (field.change == Change::kRefused ? refused : notes).push_back(words);
  }
  if (!refused.empty()) {
    throw core::fail(ErrorCode::kInvalidArgument, "{}: is of another run: {}", checkpoint.name(),
                     fmt::join(refused, "; "));
  }
  return notes;
}

}  // namespace lowtide::train
