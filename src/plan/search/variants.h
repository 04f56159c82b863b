// Faster variants where there is room for what they read.
#pragma once

#include <cstdint>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

// Runs tasks in their fastest variants as far as the schedule stays within the limit, which it is in
// before. Many are tried at a time, and fewer where these do not fit.
void take_fastest_variants(Timeline& line, std::int64_t limit);

}  // namespace lowtide::plan
