#include "plan/schedule.h"

#include <algorithm>
#include <span>
#include <utility>

namespace lowtide::plan {

namespace {

using graph::Alias;
using graph::Node;
using graph::Sharing;

class Scheduler {
 public:
  Scheduler(const Model& model, Sequence sequence)
      : model_(model), end_(static_cast<std::int32_t>(sequence.size())) {
    schedule_.sequence = std::move(sequence);
  }

  Schedule make() {
    find_copies();
    for (std::size_t i = 0; i < model_.inputs.size(); ++i) new_buffer(i, 0);
    schedule_.scratch.assign(schedule_.sequence.size(), Schedule::kNone);
    std::size_t operand = 0;
    for (std::int32_t step = 0; step < end_; ++step) operand = place_outputs(step, operand);
    for (TransientBuffer& buffer : schedule_.buffers) {
      buffer.item.last = std::clamp(buffer.item.last, buffer.item.first, std::max(end_ - 1, 0));
    }
    for (Copy& copy : schedule_.copies) copy.last_read = std::min(copy.last_read, end_ - 1);
    return std::move(schedule_);
  }

 private:
  // First pass: which copy every operand is, and each copy's last reader. A pinned value is read
  // at `end_`, past the last step, so that not even that one overwrites it.
  void find_copies() {
    core::IdVector<ValueId, std::int32_t> current(model_.values.size(), Schedule::kPersistent);
    std::vector<Copy>& copies = schedule_.copies;
    const auto write = [&](ValueId id, std::int32_t step) {
      if (!model_.transient(id)) return Schedule::kPersistent;
      current[id] = static_cast<std::int32_t>(copies.size());
      copies.push_back({id, step, step, 0});
      return current[id];
    };
    for (const ValueId id : model_.inputs) write(id, 0);
    for (std::int32_t step = 0; step < end_; ++step) {
      const Node& node = node_at(step);
      for (const ValueId input : node.inputs) {
        const std::int32_t copy = current[input];
        if (copy >= 0) copies[static_cast<std::size_t>(copy)].last_read = step;
        schedule_.operands.push_back(copy);
      }
      for (const ValueId output : node.outputs) schedule_.operands.push_back(write(output, step));
    }
    for (std::size_t i = 0; i < model_.values.size(); ++i) {
      const std::int32_t copy = current[ValueId(i)];
      if (copy >= 0 && model_.values[ValueId(i)].pinned) {
        copies[static_cast<std::size_t>(copy)].last_read = end_;
      }
    }
  }

  // Second pass, step by step: a view joins its input's buffer, a value in place takes over that of
  // an input nobody reads any more, others get their own. Returns the next step's first operand.
  std::size_t place_outputs(std::int32_t step, std::size_t first_operand) {
    const Node& node = node_at(step);
    const NodeFacts& facts = model_.nodes[schedule_.sequence[static_cast<std::size_t>(step)].node];
    const std::span<const std::int32_t> in(schedule_.operands.data() + first_operand,
                                           node.inputs.size());
    taken_.clear();
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const std::int32_t copy = schedule_.operands[first_operand + in.size() + o];
      if (copy < 0) continue;
      const std::int32_t shared = shared_buffer(facts, in, o, step);
      if (shared >= 0) {
        join(static_cast<std::size_t>(copy), shared);
        taken_.push_back(shared);
      } else {
        new_buffer(static_cast<std::size_t>(copy), step);
      }
    }
    if (facts.scratch > Bytes(0)) {
      schedule_.scratch[static_cast<std::size_t>(step)] =
          static_cast<std::int32_t>(schedule_.buffers.size());
      schedule_.buffers.push_back({ValueId(), {facts.scratch, step, step}});
    }
    return first_operand + in.size() + node.outputs.size();
  }

  [[nodiscard]] std::int32_t shared_buffer(const NodeFacts& facts,
                                           std::span<const std::int32_t> in,
                                           std::size_t output,
                                           std::int32_t step) const {
    for (const Alias& alias : facts.aliases) {
      if (static_cast<std::size_t>(alias.output) != output) continue;
      const std::int32_t copy = in[static_cast<std::size_t>(alias.input)];
      if (copy < 0 || alias.sharing == Sharing::kState) continue;
      const std::int32_t buffer = schedule_.copies[static_cast<std::size_t>(copy)].buffer;
      if (alias.sharing == Sharing::kView || may_overwrite(facts, in, alias.output, buffer, step)) {
        return buffer;
      }
    }
    return Schedule::kNone;
  }

  // Nothing in the buffer is read after this step, no other output took it, and every input that
  // lies in it is one the card lets this output overwrite.
  [[nodiscard]] bool may_overwrite(const NodeFacts& facts,
                                   std::span<const std::int32_t> in,
                                   int output,
                                   std::int32_t buffer,
                                   std::int32_t step) const {
    if (schedule_.buffers[static_cast<std::size_t>(buffer)].item.last > step) return false;
    if (std::find(taken_.begin(), taken_.end(), buffer) != taken_.end()) return false;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i] < 0 || schedule_.copies[static_cast<std::size_t>(in[i])].buffer != buffer) continue;
      const bool allowed =
          std::any_of(facts.aliases.begin(), facts.aliases.end(), [&](const Alias& alias) {
            return alias.output == output && static_cast<std::size_t>(alias.input) == i &&
                   alias.sharing == Sharing::kInPlace;
          });
      if (!allowed) return false;
    }
    return true;
  }

  void new_buffer(std::size_t copy, std::int32_t step) {
    const ValueId value = schedule_.copies[copy].value;
    schedule_.buffers.push_back({value, {model_.values[value].bytes, step, step}});
    join(copy, static_cast<std::int32_t>(schedule_.buffers.size()) - 1);
  }

  void join(std::size_t copy, std::int32_t buffer) {
    schedule_.copies[copy].buffer = buffer;
    std::int32_t& last = schedule_.buffers[static_cast<std::size_t>(buffer)].item.last;
    last = std::max(last, schedule_.copies[copy].last_read);
  }

  [[nodiscard]] const Node& node_at(std::int32_t step) const {
    return model_.graph.node(schedule_.sequence[static_cast<std::size_t>(step)].node);
  }

  const Model& model_;
  std::int32_t end_;
  std::vector<std::int32_t> taken_;
  Schedule schedule_;
};

}  // namespace

Schedule make_schedule(const Model& model, Sequence sequence) {
  return Scheduler(model, std::move(sequence)).make();
}

std::vector<Bytes> profile(const Schedule& schedule) {
  std::vector<Bytes> live(schedule.sequence.size() + 1);
  for (const TransientBuffer& buffer : schedule.buffers) {
    live[static_cast<std::size_t>(buffer.item.first)] += buffer.item.size;
    const std::size_t after = static_cast<std::size_t>(buffer.item.last) + 1;
    if (after < live.size()) live[after] -= buffer.item.size;
  }
  for (std::size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  if (live.size() > 1) live.pop_back();
  return live;
}

}  // namespace lowtide::plan
