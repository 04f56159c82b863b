#include "plan/assemble.h"

#include <algorithm>
#include <utility>

#include "plan/packing/pack.h"

namespace lowtide::plan {

namespace {

using graph::Node;
using graph::Phase;

std::vector<Item> buffer_items(const Schedule& schedule) {
  std::vector<Item> result;
  result.reserve(schedule.buffers.size());
  for (const TransientBuffer& buffer : schedule.buffers) result.push_back(buffer.item);
  return result;
}

// Slots of values that have no fixed home in the file.
std::vector<Item> slot_items(const Schedule& schedule) {
  std::vector<Item> result;
  for (const ScheduledSlot& slot : schedule.slots) {
    if (slot.home == kInArena) result.push_back(slot.item);
  }
  return result;
}

Packing pack_slots(const Schedule& schedule) {
  constexpr std::int64_t kWork = 1'000'000;
  return pack(slot_items(schedule), {.work = kWork});
}

// Forward values computed once and still read after the forward pass.
int count_kept(const Model& model, const Schedule& schedule) {
  std::int32_t end_of_forward = -1;
  for (std::size_t i = 0; i < schedule.sequence.size(); ++i) {
    const Execution& execution = schedule.sequence[i];
    const Phase phase = model.graph.node(execution.node).phase;
    if (!execution.again && (phase == Phase::kForward || phase == Phase::kLoss)) {
      end_of_forward = static_cast<std::int32_t>(i);
    }
  }
  return static_cast<int>(
      std::count_if(schedule.copies.begin(), schedule.copies.end(), [&](const Copy& copy) {
        const ValueFacts& facts = model.values[copy.value];
        return facts.producer.valid() && facts.base == copy.value &&
               copy.written <= end_of_forward && copy.last_read > end_of_forward;
      }));
}

class Assembler {
 public:
  Assembler(const Model& model, const Schedule& schedule) : model_(model), schedule_(schedule) {}

  void add_buffers(const Packing& packing,
                   const core::IdVector<ValueId, Bytes>& offsets,
                   const FileOffsets& file_offsets,
                   Bytes base) {
    const auto end = std::max(static_cast<std::int32_t>(schedule_.sequence.size()) - 1, 0);
    home_.resize(model_.values.size());
    for (const ValueId id : model_.persistent) {
      if (in_file(file_offsets, id)) continue;
      home_[id] = plan_.buffers.push_back({.kind = BufferKind::kPersistent,
                                           .value = id,
                                           .size = model_.values[id].bytes,
                                           .offset = offsets[id],
                                           .first = 0,
                                           .last = end});
    }
    for (std::size_t i = 0; i < schedule_.buffers.size(); ++i) {
      const TransientBuffer& buffer = schedule_.buffers[i];
      ids_.push_back(plan_.buffers.push_back(
          {.kind = buffer.value.valid() ? BufferKind::kTransient : BufferKind::kScratch,
           .value = buffer.value,
           .size = buffer.item.size,
           .offset = base + packing.offsets[i],
           .first = buffer.item.first,
           .last = buffer.item.last}));
    }
    plan_.arena_bytes = base + packing.height;
    const std::vector<Bytes> live = profile(schedule_);
    const auto peak = std::max_element(live.begin(), live.end());
    plan_.peak_live_bytes = base + *peak;
    plan_.peak_step = static_cast<std::int32_t>(peak - live.begin());
  }

  void add_steps() {
    for (std::size_t i = 0; i < schedule_.sequence.size(); ++i) {
      const Execution& execution = schedule_.sequence[i];
      const Node& node = model_.graph.node(execution.node);
      Step step{
          .node = execution.node, .again = execution.again, .in = {}, .out = {}, .scratch = {}};
      for (const ValueId id : node.inputs) step.in.push_back(place(id));
      for (const ValueId id : node.outputs) step.out.push_back(place(id));
      if (schedule_.scratch[i] != Schedule::kNone) {
        step.scratch = ids_[static_cast<std::size_t>(schedule_.scratch[i])];
      }
      plan_.recomputed += execution.again ? 1 : 0;
      plan_.steps.push_back(std::move(step));
    }
  }

  void add_transfers(Bytes file_base) {
    const Packing packing = pack_slots(schedule_);
    std::size_t packed = 0;
    plan_.spill_bytes = file_base + packing.height;
    for (const ScheduledSlot& slot : schedule_.slots) {
      const Bytes offset =
          slot.home == kInArena ? file_base + packing.offsets[packed++] : slot.home;
      plan_.slots.push_back({.value = slot.value, .offset = offset, .size = slot.item.size});
    }
    for (const ScheduledTransfer& transfer : schedule_.transfers) {
      plan_.transfers.push_back(
          {.direction = transfer.direction,
           .value = transfer.value,
           .place = {ids_[static_cast<std::size_t>(transfer.buffer)], Bytes(0)},
           .slot = SlotId(static_cast<std::size_t>(transfer.slot)),
           .start = transfer.start,
           .finish = transfer.finish});
    }
    plan_.stall_seconds = schedule_.stall_seconds;
  }

  Plan take() {
    plan_.predicted_seconds = seconds(model_, schedule_.sequence) + plan_.stall_seconds;
    for (const NodeFacts& node : model_.nodes) {
      plan_.lower_bound_seconds += node.needed ? node.seconds : 0;
    }
    plan_.kept = count_kept(model_, schedule_);
    return std::move(plan_);
  }

 private:
  // Of the next operand in order.
  Place place(ValueId id) {
    const std::int32_t copy = schedule_.operands[operand_++];
    if (copy == Schedule::kPersistent) return {home_[model_.values[id].home], Bytes(0)};
    const auto buffer =
        static_cast<std::size_t>(schedule_.copies[static_cast<std::size_t>(copy)].buffer);
    return {ids_[buffer], Bytes(0)};
  }

  const Model& model_;
  const Schedule& schedule_;
  core::IdVector<ValueId, BufferId> home_;
  std::vector<BufferId> ids_;  // by the schedule's buffers
  std::size_t operand_ = 0;
  Plan plan_;
};

}  // namespace

// Spilling makes many candidates of which only the height is asked for: each gets less work.
Packing pack_buffers(const Schedule& schedule, Bytes enough) {
  constexpr std::int64_t kWork = 60'000'000;
  constexpr std::int64_t kWorkSpilled = 12'000'000;
  return pack(buffer_items(schedule),
              {.work = schedule.transfers.empty() ? kWork : kWorkSpilled, .enough = enough});
}

Plan assemble(const Model& model,
              const Schedule& schedule,
              const Packing& packing,
              const core::IdVector<ValueId, Bytes>& offsets,
              const FileOffsets& file_offsets,
              Bytes base,
              Bytes file_base) {
  Assembler assembler(model, schedule);
  assembler.add_buffers(packing, offsets, file_offsets, base);
  assembler.add_steps();
  assembler.add_transfers(file_base);
  return assembler.take();
}

Bytes packed_slots(const Schedule& schedule) { return pack_slots(schedule).height; }

}  // namespace lowtide::plan
