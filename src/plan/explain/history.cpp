#include "plan/explain/history.h"

#include <algorithm>

namespace lowtide::plan {

History::History(const graph::Graph& graph, const Costs& costs, const Plan& plan)
    : model_(read_model(graph, costs)), stays_(graph.value_count()), runs_(graph.node_count()) {
  const auto open = [&](ValueId id, std::int32_t step, const Place& place) {
    stays_[id].push_back({step, step, place, {}});
  };
  const auto steps = static_cast<std::int32_t>(plan.steps.size());
  std::size_t transfer = 0;
  for (std::int32_t step = 0; step < steps; ++step) {
    for (; transfer < plan.transfers.size() && plan.transfers[transfer].start <= step; ++transfer) {
      const Transfer& moved = plan.transfers[transfer];
      if (moved.direction == Direction::kFetch) {
        open(moved.value, moved.start, moved.place);
      } else if (!stays_[moved.value].empty()) {
        Stay& stay = stays_[moved.value].back();
        stay.last = std::max(stay.last, moved.finish - 1);
      }
    }
    const Step& now = plan.steps[static_cast<std::size_t>(step)];
    const graph::Node& node = graph.node(now.node);
    runs_[now.node].push_back(step);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (stays_[id].empty()) open(id, 0, now.in[i]);  // it exists before the first step
      Stay& stay = stays_[id].back();
      stay.last = std::max(stay.last, step);
      if (stay.reads.empty() || stay.reads.back() != step) stay.reads.push_back(step);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) open(node.outputs[i], step, now.out[i]);
  }
  for (const Buffer& buffer : plan.buffers) {
    // Outputs, scalars and what lives in the arena stay as long as their buffers.
    if (buffer.kind == BufferKind::kScratch) continue;
    const ValueFacts& facts = model_.values[buffer.value];
    std::vector<Stay>& stays = stays_[buffer.value];
    if (!stays.empty() && (facts.pinned || buffer.kind == BufferKind::kPersistent)) {
      stays.back().last = buffer.last;
    }
  }
}

const Stay* History::at(ValueId id, std::int32_t step) const {
  for (const Stay& stay : stays_[id]) {
    if (stay.first <= step && step <= stay.last) return &stay;
  }
  return nullptr;
}

History::Again History::again(ValueId id, std::int32_t step) const {
  Again result{.possible = true, .seconds = 0, .nodes = {}, .obstacle = {}};
  std::vector<ValueId> todo = {id};
  while (!todo.empty()) {
    const ValueId wanted = todo.back();
    todo.pop_back();
    const NodeId producer = model_.values[wanted].producer;
    const bool view = producer.valid() && model_.values[wanted].base != wanted;
    if (!producer.valid() || !(model_.nodes[producer].repeatable || view)) {
      result.possible = false;
      result.obstacle = wanted;
      return result;
    }
    if (std::find(result.nodes.begin(), result.nodes.end(), producer) != result.nodes.end()) {
      continue;
    }
    result.nodes.push_back(producer);
    result.seconds += model_.nodes[producer].seconds;
    for (const ValueId input : model_.graph.node(producer).inputs) {
      if (!model_.transient(input)) continue;
      if (input == id || at(input, step) == nullptr) todo.push_back(input);
    }
  }
  return result;
}

}  // namespace lowtide::plan
