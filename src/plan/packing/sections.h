// Sections: time as packing sees it. Times at which no item begins after another one has ended are
// one section: only the fullest moment counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/packing/item.h"

namespace lowtide::plan {

// The sections that an item is in use in, both included.
struct Span {
  std::size_t first = 0;
  std::size_t last = 0;

  bool operator==(const Span&) const = default;
};

inline bool meet(const Span& a, const Span& b) { return a.first <= b.last && b.first <= a.last; }

struct Sections {
  explicit Sections(std::span<const Item> items);

  std::vector<Span> spans;         // by item
  std::vector<std::int64_t> live;  // by section: bytes in use
};

}  // namespace lowtide::plan
