// Occupancy: which bytes are taken when, and the lowest gap for another item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/packing/item.h"

namespace lowtide::plan {

// A segment tree over time whose nodes hold sets of bytes. Items of deep networks lie side by side
// for long or follow one another at one place, so that the sets are of few ranges: both an item and
// a question take about log(times) steps rather than one for each item there is.
class Occupancy {
 public:
  // Items lie within the times from 0 to `times`, excluded.
  explicit Occupancy(std::size_t times);

  void insert(const Item& item, std::int64_t offset);

  // The lowest offset at which the item shares no byte with another one during its life.
  [[nodiscard]] std::int64_t lowest_gap(const Item& item) const;

 private:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  // Ranges in order that neither overlap nor touch.
  using Ranges = std::vector<Range>;

  // Taken at some of the times below a node, and by items that take all of them.
  struct Node {
    Ranges some;
    Ranges all;
  };

  // A node and the times below it.
  struct Place {
    std::size_t node = 1;
    std::int32_t first = 0;
    std::int32_t last = 0;

    [[nodiscard]] Place lower() const { return {2 * node, first, first + (last - first) / 2}; }
    [[nodiscard]] Place upper() const {
      return {2 * node + 1, first + (last - first) / 2 + 1, last};
    }
    [[nodiscard]] bool meets(const Item& item) const {
      return first <= item.last && item.first <= last;
    }
    [[nodiscard]] bool within(const Item& item) const {
      return item.first <= first && last <= item.last;
    }
  };

  static void take(Ranges& taken, Range range);
  void insert(const Item& item, Range range, Place place);
  void collect(const Item& item, Place place) const;

  Place root_;
  std::vector<Node> nodes_;
  // What one question looks at: sets, and how far in each.
  struct Cursor {
    const Ranges* taken = nullptr;
    Ranges::const_iterator at;
  };
  mutable std::vector<Cursor> cursors_;
};

}  // namespace lowtide::plan
