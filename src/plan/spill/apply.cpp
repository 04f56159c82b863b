// The schedule that a spiller's choices make: buffers cut at the gaps, transfers, slots.
#include <algorithm>
#include <map>
#include <utility>

#include "plan/spill/spiller.h"

namespace lowtide::plan {

namespace {

// Some of the uses of one buffer: those from a step on, in a buffer of their own.
struct Part {
  std::int32_t from = 0;
  std::int32_t buffer = 0;
};

// One gap's transfers, as Spiller::Move.
struct Cut {
  const Gap& gap;
  std::int32_t store_start = 0;
  std::int32_t store_finish = -1;
  std::int32_t fetch_start = -1;
  std::int32_t source = Schedule::kNone;  // the buffer that the store leaves
  std::int32_t target = Schedule::kNone;  // the buffer that the fetch fills
  std::int32_t slot = Schedule::kNone;
};

class Cutter {
 public:
  Cutter(const Model& model, const Schedule& before, const Gaps& gaps, Schedule& result)
      : model_(model),
        before_(before),
        gaps_(gaps),
        result_(result),
        parts_(before.buffers.size()) {}

  // In the order of the gaps.
  void cut(Cut& cut) {
    assign_slot(cut);
    std::vector<Part>& parts = parts_[static_cast<std::size_t>(cut.gap.buffer)];
    const bool from_file = cut.gap.after < 0;
    if (parts.empty() && !from_file) parts.push_back({0, cut.gap.buffer});
    if (!from_file) {
      cut.source = parts.back().buffer;
      item(cut.source).last = std::max(cut.gap.after, cut.store_finish - 1);
    }
    if (cut.fetch_start < 0) return;
    if (from_file) {
      parts.push_back({0, cut.gap.buffer});
      item(cut.gap.buffer).first = cut.fetch_start;
    } else {
      const Item& whole = before_.buffers[static_cast<std::size_t>(cut.gap.buffer)].item;
      parts.push_back({cut.gap.before, static_cast<std::int32_t>(result_.buffers.size())});
      result_.buffers.push_back({cut.gap.value, {whole.size, cut.fetch_start, whole.last}});
    }
    cut.target = parts.back().buffer;
  }

  // Uses behind a gap find their values in the part that begins there.
  void move_uses() {
    std::size_t operand = 0;
    for (std::size_t i = 0; i < result_.sequence.size(); ++i) {
      const graph::Node& node = model_.graph.node(result_.sequence[i].node);
      const std::size_t end = operand + node.inputs.size() + node.outputs.size();
      for (; operand < end; ++operand) move_use(operand, static_cast<std::int32_t>(i));
    }
  }

 private:
  Item& item(std::int32_t buffer) { return result_.buffers[static_cast<std::size_t>(buffer)].item; }

  // One slot for a value at home in the file, one for each version of others.
  void assign_slot(Cut& cut) {
    const auto buffer = static_cast<std::size_t>(cut.gap.buffer);
    const Bytes home = gaps_.file_homes[buffer];
    const bool at_home = home != kInArena;
    const auto [slot, fresh] = slots_.emplace(
        std::pair(cut.gap.buffer, at_home ? 0 : cut.gap.version), result_.slots.size());
    if (fresh) {
      const ValueId value = at_home ? before_.buffers[buffer].value : cut.gap.value;
      const Bytes size = model_.graph.type(value).bytes().rounded_up(kSlotAlignment);
      result_.slots.push_back({value, {size, cut.store_start, cut.store_start}, home});
    }
    Item& life = result_.slots[slot->second].item;
    life.last = std::max({life.last, cut.store_finish, cut.fetch_start < 0 ? 0 : cut.gap.before});
    cut.slot = static_cast<std::int32_t>(slot->second);
  }

  void move_use(std::size_t operand, std::int32_t step) {
    std::int32_t& copy = result_.operands[operand];
    if (copy < 0) return;
    const std::int32_t buffer = before_.copies[static_cast<std::size_t>(copy)].buffer;
    const std::vector<Part>& parts = parts_[static_cast<std::size_t>(buffer)];
    const auto part = std::find_if(parts.rbegin(), parts.rend(),
                                   [&](const Part& one) { return one.from <= step; });
    if (part == parts.rend() || part->buffer == buffer) return;
    const auto [moved, fresh] =
        moved_.emplace(std::pair(copy, part->buffer), result_.copies.size());
    if (fresh) {
      Copy there = result_.copies[static_cast<std::size_t>(copy)];
      there.buffer = part->buffer;
      there.written = step;
      result_.copies.push_back(there);
    }
    copy = static_cast<std::int32_t>(moved->second);
  }

  const Model& model_;
  const Schedule& before_;
  const Gaps& gaps_;
  Schedule& result_;
  std::vector<std::vector<Part>> parts_;                                // by buffer
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> slots_;  // by buffer and version
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> moved_;  // by copy and buffer
};

}  // namespace

Schedule Spiller::schedule() const {
  Schedule result = schedule_;
  result.transfers = transfers();
  result.stall_seconds = simulate(result.transfers);
  std::map<std::int32_t, Cut> cuts;  // by gap
  for (const Move& move : moves_) {
    cuts.emplace(move.gap, Cut{gap(move), move.store_start, move.store_finish, move.fetch_start});
  }
  Cutter cutter(model_, schedule_, gaps_, result);
  for (auto& [index, cut] : cuts) cutter.cut(cut);
  cutter.move_uses();
  for (ScheduledTransfer& transfer : result.transfers) {
    const Cut& cut = cuts.at(transfer.slot);  // a gap until now
    transfer.buffer = transfer.direction == Direction::kStore ? cut.source : cut.target;
    transfer.slot = cut.slot;
  }
  return result;
}

}  // namespace lowtide::plan
