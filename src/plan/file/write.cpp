// Writing plan files, and the digest of what a plan relies on.
#include <ostream>

#include "core/json.h"
#include "core/text.h"
#include "plan/file/names.h"
#include "plan/file/plan_file.h"

namespace lowtide::plan {

namespace {

using core::text;

std::string json(std::string_view words) {
  return core::Json(words).dump(-1, ' ', false, core::Json::error_handler_t::replace);
}

template <class Ids>
std::string indices(const Ids& ids) {
  std::string list;
  for (const auto id : ids) list += text("{}{}", list.empty() ? "" : ",", id.index());
  return list;
}

// A buffer, or [buffer, bytes into it].
std::string places(const std::vector<Place>& places) {
  std::string list;
  for (const Place& place : places) {
    if (!list.empty()) list += ',';
    list += place.within == Bytes(0) ? text("{}", place.buffer.index())
                                     : text("[{},{}]", place.buffer.index(), place.within.count());
  }
  return list;
}

std::string line(const FileValue& value) {
  return text(R"({{"name":{},"type":{},"role":{},"bytes":{}}})", json(value.name), json(value.type),
              json(value.role), value.bytes.count());
}

std::string line(const FileNode& node) {
  return text(R"({{"name":{},"op":{},"phase":{},"kernel":{},"seconds":{},"in":[{}],"out":[{}]}})",
              json(node.name), json(node.op), json(node.phase), json(node.kernel), node.seconds,
              indices(node.in), indices(node.out));
}

std::string line(const Buffer& buffer) {
  const std::string value =
      buffer.value.valid() ? text(R"("value":{},)", buffer.value.index()) : "";
  return text(R"({{"kind":{},{}"offset":{},"size":{},"first":{},"last":{}}})",
              json(name(buffer.kind)), value, buffer.offset.count(), buffer.size.count(),
              buffer.first, buffer.last);
}

std::string line(const Step& step) {
  const std::string scratch =
      step.scratch.valid() ? text(R"(,"scratch":{})", step.scratch.index()) : "";
  return text(R"({{"node":{}{},"in":[{}],"out":[{}]{}}})", step.node.index(),
              step.again ? R"(,"again":true)" : "", places(step.in), places(step.out), scratch);
}

std::string line(const Slot& slot) {
  return text(R"({{"value":{},"offset":{},"size":{}}})", slot.value.index(), slot.offset.count(),
              slot.size.count());
}

std::string line(const Transfer& transfer) {
  return text(
      R"({{"direction":{},"value":{},"buffer":{},"within":{},"slot":{},"start":{},"finish":{}}})",
      json(name(transfer.direction)), transfer.value.index(), transfer.place.buffer.index(),
      transfer.place.within.count(), transfer.slot.index(), transfer.start, transfer.finish);
}

std::string line(const FileState& state) {
  return text(R"({{"name":{},"bytes":{},"in_file":{},"offset":{}}})", json(state.name),
              state.bytes.count(), state.in_file, state.offset.count());
}

template <class Items>
void write_list(std::ostream& stream, const char* name, const Items& items) {
  stream << text(",\n\"{}\":[", name);
  const char* separator = "\n";
  for (const auto& item : items) {
    stream << separator << line(item);
    separator = ",\n";
  }
  stream << ']';
}

void write_program(std::ostream& stream, const FileProgram& program) {
  const Plan& plan = program.plan;
  stream << text(R"({{"purpose":{},"samples":{},"digest":{},"policy":{})", json(program.purpose),
                 program.samples, json(program.digest), json(name(plan.policy)));
  stream << text(
      ",\n"
      R"("arena_bytes":{},"peak_live_bytes":{},"peak_step":{},"predicted_seconds":{},)"
      R"("lower_bound_seconds":{},"kept":{},"recomputed":{})",
      plan.arena_bytes.count(), plan.peak_live_bytes.count(), plan.peak_step,
      plan.predicted_seconds, plan.lower_bound_seconds, plan.kept, plan.recomputed);
  stream << text(
      ",\n"
      R"("spill_bytes":{},"store_bytes_per_second":{},"fetch_bytes_per_second":{},)"
      R"("stall_seconds":{})",
      plan.spill_bytes.count(), plan.rates.store, plan.rates.fetch, plan.stall_seconds);
  write_list(stream, "values", program.values);
  write_list(stream, "nodes", program.nodes);
  write_list(stream, "buffers", plan.buffers);
  write_list(stream, "steps", plan.steps);
  write_list(stream, "slots", plan.slots);
  write_list(stream, "transfers", plan.transfers);
  stream << '}';
}

// FNV-1a.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) mix(static_cast<unsigned char>(byte));
    mix(0);
  }
  void add(std::int64_t number) { add(text("{}", number)); }

  [[nodiscard]] std::string str() const { return text("{:016x}", state_); }

 private:
  void mix(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3U; }

  std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace

std::string digest(const graph::Graph& graph, const Costs& costs) {
  const auto index = [](auto id) {
    return id.valid() ? static_cast<std::int64_t>(id.index()) : std::int64_t{-1};
  };
  Hash hash;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(ValueId(i));
    hash.add(value.name);
    hash.add(value.type.str());
    hash.add(name(value.role));
    hash.add(index(value.previous_version));
  }
  const auto add_all = [&](const std::vector<ValueId>& ids) {
    hash.add(static_cast<std::int64_t>(ids.size()));
    for (const ValueId id : ids) hash.add(index(id));
  };
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(NodeId(i));
    hash.add(node.name);
    hash.add(node.op->name());
    hash.add(name(node.phase));
    add_all(node.inputs);
    add_all(node.outputs);
    hash.add(costs[NodeId(i)].scratch.count());
  }
  add_all(graph.inputs());
  add_all(graph.outputs());
  return hash.str();
}

void write_plan_file(std::ostream& stream, const PlanFile& file) {
  stream << "{\"format\":\"lowtide plan\",\"version\":1,\n\"settings\":{";
  const char* separator = "";
  for (const auto& [option, value] : file.settings) {
    stream << separator << json(option) << ':' << json(value);
    separator = ",";
  }
  stream << text(
      "}},\n"
      R"("costs":{},"budget_bytes":{},"runtime_bytes":{})",
      json(file.costs), file.budget.count(), file.runtime.count());
  write_list(stream, "state", file.state);
  stream << ",\n\"programs\":[";
  separator = "\n";
  for (const FileProgram& program : file.programs) {
    stream << separator;
    write_program(stream, program);
    separator = ",\n";
  }
  stream << "]}\n";
}

}  // namespace lowtide::plan
