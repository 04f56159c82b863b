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

namespace {

class Execution {
 public:
  Execution(const Graph& graph, const Plan& plan, const FileOffsets& file_offsets)
      : graph_(graph),
        plan_(plan),
        file_offsets_(file_offsets),
        arena_(static_cast<std::size_t>(plan.arena_bytes.count()) + 1, std::byte{0xEE}),
        file_(static_cast<std::size_t>(plan.spill_bytes.count()) + 1, std::byte{0xDD}) {
    fill();
  }

  Results run() {
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      transfers(static_cast<std::int32_t>(i));
      run(plan_.steps[i]);
    }
    transfers(static_cast<std::int32_t>(plan_.steps.size()));
    Results results;
    for (const ValueId id : final_values(graph_)) {
      const std::byte* first = home(id) ? home(id) : at(where_.at(id));
      results[graph_.value(id).name] = {first, first + graph_.type(id).bytes().count()};
    }
    return results;
  }

 private:
  std::byte* at(const Place& place) {
    return arena_.data() + (plan_.buffers[place.buffer].offset + place.within).count();
  }

  // In the file, of a version of a value that lives there; null for others.
  std::byte* home(ValueId id) {
    while (graph_.value(id).previous_version.valid()) id = graph_.value(id).previous_version;
    return in_file(file_offsets_, id) ? file_.data() + file_offsets_[id].count() : nullptr;
  }

  void fill() {
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueId id(i);
      if (graph_.value(id).producer.valid() || home(id) == nullptr) continue;
      const std::vector<std::byte> bytes = initial(graph_, id);
      std::copy(bytes.begin(), bytes.end(), home(id));
    }
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[BufferId(i)];
      if (buffer.kind == BufferKind::kScratch || graph_.value(buffer.value).producer.valid()) {
        continue;
      }
      // Only where it is from the start: a spilled input comes back to another buffer.
      if (home(buffer.value) != nullptr || where_.count(buffer.value) != 0) continue;
      where_[buffer.value] = {BufferId(i), Bytes(0)};
      const std::vector<std::byte> bytes = initial(graph_, buffer.value);
      std::copy(bytes.begin(), bytes.end(), at(where_[buffer.value]));
    }
  }

  void transfers(std::int32_t step) {
    for (const Transfer& transfer : plan_.transfers) {
      if (transfer.finish == step && transfer.start < step) finish(transfer);
    }
    for (const Direction direction : {Direction::kStore, Direction::kFetch}) {
      for (const Transfer& transfer : plan_.transfers) {
        if (transfer.start != step || transfer.direction != direction) continue;
        std::byte* const bytes =
            direction == Direction::kFetch ? at(transfer.place) : slot(transfer);
        std::fill_n(bytes, graph_.type(transfer.value).bytes().count(), std::byte{0xCC});
      }
      for (const Transfer& transfer : plan_.transfers) {
        if (transfer.start == step && transfer.finish == step && transfer.direction == direction) {
          finish(transfer);
        }
      }
    }
  }

  std::byte* slot(const Transfer& transfer) {
    return file_.data() + plan_.slots[transfer.slot].offset.count();
  }

  void finish(const Transfer& transfer) {
    const bool store = transfer.direction == Direction::kStore;
    std::byte* const from = store ? at(transfer.place) : slot(transfer);
    std::copy_n(from, graph_.type(transfer.value).bytes().count(),
                store ? slot(transfer) : at(transfer.place));
  }

  void run(const Step& step) {
    const graph::Node& node = graph_.node(step.node);
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (const Place& place : step.in) in.push_back(at(place));
    for (std::size_t o = 0; o < step.out.size(); ++o) {
      out.push_back(at(step.out[o]));
      where_[node.outputs[o]] = step.out[o];
    }
    std::span<std::byte> scratch;
    if (step.scratch.valid()) {
      const Buffer& buffer = plan_.buffers[step.scratch];
      scratch = {at({step.scratch, Bytes(0)}), static_cast<std::size_t>(buffer.size.count())};
    }
    const auto in_types = graph_.types(node.inputs);
    const auto out_types = graph_.types(node.outputs);
    const graph::StepContext context;
    node.op->bind(node.attrs, {in_types, out_types}, core::Machine{})
        ->run({in, out, scratch, &context});
  }

  const Graph& graph_;
  const Plan& plan_;
  const FileOffsets& file_offsets_;
  std::vector<std::byte> arena_;
  std::vector<std::byte> file_;
  std::map<ValueId, Place> where_;
};

}  // namespace

Results execute(const Graph& graph, const Plan& plan, const FileOffsets& file_offsets) {
  return Execution(graph, plan, file_offsets).run();
}

}  // namespace lowtide::plan
