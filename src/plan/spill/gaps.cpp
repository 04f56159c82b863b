#include "plan/spill/gaps.h"

#include <algorithm>
#include <utility>

namespace lowtide::plan {

namespace {

using graph::Node;

class UseReader {
 public:
  UseReader(const Model& model,
            const Schedule& schedule,
            const FileOffsets& offsets,
            Bytes smallest)
      : model_(model), schedule_(schedule), uses_(schedule.buffers.size()) {
    const auto steps = static_cast<std::int32_t>(schedule.sequence.size());
    result_.file_homes.assign(schedule.buffers.size(), kInArena);
    for (std::size_t i = 0; i < schedule.buffers.size(); ++i) {
      const ValueId value = schedule.buffers[i].value;
      if (value.valid() && in_file(offsets, value)) {
        result_.file_homes[i] = offsets[value];
        uses_[i] = {.last = -1, .value = value, .version = 0, .allowed = true};
      } else {
        uses_[i].allowed = value.valid() && schedule.buffers[i].item.size >= smallest;
      }
    }
    for (const Copy& copy : schedule.copies) {
      if (model.values[copy.value].pinned) at(copy.buffer).allowed = false;
    }
    // Inputs are written before the first step.
    for (std::size_t i = 0; i < model.inputs.size(); ++i) {
      Uses& uses = at(schedule.copies[i].buffer);
      uses.value = schedule.copies[i].value;
      uses.version = 1;
    }
    std::size_t operand = 0;
    for (std::int32_t step = 0; step < steps; ++step) operand = read_step(step, operand);
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (result_.file_homes[i] != kInArena) add(static_cast<std::int32_t>(i), steps, true);
    }
    std::stable_sort(result_.all.begin(), result_.all.end(),
                     [](const Gap& a, const Gap& b) { return a.buffer < b.buffer; });
  }

  Gaps take() { return std::move(result_); }

 private:
  struct Uses {
    std::int32_t last = 0;  // the latest step that used the buffer
    ValueId value;          // what it holds
    std::int32_t version = 0;
    bool allowed = false;
  };

  Uses& at(std::int32_t buffer) { return uses_[static_cast<std::size_t>(buffer)]; }

  std::size_t read_step(std::int32_t step, std::size_t operand) {
    const Node& node = model_.graph.node(schedule_.sequence[static_cast<std::size_t>(step)].node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) use(operand++, step);
    for (const ValueId output : node.outputs) {
      const std::int32_t copy = schedule_.operands[operand];
      use(operand++, step);
      if (copy < 0 || model_.values[output].base != output) continue;  // a view writes nothing
      Uses& uses = at(schedule_.copies[static_cast<std::size_t>(copy)].buffer);
      uses.value = output;
      ++uses.version;
    }
    return operand;
  }

  void use(std::size_t operand, std::int32_t step) {
    const std::int32_t copy = schedule_.operands[operand];
    if (copy < 0) return;
    const std::int32_t buffer = schedule_.copies[static_cast<std::size_t>(copy)].buffer;
    Uses& uses = at(buffer);
    const bool first = uses.last < 0;
    const bool may_leave = first || (uses.value.valid() && model_.values[uses.value].movable);
    if (uses.allowed && uses.value.valid() && may_leave && (first || step - uses.last > 1)) {
      add(buffer, step, first);
    }
    uses.last = step;
  }

  void add(std::int32_t buffer, std::int32_t before, bool required) {
    const Uses& uses = at(buffer);
    result_.all.push_back({buffer, uses.last, before, uses.value, uses.version, required});
  }

  const Model& model_;
  const Schedule& schedule_;
  std::vector<Uses> uses_;
  Gaps result_;
};

}  // namespace

Schedule with_file_state(const Model& model, Schedule schedule, const FileOffsets& offsets) {
  core::IdVector<ValueId, std::int32_t> buffer_of(model.values.size(), Schedule::kNone);
  std::size_t operand = 0;
  for (std::size_t i = 0; i < schedule.sequence.size(); ++i) {
    const auto step = static_cast<std::int32_t>(i);
    const Node& node = model.graph.node(schedule.sequence[i].node);
    for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *values) {
        std::int32_t& copy = schedule.operands[operand++];
        const ValueId home = model.values[value].home;
        if (copy != Schedule::kPersistent || !in_file(offsets, home)) continue;
        std::int32_t& buffer = buffer_of[home];
        if (buffer == Schedule::kNone) {
          buffer = static_cast<std::int32_t>(schedule.buffers.size());
          schedule.buffers.push_back({home, {model.values[home].bytes, step, step}});
        }
        schedule.buffers[static_cast<std::size_t>(buffer)].item.last = step;
        copy = static_cast<std::int32_t>(schedule.copies.size());
        schedule.copies.push_back({value, step, step, buffer});
      }
    }
  }
  for (TransientBuffer& buffer : schedule.buffers) {
    buffer.item.size = buffer.item.size.rounded_up(kTransferAlignment);
  }
  return schedule;
}

Gaps find_gaps(const Model& model,
               const Schedule& schedule,
               const FileOffsets& offsets,
               Bytes smallest) {
  return UseReader(model, schedule, offsets, smallest).take();
}

}  // namespace lowtide::plan
