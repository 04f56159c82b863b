// Waiting: what a dive has still to place. Items are kept in groups that are in use at about the
// same times: one that is placed lifts most groups as a whole, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/packing/sections.h"

namespace lowtide::plan {

class Waiting {
 public:
  // By item.
  Waiting(std::span<const Span> spans, std::span<const std::int64_t> sizes);

  // Begins anew with all items at offset 0. Their place in the order is their rank.
  void start(std::span<const std::uint32_t> order);

  [[nodiscard]] bool empty() const { return waiting_ == 0; }
  [[nodiscard]] std::size_t size() const { return waiting_; }
  [[nodiscard]] std::int64_t lowest_end() const;  // of all items, at their offsets
  // The first rank with an offset below that (SIZE_MAX: none), and all of them in no order.
  [[nodiscard]] std::size_t first_below(std::int64_t offset) const;
  [[nodiscard]] std::vector<std::size_t> all_below(std::int64_t offset) const;
  // How many come before a rank.
  [[nodiscard]] std::size_t before(std::size_t rank) const;
  // The lowest place on top of what is there.
  [[nodiscard]] std::int64_t offset(std::size_t rank) const;

  // Takes away the item of that rank. Those that meet it lie at least as high as it ends.
  void place(std::size_t rank);

 private:
  struct Slot {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::uint32_t first = 0;  // the item's span
    std::uint32_t last = 0;
    std::uint32_t rank = 0;
  };
  // Of kGroup slots, the first `count`.
  struct Group {
    std::uint32_t count = 0;
    std::uint32_t first_rank = 0;
    std::uint32_t least_first = 0;  // of the spans
    std::uint32_t most_first = 0;
    std::uint32_t least_last = 0;
    std::uint32_t most_last = 0;
    std::int64_t floor = 0;  // all offsets are at least that, whatever the slots say
    std::int64_t least_size = 0;
    std::int64_t least_offset = 0;
    std::int64_t most_offset = 0;
    std::int64_t least_end = 0;
  };
  static constexpr std::size_t kGroup = 32;

  void form_groups();
  void settle(std::size_t group);
  void lift(std::size_t group, const Slot& placed);
  void lift_slots(std::size_t group, const Slot& placed);
  [[nodiscard]] std::span<const Slot> slots(std::size_t group) const {
    return std::span(slots_).subspan(group * kGroup, groups_[group].count);
  }

  std::vector<Slot> all_;              // in an order in which neighbours are in use together
  std::vector<std::uint32_t> places_;  // by item: in that order
  std::vector<Slot> slots_;            // those that wait, in the same order, and gaps
  std::vector<Group> groups_;
  std::vector<std::uint32_t> slots_of_;  // by rank
  std::vector<std::uint32_t> counts_;    // of those that wait, by rank: a Fenwick tree
  std::size_t waiting_ = 0;
};

}  // namespace lowtide::plan
