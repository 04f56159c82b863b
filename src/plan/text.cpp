// A plan for people: stable text.
#include "core/text.h"

#include <string>

#include "plan/file/names.h"
#include "plan/plan.h"

namespace lowtide::plan {

namespace {

using core::text;
using graph::Graph;
using graph::Node;

std::string label(const Graph& graph, ValueId id) {
  return id.valid() ? text("%{} {}", id.index(), graph.value(id).name) : "-";
}

// "%4@2+64": value 4 in buffer 2, 64 bytes in.
std::string operands(const std::vector<ValueId>& values, const std::vector<Place>& places) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t within = places[i].within.count();
    parts.push_back(text("%{}@{}{}", values[i].index(), places[i].buffer.index(),
                         within == 0 ? "" : text("+{}", within)));
  }
  return text("{}", fmt::join(parts, ", "));
}

std::string spill_text(const Graph& graph, const Plan& plan) {
  if (plan.slots.empty()) return "";
  std::string result =
      text("spill: {} slots in {} bytes, {} stored, {} fetched, {} s waited\n", plan.slots.size(),
           plan.spill_bytes.count(), traffic(graph, plan, Direction::kStore).count(),
           traffic(graph, plan, Direction::kFetch).count(), plan.stall_seconds);
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[SlotId(i)];
    result += text("  ${} {} {} {}\n", i, slot.offset.count(), slot.size.count(),
                   label(graph, slot.value));
  }
  result += "transfers: steps what\n";
  for (const Transfer& transfer : plan.transfers) {
    result +=
        text("  {}..{} {} {} ${}\n", transfer.start, transfer.finish, name(transfer.direction),
             operands({transfer.value}, {transfer.place}), transfer.slot.index());
  }
  return result;
}

}  // namespace

std::string to_text(const Graph& graph, const Plan& plan) {
  std::string result =
      text("plan {}: {} steps, {} recomputed, {} kept, arena {}, peak {} at step {}\n",
           name(plan.policy), plan.steps.size(), plan.recomputed, plan.kept,
           plan.arena_bytes.count(), plan.peak_live_bytes.count(), plan.peak_step);
  result += "buffers: offset size steps content\n";
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[BufferId(i)];
    result += text("  @{} {} {} {}..{} {} {}\n", i, buffer.offset.count(), buffer.size.count(),
                   buffer.first, buffer.last, name(buffer.kind), label(graph, buffer.value));
  }
  result += "steps: outputs = op(inputs)\n";
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const Node& node = graph.node(step.node);
    result +=
        text("  {}{} {} = {}({}){}  # {}\n", i, step.again ? " again" : "",
             operands(node.outputs, step.out), node.op->name(), operands(node.inputs, step.in),
             step.scratch.valid() ? text(" scratch @{}", step.scratch.index()) : "", node.name);
  }
  return result + spill_text(graph, plan);
}

Bytes traffic(const Graph& graph, const Plan& plan, Direction direction) {
  Bytes sum;
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.direction == direction) sum += graph.type(transfer.value).bytes();
  }
  return sum;
}

}  // namespace lowtide::plan
