#include "train/prepare/settings/names.h"

namespace lowtide::train {

std::string_view name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kSgd: return "sgd";
    case OptimizerKind::kAdam: return "adam";
    case OptimizerKind::kAdamW: return "adamw";
  }
  return "";
}

std::string_view name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kConstant: return "constant";
    case ScheduleKind::kCosine: return "cosine";
    case ScheduleKind::kLinear: return "linear";
    case ScheduleKind::kStep: return "step";
    case ScheduleKind::kOneCycle: return "one-cycle";
  }
  return "";
}

std::string_view name(LossKind kind) {
  switch (kind) {
    case LossKind::kAuto: return "auto";
    case LossKind::kCrossEntropy: return "cross-entropy";
    case LossKind::kMeanSquaredError: return "mse";
    case LossKind::kMeanAbsoluteError: return "l1";
    case LossKind::kHuber: return "huber";
    case LossKind::kBinaryCrossEntropy: return "bce-with-logits";
    case LossKind::kProbabilityBinaryCrossEntropy: return "bce";
  }
  return "";
}

}  // namespace lowtide::train
