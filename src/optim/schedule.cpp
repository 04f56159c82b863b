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

double one_cycle(const Schedule& schedule, double lr, double since, double length) {
  const double first = lr / schedule.div_factor;
  const double peak = schedule.pct_start * length - 1;
  if (since <= peak) return along_cosine(first, lr, since, peak);
  return along_cosine(lr, first / schedule.final_div_factor, since - peak, length - 1 - peak);
}

}  // namespace

double learning_rate(const Schedule& schedule, double lr, std::int64_t step) {
  if (step < 0) {
    throw core::fail(ErrorCode::kInvalidArgument, "step {} has no learning rate", step);
  }
  if (step < schedule.warmup) {
    return lr * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup);
  }
  const std::int64_t since = step - schedule.warmup;
  // Past the end the last rate stays.
  const std::int64_t length = std::max<std::int64_t>(schedule.total_steps - schedule.warmup, 1);
  const double done = std::min(static_cast<double>(since) / static_cast<double>(length), 1.0);
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
    case ScheduleKind::kOneCycle:
      return one_cycle(schedule, lr, static_cast<double>(since), static_cast<double>(length));
  }
  return lr;
}

}  // namespace lowtide
