// A plan for people and for other programs: stable text and JSON.
#include "core/text.h"

#include <string>

#include "core/json.h"
#include "plan/plan.h"

namespace lowtide::plan {

namespace {

using core::Json;
using core::text;
using graph::Graph;
using graph::Node;
using graph::Phase;

std::string_view name(BufferKind kind) {
  switch (kind) {
    case BufferKind::kPersistent: return "persistent";
    case BufferKind::kTransient: return "transient";
    case BufferKind::kScratch: return "scratch";
  }
  return "unknown";
}

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::kForward: return "forward";
    case Phase::kLoss: return "loss";
    case Phase::kBackward: return "backward";
    case Phase::kUpdate: return "update";
  }
  return "unknown";
}

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

// How often each value is computed: once and kept, or again.
core::IdVector<ValueId, int> computations(const Graph& graph, const Plan& plan) {
  core::IdVector<ValueId, int> count(graph.value_count(), 0);
  for (const Step& step : plan.steps) {
    for (const ValueId output : graph.node(step.node).outputs) ++count[output];
  }
  return count;
}

std::string_view name(Direction direction) {
  return direction == Direction::kStore ? "store" : "fetch";
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

Json transfer_json(const Transfer& transfer) {
  return {{"direction", std::string(name(transfer.direction))},
          {"value", transfer.value.index()},
          {"buffer", transfer.place.buffer.index()},
          {"within", transfer.place.within.count()},
          {"slot", transfer.slot.index()},
          {"start", transfer.start},
          {"finish", transfer.finish}};
}

Json spill_json(const Graph& graph, const Plan& plan) {
  Json json = {{"file_bytes", plan.spill_bytes.count()},
               {"stored_bytes", traffic(graph, plan, Direction::kStore).count()},
               {"fetched_bytes", traffic(graph, plan, Direction::kFetch).count()},
               {"store_bytes_per_second", plan.rates.store},
               {"fetch_bytes_per_second", plan.rates.fetch},
               {"stall_seconds", plan.stall_seconds}};
  json["slots"] = Json::array();
  for (const Slot& slot : plan.slots) {
    json["slots"].push_back({{"value", slot.value.index()},
                             {"offset", slot.offset.count()},
                             {"size", slot.size.count()}});
  }
  json["transfers"] = Json::array();
  for (const Transfer& transfer : plan.transfers) {
    json["transfers"].push_back(transfer_json(transfer));
  }
  return json;
}

Json places(const std::vector<ValueId>& values, const std::vector<Place>& where) {
  Json list = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    list.push_back({{"value", values[i].index()},
                    {"buffer", where[i].buffer.index()},
                    {"within", where[i].within.count()}});
  }
  return list;
}

Json step_json(const Graph& graph, const Step& step) {
  const Node& node = graph.node(step.node);
  Json json = {{"node", step.node.index()},
               {"name", node.name},
               {"op", std::string(node.op->name())},
               {"phase", std::string(name(node.phase))},
               {"again", step.again},
               {"in", places(node.inputs, step.in)},
               {"out", places(node.outputs, step.out)}};
  if (step.scratch.valid()) json["scratch"] = step.scratch.index();
  return json;
}

Json buffer_json(const Buffer& buffer) {
  Json json = {{"kind", std::string(name(buffer.kind))},
               {"offset", buffer.offset.count()},
               {"size", buffer.size.count()},
               {"first", buffer.first},
               {"last", buffer.last}};
  if (buffer.value.valid()) json["value"] = buffer.value.index();
  return json;
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

std::string to_json(const Graph& graph, const Plan& plan) {
  Json json = {{"policy", std::string(name(plan.policy))},
               {"arena_bytes", plan.arena_bytes.count()},
               {"peak_live_bytes", plan.peak_live_bytes.count()},
               {"peak_step", plan.peak_step},
               {"predicted_seconds", plan.predicted_seconds},
               {"lower_bound_seconds", plan.lower_bound_seconds},
               {"kept", plan.kept},
               {"recomputed", plan.recomputed}};
  json["values"] = Json::array();
  const core::IdVector<ValueId, int> count = computations(graph, plan);
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(ValueId(i));
    json["values"].push_back({{"name", value.name},
                              {"bytes", value.type.bytes().count()},
                              {"computed", count[ValueId(i)]}});
  }
  json["buffers"] = Json::array();
  for (const Buffer& buffer : plan.buffers) json["buffers"].push_back(buffer_json(buffer));
  json["steps"] = Json::array();
  for (const Step& step : plan.steps) json["steps"].push_back(step_json(graph, step));
  if (!plan.slots.empty()) json["spill"] = spill_json(graph, plan);
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lowtide::plan
