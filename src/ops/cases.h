// The table of contents of test cases: one line per op folder. Linked into tests and benchmarks.
#pragma once

#include <vector>

#include "ops/op_case.h"

namespace lowtide::ops {

std::vector<OpCase> layout_cases();
std::vector<OpCase> reshape_cases();
std::vector<OpCase> softmax_cases();

std::vector<OpCase> all_cases();

}  // namespace lowtide::ops
