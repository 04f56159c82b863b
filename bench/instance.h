// Instance: a planning problem from a file, with budgets to plan it for. The format: version 1 of
// the planner instances, a JSON object with tensors, nodes and their variants, and answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/problem/problem.h"

namespace lowtide::bench {

struct Instance {
  std::string name;
  plan::Problem problem;  // its tasks are the file's nodes, by the same indices
  std::int64_t persistent_bytes = 0;
  std::vector<std::int64_t> budgets;  // persistent bytes included
};

// Throws Error(kInvalidArgument) where the file is not such an object.
Instance read_instance(const std::string& path);

}  // namespace lowtide::bench
