#include "plan/check/transfer_replay.h"

#include <algorithm>

namespace lowtide::plan {

TransferReplay::TransferReplay(Subject& subject,
                               Contents& arena,
                               const core::IdVector<ValueId, ValueId>& same_bytes)
    : subject_(subject),
      plan_(subject.plan),
      arena_(arena),
      same_bytes_(same_bytes),
      starting_(subject.plan.steps.size() + 1),
      finishing_(subject.plan.steps.size() + 1) {
  for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
    starting_[static_cast<std::size_t>(plan_.transfers[i].start)].push_back(i);
    finishing_[static_cast<std::size_t>(plan_.transfers[i].finish)].push_back(i);
  }
  for (std::size_t i = 0; i < subject.file_offsets.size(); ++i) {
    const ValueId id(i);
    if (!in_file(subject.file_offsets, id)) continue;
    const std::int64_t home = subject.file_offsets[id].count();
    file_.write({home, home + subject.graph.type(id).bytes().count()}, id);
  }
}

void TransferReplay::before(std::size_t step) {
  const auto at = static_cast<std::int32_t>(step);
  for (const std::size_t i : finishing_[step]) {
    if (plan_.transfers[i].start < at) finish(i);
  }
  for (const Direction direction : {Direction::kStore, Direction::kFetch}) {
    for (const std::size_t i : starting_[step]) {
      if (plan_.transfers[i].direction == direction) begin(i);
    }
    for (const std::size_t i : starting_[step]) {
      if (plan_.transfers[i].direction == direction && plan_.transfers[i].finish == at) finish(i);
    }
  }
}

// Two transfers under way share bytes only where both read them.
void TransferReplay::check_apart(std::size_t index, const Range& memory, const Range& slot) {
  const Direction direction = plan_.transfers[index].direction;
  for (const std::size_t i : under_way_) {
    const Transfer& other = plan_.transfers[i];
    const bool both_store = direction == Direction::kStore && other.direction == Direction::kStore;
    const bool both_fetch = direction == Direction::kFetch && other.direction == Direction::kFetch;
    if ((!both_store && memory.overlaps(subject_.range(other.place, other.value))) ||
        (!both_fetch && slot.overlaps(subject_.range(other.slot, other.value)))) {
      subject_.fault("transfers {} and {} are under way in the same bytes", i, index);
    }
  }
}

void TransferReplay::begin(std::size_t index) {
  const Transfer& transfer = plan_.transfers[index];
  const Range memory = subject_.range(transfer.place, transfer.value);
  const Range slot = subject_.range(transfer.slot, transfer.value);
  const ValueId value = same_bytes_[transfer.value];
  check_apart(index, memory, slot);
  if (transfer.direction == Direction::kStore) {
    if (!arena_.holds(memory, value)) {
      subject_.fault("transfer {} stores '{}' from where it is not", index,
                     subject_.name(transfer.value));
    }
    file_.erase(slot);
  } else {
    if (!file_.holds(slot, value)) {
      subject_.fault("transfer {} fetches '{}' from where it is not", index,
                     subject_.name(transfer.value));
    }
    arena_.erase(memory);
  }
  under_way_.push_back(index);
}

void TransferReplay::finish(std::size_t index) {
  const Transfer& transfer = plan_.transfers[index];
  const ValueId value = same_bytes_[transfer.value];
  if (transfer.direction == Direction::kStore) {
    file_.write(subject_.range(transfer.slot, transfer.value), value);
  } else {
    arena_.write(subject_.range(transfer.place, transfer.value), value);
  }
  std::erase(under_way_, index);
}

void TransferReplay::during(std::size_t index) {
  if (under_way_.empty()) return;
  const Step& step = plan_.steps[index];
  const graph::Node& node = subject_.graph.node(step.node);
  for (const std::size_t i : under_way_) {
    const Transfer& transfer = plan_.transfers[i];
    const Range memory = subject_.range(transfer.place, transfer.value);
    const bool reads = transfer.direction == Direction::kFetch &&
                       std::any_of(step.in.begin(), step.in.end(), [&](const Place& place) {
                         const auto at = static_cast<std::size_t>(&place - step.in.data());
                         return memory.overlaps(subject_.range(place, node.inputs[at]));
                       });
    const bool writes = std::any_of(step.out.begin(), step.out.end(), [&](const Place& place) {
      const auto at = static_cast<std::size_t>(&place - step.out.data());
      const ValueId value = node.outputs[at];
      // A view writes nothing.
      return same_bytes_[value] == value && memory.overlaps(subject_.range(place, value));
    });
    const bool works = step.scratch.valid() && memory.overlaps(subject_.extent(step.scratch));
    if (reads || writes || works) {
      subject_.fault("{} touches bytes while transfer {} moves them", subject_.describe(index), i);
    }
  }
}

void TransferReplay::check_homes() {
  const graph::Graph& graph = subject_.graph;
  core::IdVector<ValueId, ValueId> newest(graph.value_count());
  for (std::size_t i = 0; i < graph.value_count(); ++i) newest[ValueId(i)] = ValueId(i);
  // Versions are produced in the order of their ids only where a graph was built in order; follow
  // the chain instead.
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ValueId old = graph.value(ValueId(i)).previous_version;
    if (old.valid()) newest[old] = ValueId(i);
  }
  for (std::size_t i = 0; i < subject_.file_offsets.size(); ++i) {
    ValueId id(i);
    if (!in_file(subject_.file_offsets, id)) continue;
    const std::int64_t home = subject_.file_offsets[id].count();
    const Range range{home, home + graph.type(id).bytes().count()};
    while (newest[id] != id) id = newest[id];
    if (!file_.holds(range, id)) {
      subject_.fault("'{}' is not at home in the file at the end", subject_.name(id));
    }
  }
}

}  // namespace lowtide::plan
