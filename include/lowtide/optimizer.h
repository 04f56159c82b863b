// Optimizers and learning-rate schedules. Update rules and defaults are PyTorch's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lowtide {

enum class OptimizerKind { kSgd, kAdam, kAdamW };

// With gradient g of the mean loss, after clipping, and parameter p:
//   SGD    g += weight_decay p; v = momentum v + g; p -= lr (nesterov ? g + momentum v : v)
//   Adam   g += weight_decay p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
//          p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps), t counted from 1
//   AdamW  p *= 1 - lr weight_decay first, then Adam without the decay in g
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::kSgd;
  double lr = 0.01;
  double momentum = 0;  // SGD
  bool nesterov = false;
  double weight_decay = 0;
  std::array<double, 2> betas = {0.9, 0.999};  // Adam and AdamW
  double eps = 1e-8;
  std::vector<std::string> no_decay = {};  // globs over names of parameters that do not decay
  // Gradients are scaled by min(1, clip_norm / (norm + 1e-6)), norm over all trained parameters.
  std::optional<double> clip_norm;
  // In (0, 1): keeps a running mean of each trained tensor, mean = ema mean + (1 - ema) p after
  // each update of p, which begins as the p that the run began with. Trainer::save() writes the
  // means.
  std::optional<double> ema = std::nullopt;
};

enum class ScheduleKind { kConstant, kCosine, kLinear, kStep, kOneCycle };

// The rate of step t, counted from 0: lr (t + 1) / warmup while t < warmup; then, with
// d = (t - warmup) / (total_steps - warmup):
//   linear  min_lr + (lr - min_lr) (1 - d)
//   cosine  min_lr + (lr - min_lr) (1 + cos(pi d)) / 2
//   step    lr gamma^floor((t - warmup) / step_size)
// and, with n = total_steps - warmup and s = t - warmup, as PyTorch's OneCycleLR with cosines
//   one-cycle  from lr / div_factor at s = 0 by half a cosine to lr at s = pct_start n - 1, and by
//              another to lr / (div_factor final_div_factor) at s = n - 1
struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  std::int64_t warmup = 0;  // steps
  double min_lr = 0;
  std::int64_t step_size = 1000;
  double gamma = 0.1;
  double pct_start = 0.3;  // in [0, 1]
  double div_factor = 25;
  double final_div_factor = 1e4;
  // Of one-cycle: the momentum (of Adam the first beta) moves against the rate, from max_momentum
  // to base_momentum where the rate is highest and back, whatever OptimizerSettings say of it.
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  std::int64_t total_steps = 0;
};

// The learning rate of one step. Throws Error(kInvalidArgument) for a negative step.
double learning_rate(const Schedule& schedule, double lr, std::int64_t step);

// Whether it moves the momentum.
bool cycles_momentum(const Schedule& schedule);

// The settings with the momentum, or first beta, of one step where the schedule moves it. Throws
// Error(kInvalidArgument) for a momentum to move to or from that is not in (0, 1).
OptimizerSettings with_momentum(const Schedule& schedule,
                                OptimizerSettings settings,
                                std::int64_t step);

}  // namespace lowtide
