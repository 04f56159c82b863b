#include "train/prepare/settings/unread.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/text.h"
#include "data/source/image_folder.h"
#include "train/prepare/settings/names.h"

namespace lowtide::train {
namespace {

using core::text;

struct Option {
  std::string_view name;
  bool given = false;
};

// Options that have no effect here.
void refuse(std::initializer_list<Option> options, std::string_view where) {
  for (const Option& option : options) {
    if (!option.given) continue;
    throw core::fail(ErrorCode::kInvalidArgument, "{} has no effect {}", option.name, where);
  }
}

void check_loss(const LossSettings& loss, LossKind kind) {
  const LossSettings usual;
  const std::string where = text("with the loss {}", name(kind));
  if (kind != LossKind::kCrossEntropy) {
    refuse({{"--ignore-index", loss.ignore_index.has_value()},
            {"--label-smoothing", loss.label_smoothing != usual.label_smoothing},
            {"--class-weights", !loss.class_weights.empty()}},
           where);
  }
  if (kind != LossKind::kHuber) {
    refuse({{"--huber-delta", loss.huber_delta != usual.huber_delta}}, where);
  }
  if (kind != LossKind::kBinaryCrossEntropy && kind != LossKind::kProbabilityBinaryCrossEntropy) {
    refuse({{"--pos-weight", loss.positive_weight != usual.positive_weight}}, where);
  }
}

void check_normalization(const Recipe& recipe, const DataSettings& data) {
  const Option mean = {"--mean", !data.mean.empty()};
  if (data.mean.empty()) refuse({{"--std", !data.deviation.empty()}}, "without --mean");
  if (!data.normalize.value_or(true)) refuse({mean}, "with --no-normalize");
  const bool floats = std::ranges::any_of(
      recipe.feeds, [](const Feed& feed) { return feed.dtype == core::DType::kFloat32; });
  if (floats) return;
  refuse({mean, {"--normalize", data.normalize.value_or(false)}},
         "where no input takes floats that could be normalised");
}

void check_source(const Recipe& recipe, const DataSettings& data) {
  if (!recipe.has_data) {
    refuse(
        {{"--val", !data.validation.empty()}, {"--val-split", data.validation_split.has_value()}},
        "without --data");
    return;
  }
  if (!recipe.dataset->tokens()) {
    refuse({{"--token-dtype", data.token_type.has_value()}}, "where --data is no .bin of tokens");
  }
  if (!std::filesystem::is_directory(data.source) || !data::is_image_folder(data.source)) {
    refuse({{"--image-size", !data.image.size.empty()}, {"--bad-samples", data.image.skip_bad}},
           "where --data is no folder of images");
  }
}

void check_optimizer(const OptimizerSettings& optimizer) {
  const OptimizerSettings usual;
  const std::string where = text("with --optimizer {}", name(optimizer.kind));
  if (optimizer.kind == OptimizerKind::kSgd) {
    refuse({{"--betas", optimizer.betas != usual.betas}, {"--eps", optimizer.eps != usual.eps}},
           where);
  } else {
    refuse(
        {{"--momentum", optimizer.momentum != usual.momentum}, {"--nesterov", optimizer.nesterov}},
        where);
  }
}

void check_schedule(const Schedule& schedule) {
  const Schedule usual;
  const ScheduleKind kind = schedule.kind;
  const std::string where = text("with --schedule {}", name(kind));
  if (kind != ScheduleKind::kCosine && kind != ScheduleKind::kLinear) {
    refuse({{"--min-lr", schedule.min_lr != usual.min_lr}}, where);
  }
  if (kind != ScheduleKind::kStep) {
    refuse({{"--step-size", schedule.step_size != usual.step_size},
            {"--gamma", schedule.gamma != usual.gamma}},
           where);
  }
  const std::initializer_list<Option> momentum = {
      {"--base-momentum", schedule.base_momentum != usual.base_momentum},
      {"--max-momentum", schedule.max_momentum != usual.max_momentum}};
  if (kind != ScheduleKind::kOneCycle) {
    refuse({{"--pct-start", schedule.pct_start != usual.pct_start},
            {"--div-factor", schedule.div_factor != usual.div_factor},
            {"--final-div-factor", schedule.final_div_factor != usual.final_div_factor},
            {"--no-cycle-momentum", !schedule.cycle_momentum}},
           where);
    refuse(momentum, where);
  }
  if (!schedule.cycle_momentum) refuse(momentum, "with --no-cycle-momentum");
}

}  // namespace

void check_read(const Recipe& recipe, const DataSettings& data, const LossSettings& loss) {
  check_source(recipe, data);
  check_normalization(recipe, data);
  if (!data.validation_split) {
    refuse({{"--split-seed", data.split_seed != DataSettings().split_seed}}, "without --val-split");
  }
  if (!data.image.crop) {
    refuse({{"--crop-area", data.image.crop_area != ImageSettings().crop_area}},
           "without --augment crop");
  }
  check_loss(loss, recipe.loss.kind);
}

void check_read(const TrainSettings& settings) {
  check_optimizer(settings.optimizer);
  check_schedule(settings.schedule);
  const CheckpointSettings& checkpoint = settings.checkpoint;
  if (checkpoint.file.empty()) {
    refuse({{"--keep-checkpoints", checkpoint.keep != CheckpointSettings().keep}},
           "without --checkpoint");
  }
}

void check_read(const EvalSettings& settings) {
  const ImageSettings& image = settings.data.image;
  refuse({{"--augment", image.crop || image.flip}}, "without training");
}

}  // namespace lowtide::train
