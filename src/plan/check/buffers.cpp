// The buffers of a plan, without its steps.
#include <algorithm>
#include <map>
#include <utility>

#include "plan/check/subject.h"

namespace lowtide::plan {

namespace {

void check_persistent(Subject& subject, std::size_t index, const Buffer& buffer) {
  if (!subject.resident(buffer.value)) {
    subject.fault("buffer {} is persistent, '{}' is not", index, subject.name(buffer.value));
    return;
  }
  if (!subject.persistent_offsets.contains(buffer.value) ||
      buffer.offset != subject.persistent_offsets[buffer.value]) {
    subject.fault("'{}' does not lie at its fixed place", subject.name(buffer.value));
  }
  if (buffer.first != 0 || buffer.last + 1 < static_cast<std::int32_t>(subject.plan.steps.size())) {
    subject.fault("'{}' is persistent and must live from the first to the last step",
                  subject.name(buffer.value));
  }
}

void report_overlap(Subject& subject, BufferId a, BufferId b) {
  subject.fault("buffers {} and {} overlap while both are in use", a.index(), b.index());
}

bool known(const Subject& subject, ValueId id) {
  return id.valid() && id.index() < subject.graph.value_count();
}

void check_transfer_ids(Subject& subject) {
  for (std::size_t i = 0; i < subject.plan.transfers.size(); ++i) {
    const Transfer& transfer = subject.plan.transfers[i];
    if (!known(subject, transfer.value) || !subject.plan.buffers.contains(transfer.place.buffer) ||
        !subject.plan.slots.contains(transfer.slot)) {
      subject.fault("transfer {} has no value, buffer or slot", i);
    }
  }
  for (const Slot& slot : subject.plan.slots) {
    if (!known(subject, slot.value)) subject.fault("a slot holds a value that does not exist");
  }
}

}  // namespace

// Ids exist and every step has a place for each operand.
void check_structure(Subject& subject) {
  for (std::size_t i = 0; i < subject.plan.steps.size(); ++i) {
    const Step& step = subject.plan.steps[i];
    if (!step.node.valid() || step.node.index() >= subject.graph.node_count()) {
      subject.fault("step {} runs a node that does not exist", i);
      continue;
    }
    const graph::Node& node = subject.graph.node(step.node);
    if (step.in.size() != node.inputs.size() || step.out.size() != node.outputs.size()) {
      subject.fault("{} has places for {} inputs and {} outputs, the node {} and {}",
                    subject.describe(i), step.in.size(), step.out.size(), node.inputs.size(),
                    node.outputs.size());
    }
    for (const std::vector<Place>* places : {&step.in, &step.out}) {
      for (const Place& place : *places) {
        if (!subject.plan.buffers.contains(place.buffer))
          subject.fault("{} has no buffer", subject.describe(i));
      }
    }
    if (step.scratch.valid() && !subject.plan.buffers.contains(step.scratch)) {
      subject.fault("{} has no scratch buffer", subject.describe(i));
    }
  }
  check_transfer_ids(subject);
  for (const Buffer& buffer : subject.plan.buffers) {
    if (buffer.kind != BufferKind::kScratch &&
        (!buffer.value.valid() || buffer.value.index() >= subject.graph.value_count())) {
      subject.fault("a buffer holds a value that does not exist");
    }
  }
}

void check_buffers(Subject& subject) {
  const auto steps = static_cast<std::int32_t>(subject.plan.steps.size());
  for (std::size_t i = 0; i < subject.plan.buffers.size(); ++i) {
    const Buffer& buffer = subject.plan.buffers[BufferId(i)];
    if (buffer.offset.count() % kAlignment.count() != 0 || buffer.offset < Bytes(0)) {
      subject.fault("buffer {} lies at {}, not on a multiple of {}", i, buffer.offset.count(),
                    kAlignment.count());
    }
    if (buffer.size.count() % kAlignment.count() != 0 || buffer.size < Bytes(0)) {
      subject.fault("buffer {} has a size of {}, not a multiple of {}", i, buffer.size.count(),
                    kAlignment.count());
    }
    if (buffer.offset + buffer.size > subject.plan.arena_bytes) {
      subject.fault("buffer {} ends at {}, outside the arena of {}", i,
                    (buffer.offset + buffer.size).count(), subject.plan.arena_bytes.count());
    }
    if (buffer.first < 0 || buffer.first > buffer.last || buffer.last >= std::max(steps, 1)) {
      subject.fault("buffer {} lives from step {} to {} of {}", i, buffer.first, buffer.last,
                    steps);
    }
    if (buffer.kind == BufferKind::kScratch) continue;
    if (buffer.size < subject.graph.type(buffer.value).bytes()) {
      subject.fault("buffer {} is too small for '{}'", i, subject.name(buffer.value));
    }
    if (buffer.kind == BufferKind::kPersistent) check_persistent(subject, i, buffer);
    if (buffer.kind == BufferKind::kTransient && subject.resident(buffer.value)) {
      subject.fault("'{}' is persistent, its buffer {} is not", subject.name(buffer.value), i);
    }
  }
}

// No two buffers in use at one time share bytes, and the bytes in use stay within the bounds.
void check_overlaps(Subject& subject) {
  std::vector<std::vector<BufferId>> begins(subject.plan.steps.size() + 1);
  std::vector<std::vector<BufferId>> ends(subject.plan.steps.size() + 1);
  for (std::size_t i = 0; i < subject.plan.buffers.size(); ++i) {
    const Buffer& buffer = subject.plan.buffers[BufferId(i)];
    const auto last_step = static_cast<std::int32_t>(subject.plan.steps.size());
    begins[static_cast<std::size_t>(std::clamp(buffer.first, 0, last_step))].emplace_back(i);
    ends[static_cast<std::size_t>(std::clamp(buffer.last, 0, last_step))].emplace_back(i);
  }
  std::map<std::int64_t, std::pair<std::int64_t, BufferId>> in_use;
  Bytes live;
  Bytes most;
  for (std::size_t step = 0; step < begins.size(); ++step) {
    for (const BufferId id : begins[step]) {
      const Range taken = subject.extent(id);
      live += subject.plan.buffers[id].size;
      if (taken.empty()) continue;
      const auto next = in_use.lower_bound(taken.begin);
      if (next != in_use.end() && next->first < taken.end)
        report_overlap(subject, id, next->second.second);
      if (next != in_use.begin() && std::prev(next)->second.first > taken.begin) {
        report_overlap(subject, id, std::prev(next)->second.second);
      }
      in_use.emplace(taken.begin, std::pair(taken.end, id));
    }
    most = std::max(most, live);
    for (const BufferId id : ends[step]) {
      live -= subject.plan.buffers[id].size;
      const auto it = in_use.find(subject.extent(id).begin);
      if (it != in_use.end() && it->second.second == id) in_use.erase(it);
    }
  }
  if (most > subject.plan.peak_live_bytes) {
    subject.fault("{} bytes are in use at one step, the plan says at most {}", most.count(),
                  subject.plan.peak_live_bytes.count());
  }
}

}  // namespace lowtide::plan
