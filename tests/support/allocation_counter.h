// Counts heap allocations of the calling thread between two points, for "allocates nothing" tests.
// Link allocation_counter.cpp into the test. Under AddressSanitizer nothing is counted.
#pragma once

#include <cstdint>

namespace lowtide::support {

class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  // Allocations since construction, oneDNN's own bookkeeping inside one execution left out.
  [[nodiscard]] std::int64_t count() const;
};

}  // namespace lowtide::support
