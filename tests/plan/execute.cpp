#include "plan/execute.h"

#include <algorithm>
#include <cstring>

#include "core/random.h"
#include "graph/evaluate.h"

namespace lowtide::plan {

namespace {

using graph::Graph;

// What inputs and state hold before the first step.
std::vector<std::byte> initial(const Graph& graph, ValueId id) {
  core::RandomStream random(id.index(), 1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(graph.type(id).bytes().count()));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.word());
  return bytes;
}

std::vector<ValueId> final_values(const Graph& graph) {
  std::vector<ValueId> ids = graph.outputs();
  std::vector<bool> replaced(graph.value_count(), false);
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ValueId old = graph.value(ValueId(i)).previous_version;
    if (old.valid()) replaced[old.index()] = true;
  }
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    if (graph.value(ValueId(i)).previous_version.valid() && !replaced[i]) ids.emplace_back(i);
  }
  return ids;
}

}  // namespace

Results evaluate(const Graph& graph) {
  std::map<ValueId, graph::ConstantTensor> given;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(ValueId(i));
    if (value.producer.valid()) continue;
    given[ValueId(i)] = {
        value.type, std::make_shared<const std::vector<std::byte>>(initial(graph, ValueId(i)))};
  }
  const auto values = graph::interpret(graph, std::move(given), core::Machine{});
  Results results;
  for (const ValueId id : final_values(graph)) results[graph.value(id).name] = *values.at(id).bytes;
  return results;
}

Results execute(const Graph& graph, const Plan& plan) {
  std::vector<std::byte> arena(static_cast<std::size_t>(plan.arena_bytes.count()) + 1,
                               std::byte{0xEE});
  const auto at = [&](const Place& place) {
    return arena.data() + (plan.buffers[place.buffer].offset + place.within).count();
  };
  std::map<ValueId, Place> where;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[BufferId(i)];
    if (buffer.kind == BufferKind::kScratch || graph.value(buffer.value).producer.valid()) continue;
    where[buffer.value] = {BufferId(i), Bytes(0)};
    const std::vector<std::byte> bytes = initial(graph, buffer.value);
    std::copy(bytes.begin(), bytes.end(), at(where[buffer.value]));
  }
  for (const Step& step : plan.steps) {
    const graph::Node& node = graph.node(step.node);
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (const Place& place : step.in) in.push_back(at(place));
    for (std::size_t o = 0; o < step.out.size(); ++o) {
      out.push_back(at(step.out[o]));
      where[node.outputs[o]] = step.out[o];
    }
    std::span<std::byte> scratch;
    if (step.scratch.valid()) {
      const Buffer& buffer = plan.buffers[step.scratch];
      scratch = {at({step.scratch, Bytes(0)}), static_cast<std::size_t>(buffer.size.count())};
    }
    const auto in_types = graph.types(node.inputs);
    const auto out_types = graph.types(node.outputs);
    const graph::StepContext context;
    node.op->bind(node.attrs, {in_types, out_types}, core::Machine{})
        ->run({in, out, scratch, &context});
  }
  Results results;
  for (const ValueId id : final_values(graph)) {
    const std::byte* first = at(where.at(id));
    results[graph.value(id).name] = {first, first + graph.type(id).bytes().count()};
  }
  return results;
}

}  // namespace lowtide::plan
