#include <algorithm>
#include <cmath>
#include <numbers>

#include "lowtide/optimizer.h"

#include "core/text.h"

namespace lowtide {

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
  }
  return lr;
}

}  // namespace lowtide
