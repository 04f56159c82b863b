// RangeMax: bytes by step, to which a range may be added and of which the most in a range is asked,
// both in a time that grows with the logarithm of the steps.
#pragma once

#include <cstddef>
#include <vector>

#include "lowtide/bytes.h"

namespace lowtide::plan {

class RangeMax {
 public:
  explicit RangeMax(const std::vector<Bytes>& values);

  // Of the steps in [first, last), which must not be empty.
  [[nodiscard]] Bytes max(std::size_t first, std::size_t last) const;
  void add(std::size_t first, std::size_t last, Bytes amount);

 private:
  // Of the subtree: the most in it, without what its ancestors add; and what is added to all of it.
  struct Node {
    Bytes most;
    Bytes added;
  };

  [[nodiscard]] Bytes max(std::size_t node,
                          std::size_t from,
                          std::size_t to,
                          std::size_t first,
                          std::size_t last) const;
  void add(std::size_t node,
           std::size_t from,
           std::size_t to,
           std::size_t first,
           std::size_t last,
           Bytes amount);

  std::size_t leaves_ = 1;   // a power of two
  std::vector<Node> nodes_;  // a complete binary tree, the root at 1
};

}  // namespace lowtide::plan
