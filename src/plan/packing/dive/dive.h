// Dive: packs items from the bottom up. Each step places one of those that can come to lie lowest
// at the lowest place on top of what is there, so offsets never lie below a finished gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/packing/dive/waiting.h"
#include "plan/packing/item.h"
#include "plan/packing/sections.h"

namespace lowtide::plan {

class Dive {
 public:
  // Items have bytes.
  explicit Dive(std::span<const Item> items);

  // What a dive is after. An item is placed only where a packing of `capacity` bytes remains
  // possible as far as the sums of what is still to come at each time tell, unless all break it;
  // with no capacity (0), the first one is taken. The dive ends as soon as it reaches `stop`.
  struct Aim {
    std::int64_t capacity = 0;
    std::int64_t stop = INT64_MAX;
  };

  // Packs in this order of preference: of the items that may go next, the first one does. These are
  // all that begin below where any item, placed now, would end: another one could be pushed under
  // them later. Returns the height; if that is not below `stop`, offsets() are good for nothing.
  std::int64_t run(std::span<const std::uint32_t> order, Aim aim);

  [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t bound() const;  // the most bytes in use at one time
  [[nodiscard]] std::int64_t work() const { return work_; }

  // Whether two items are ever in use together.
  [[nodiscard]] bool meet(std::uint32_t a, std::uint32_t b) const {
    return plan::meet(sections_.spans[a], sections_.spans[b]);
  }

 private:
  [[nodiscard]] std::size_t choose(std::int64_t capacity);
  [[nodiscard]] std::size_t choose_with_room(std::int64_t lowest_end, std::int64_t capacity);
  [[nodiscard]] bool leaves_room(std::size_t rank, std::int64_t capacity) const;
  void take_from_what_is_to_come(std::uint32_t item);
  std::int64_t place(std::size_t rank);

  Sections sections_;
  std::vector<std::int64_t> sizes_;    // by item
  std::vector<std::int64_t> offsets_;  // by item
  // By section, with a capacity: bytes of what is not placed yet.
  std::vector<std::int64_t> to_come_;
  Waiting waiting_;
  std::span<const std::uint32_t> order_;
  std::int64_t work_ = 0;
};

}  // namespace lowtide::plan
