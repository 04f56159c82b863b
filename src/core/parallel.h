// parallel_for: a fixed partition over the one OpenMP pool (which oneDNN shares).
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace lowtide::core {

// Calls f(begin, end) on disjoint ranges that cover [0, count). The partition depends only on
// count, grain and the pool's size, so sums over ranges come out the same in every run.
// grain is the least number of items worth a thread. f must not throw.
template <class F>
void parallel_for(std::int64_t count, std::int64_t grain, F&& f) {
  if (count <= 0) return;
  const std::int64_t wanted =
      (count + std::max<std::int64_t>(grain, 1) - 1) / std::max<std::int64_t>(grain, 1);
  const auto parts = static_cast<int>(
      std::min<std::int64_t>(wanted, omp_in_parallel() != 0 ? 1 : omp_get_max_threads()));
  if (parts <= 1) {
    f(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(parts)
  {
    const std::int64_t part = omp_get_thread_num();
    const std::int64_t total = omp_get_num_threads();
    const std::int64_t begin = count * part / total;
    const std::int64_t end = count * (part + 1) / total;
    if (begin < end) f(begin, end);
  }
}

// Sets the size of the pool that the calling thread's parallel loops (and oneDNN's) use.
inline void use_threads(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
}

// Number of ranges parallel_for splits into, for per-range scratch.
inline int parallel_parts() { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }

}  // namespace lowtide::core
