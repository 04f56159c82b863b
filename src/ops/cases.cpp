#include "ops/cases.h"

#include <iterator>

namespace lowtide::ops {

std::vector<OpCase> all_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {
           layout_cases(),
           reshape_cases(),
           softmax_cases(),
       }) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace lowtide::ops
