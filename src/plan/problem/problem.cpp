#include "plan/problem/problem.h"

#include <algorithm>

namespace lowtide::plan {

std::size_t fastest_variant(const Task& task) {
  const auto fastest =
      std::min_element(task.variants.begin(), task.variants.end(),
                       [](const Variant& a, const Variant& b) { return a.seconds < b.seconds; });
  return static_cast<std::size_t>(fastest - task.variants.begin());
}

bool reads(const Variant& variant, TensorId tensor) {
  return std::find(variant.reads.begin(), variant.reads.end(), tensor) != variant.reads.end();
}

std::int64_t own_bytes(const Problem& problem, const Variant& variant) {
  std::int64_t own = variant.workspace;
  TensorId served;
  for (const InPlace& pair : variant.in_place) {
    if (pair.output == served) continue;
    served = pair.output;
    own -= problem.tensors[pair.output].bytes;
  }
  return own;
}

double Problem::fastest_seconds() const {
  double sum = 0;
  for (const Task& task : tasks) sum += task.variants[fastest_variant(task)].seconds;
  return sum;
}

}  // namespace lowtide::plan
