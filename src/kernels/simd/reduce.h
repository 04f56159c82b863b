// Sums, means, maxima and minima over some dimensions of a float tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "lowtide/bytes.h"

namespace lowtide::kernels {

enum class ReduceFunction : std::uint8_t { kSum, kMax, kMin };

struct ReduceLoop {
  std::int64_t length = 1;
  std::int64_t step = 1;  // elements of x
};

// What is reduced: for each element of the kept loops (outermost first, over which y is
// contiguous), and for each of `columns` contiguous elements from there, everything that the
// reduced loops reach. With one column the innermost reduced loop steps by 1. Work is split by the
// shape alone, so results do not depend on the number of threads.
struct ReducePlan {
  ReduceFunction function = ReduceFunction::kSum;
  double factor = 1;  // applied to each result
  std::vector<ReduceLoop> kept;
  std::vector<ReduceLoop> reduced;
  std::int64_t columns = 1;
};

// What `reduce` needs as scratch, aligned to 64 bytes.
Bytes reduce_scratch(const ReducePlan& plan);

// Totals are kept in double. A maximum or minimum is NaN where any element is; of nothing it is
// -inf or inf.
void reduce(const ReducePlan& plan, const float* x, float* y, double* scratch);

}  // namespace lowtide::kernels
