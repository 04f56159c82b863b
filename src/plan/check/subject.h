// Subject: the plan under check, the facts it is held against, and the faults found so far.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "plan/plan.h"

namespace lowtide::plan {

// Bytes [begin, end) of the arena.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] bool empty() const { return begin >= end; }

  [[nodiscard]] bool overlaps(const Range& other) const {
    return !empty() && !other.empty() && begin < other.end && other.begin < end;
  }

  bool operator==(const Range&) const = default;
};

// What bytes hold, of the arena or of the spill file: disjoint ranges, each with one whole value. A
// value that loses a byte is gone.
class Contents {
 public:
  void write(const Range& range, ValueId value);
  void erase(const Range& range);
  [[nodiscard]] bool holds(const Range& range, ValueId value) const;

 private:
  struct Held {
    std::int64_t end;
    ValueId value;
  };

  std::map<std::int64_t, Held> held_;
};

struct Subject {
  const graph::Graph& graph;
  const Costs& costs;
  const core::IdVector<ValueId, Bytes>& persistent_offsets;
  const Plan& plan;
  const FileOffsets& file_offsets;
  std::vector<std::string> faults = {};

  template <class... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    faults.push_back(core::text(format, std::forward<Args>(args)...));
  }

  [[nodiscard]] const std::string& name(ValueId id) const { return graph.value(id).name; }

  [[nodiscard]] std::string describe(std::size_t step) const {
    return core::text("step {} ({})", step, graph.node(plan.steps[step].node).name);
  }

  // Whether the value exists before the first step.
  [[nodiscard]] bool source(ValueId id) const { return !graph.value(id).producer.valid(); }

  [[nodiscard]] bool persistent_source(ValueId id) const {
    return source(id) && graph::is_persistent(graph.value(id).role);
  }

  // Whether the value's home is the arena.
  [[nodiscard]] bool resident(ValueId id) const {
    return persistent_source(id) && !in_file(file_offsets, id);
  }

  [[nodiscard]] Range range(const Place& place, ValueId id) const {
    const std::int64_t begin = (plan.buffers[place.buffer].offset + place.within).count();
    return {begin, begin + graph.type(id).bytes().count()};
  }

  // Of a value of that type in a slot.
  [[nodiscard]] Range range(SlotId slot, ValueId id) const {
    const std::int64_t begin = plan.slots[slot].offset.count();
    return {begin, begin + graph.type(id).bytes().count()};
  }

  [[nodiscard]] Range extent(BufferId id) const {
    const Buffer& buffer = plan.buffers[id];
    return {buffer.offset.count(), (buffer.offset + buffer.size).count()};
  }
};

// Ids exist and every step has a place for each operand. What follows relies on it.
void check_structure(Subject& subject);
// Sizes, alignment, lifetimes and fixed places of the buffers, each alone.
void check_buffers(Subject& subject);
// No two buffers in use at one time share bytes, and the bytes in use are as the plan says.
void check_overlaps(Subject& subject);
// The transfers and slots, each alone, and the time that steps wait for transfers. Whether they are
// fit to be replayed.
bool check_transfers(Subject& subject);
// Runs the steps on byte ranges: what is read, written, repeated, and left at the end.
void check_steps(Subject& subject);

}  // namespace lowtide::plan
