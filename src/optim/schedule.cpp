#include <algorithm>
#include <cmath>
#include <numbers>

#include "lowtide/optimizer.h"

#include "core/text.h"

namespace lowtide {
namespace {

// Half a cosine from one rate to another; all of it where there is no way between.
double along_cosine(double from, double to, double at, double length) {
  if (length <= 0) return to;
  const double done = std::clamp(at / length, 0.0, 1.0);
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * done));
}

// Past the end the last rate stays, and so does the last momentum.
double length_of(const Schedule& schedule) {
  return static_cast<double>(std::max<std::int64_t>(schedule.total_steps - schedule.warmup, 1));
}

// From one value to another at the peak of a cycle, and to a last one at its end.
struct Cycle {
  double first = 0;
  double peak = 0;
  double last = 0;
};

double along(const Cycle& cycle, const Schedule& schedule, std::int64_t since) {
  const double length = length_of(schedule);
  const double peak = schedule.pct_start * length - 1;
  const auto at = static_cast<double>(since);
  if (at <= peak) return along_cosine(cycle.first, cycle.peak, at, peak);
  return along_cosine(cycle.peak, cycle.last, at - peak, length - 1 - peak);
}

double rate_at(const Schedule& schedule, double lr, std::int64_t step) {
  if (step < schedule.warmup) {
    return lr * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup);
  }
  const std::int64_t since = step - schedule.warmup;
  const double done = std::min(static_cast<double>(since) / length_of(schedule), 1.0);
  switch (schedule.kind) {
    case ScheduleKind::kConstant: break;
    case ScheduleKind::kLinear: return schedule.min_lr + (lr - schedule.min_lr) * (1 - done);
    case ScheduleKind::kCosine:
      return schedule.min_lr + (lr - schedule.min_lr) * (1 + std::cos(std::numbers::pi * done)) / 2;
    case ScheduleKind::kStep:
      if (schedule.step_size < 1) {
        throw core::fail(ErrorCode::kInvalidArgument, "step_size must be positive, not {}",
                         schedule.step_size);
      }
      return lr * std::pow(schedule.gamma, static_cast<double>(since / schedule.step_size));
    case ScheduleKind::kOneCycle: {
      const double first = lr / schedule.div_factor;
      return along({first, lr, first / schedule.final_div_factor}, schedule, since);
    }
  }
  return lr;
}

}  // namespace

double learning_rate(const Schedule& schedule, double lr, std::int64_t step) {
  for (const double number : {lr, schedule.min_lr, schedule.gamma, schedule.pct_start,
                              schedule.div_factor, schedule.final_div_factor}) {
    if (std::isfinite(number)) continue;
    throw core::fail(ErrorCode::kInvalidArgument, "a schedule of learning rates holds {}", number);
  }
  if (step < 0) {
    throw core::fail(ErrorCode::kInvalidArgument, "step {} has no learning rate", step);
  }
  const double rate = rate_at(schedule, lr, step);
  if (!std::isfinite(rate)) {
    throw core::fail(ErrorCode::kInvalidArgument, "step {}: the learning rate is {}", step + 1,
                     rate);
  }
  return rate;
}

bool cycles_momentum(const Schedule& schedule) {
  return schedule.kind == ScheduleKind::kOneCycle && schedule.cycle_momentum;
}

OptimizerSettings with_momentum(const Schedule& schedule,
                                OptimizerSettings settings,
                                std::int64_t step) {
  if (!cycles_momentum(schedule)) return settings;
  for (const double momentum : {schedule.base_momentum, schedule.max_momentum}) {
    if (momentum > 0 && momentum < 1) continue;
    throw core::fail(ErrorCode::kInvalidArgument,
                     "the momentum of one-cycle must lie between 0 and 1, not {}", momentum);
  }
  const std::int64_t since = std::max<std::int64_t>(step - schedule.warmup, 0);
  const double momentum = along(
      {schedule.max_momentum, schedule.base_momentum, schedule.max_momentum}, schedule, since);
  (settings.kind == OptimizerKind::kSgd ? settings.momentum : settings.betas[0]) = momentum;
  return settings;
}

}  // namespace lowtide
