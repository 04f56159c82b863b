// What settings are called on the command line, in checkpoints and in plan files.
#pragma once

#include <string_view>

#include "lowtide/settings.h"

namespace lowtide::train {

std::string_view name(OptimizerKind kind);
std::string_view name(ScheduleKind kind);
std::string_view name(LossKind kind);

}  // namespace lowtide::train
