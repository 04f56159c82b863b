// Wheel: packs items one after another, each at its lowest gap, in the order of their weights. One
// that comes to lie too high gets more weight and its turn earlier, and packing goes on from there
// (squeaky wheel optimization, Joslin and Clements 1999): what is hard to place moves to the front
// by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "plan/packing/item.h"

namespace lowtide::plan {

class Wheel {
 public:
  // Items have bytes; they must outlive it.
  explicit Wheel(std::span<const Item> items);

  // Begins anew. The weight of an item is its bytes times a power of its life (`life` halves), and
  // less where it never meets a crowded time.
  void start(int life);
  // Goes on until all items end below `stop`: then returns their height, and offsets() are good. Or
  // until items have been moved to the front `patience` times or the work is `most`: nothing.
  std::optional<std::int64_t> turn(std::int64_t stop, int patience, std::int64_t most);

  [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  struct Placed {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int32_t first = 0;
    std::int32_t last = 0;
    std::uint32_t item = 0;
  };

  void place(std::uint32_t item);
  void lift(std::size_t rank);

  std::span<const Item> items_;
  core::RandomStream random_;
  std::vector<double>
      crowds_;  // by item: the most bytes in use with it, as a part of the most ever
  std::vector<double> weights_;        // by item
  std::vector<std::uint32_t> order_;   // by falling weight
  std::vector<std::size_t> ranks_;     // by item: its place in the order
  std::vector<std::int64_t> offsets_;  // by item
  std::size_t done_ = 0;               // the first of the order are placed
  std::vector<Placed> placed_;         // in the order of their offsets
  std::int64_t work_ = 0;
};

}  // namespace lowtide::plan
