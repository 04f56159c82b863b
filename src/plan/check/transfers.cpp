// Transfers and slots, without what they carry: the replay follows that.
#include <algorithm>
#include <array>
#include <cmath>

#include "plan/check/subject.h"

namespace lowtide::plan {

namespace {

bool multiple(Bytes bytes, Bytes unit) {
  return bytes >= Bytes(0) && bytes.count() % unit.count() == 0;
}

void check_slots(Subject& subject) {
  for (std::size_t i = 0; i < subject.plan.slots.size(); ++i) {
    const Slot& slot = subject.plan.slots[SlotId(i)];
    if (!multiple(slot.offset, kSlotAlignment) || !multiple(slot.size, kSlotAlignment)) {
      subject.fault("slot {} lies at {} with {} bytes, not multiples of {}", i, slot.offset.count(),
                    slot.size.count(), kSlotAlignment.count());
    }
    if (slot.offset + slot.size > subject.plan.spill_bytes) {
      subject.fault("slot {} ends outside the spill file", i);
    }
    if (in_file(subject.file_offsets, slot.value) &&
        slot.offset != subject.file_offsets[slot.value]) {
      subject.fault("'{}' has a slot that is not its home", subject.name(slot.value));
    }
  }
}

void check_transfer(Subject& subject, std::size_t index) {
  const Transfer& transfer = subject.plan.transfers[index];
  const Buffer& buffer = subject.plan.buffers[transfer.place.buffer];
  const auto steps = static_cast<std::int32_t>(subject.plan.steps.size());
  const Bytes bytes = subject.graph.type(transfer.value).bytes();
  const bool store = transfer.direction == Direction::kStore;
  if (index > 0 && subject.plan.transfers[index - 1].start > transfer.start) {
    subject.fault("transfer {} starts before the one that precedes it", index);
  }
  if (transfer.start < 0 || transfer.start > transfer.finish || transfer.finish > steps ||
      (!store && transfer.start >= std::max(steps, 1))) {
    subject.fault("transfer {} lasts from step {} to {} of {}", index, transfer.start,
                  transfer.finish, steps);
  }
  if (!multiple(buffer.offset + transfer.place.within, kTransferAlignment)) {
    subject.fault("transfer {} begins at memory that is not aligned", index);
  }
  if (transfer.place.within < Bytes(0) || transfer.place.within + bytes > buffer.size ||
      bytes > subject.plan.slots[transfer.slot].size || buffer.kind == BufferKind::kScratch) {
    subject.fault("transfer {} reaches outside its buffer or slot", index);
  }
  const bool begins_inside = store || buffer.first <= transfer.start;
  if (!begins_inside || buffer.last < transfer.finish - 1) {
    subject.fault("transfer {} uses buffer {} outside its life", index,
                  transfer.place.buffer.index());
  }
}

// Two queues beside the steps: when does each step begin?
double stalls(const Subject& subject) {
  const Plan& plan = subject.plan;
  std::vector<std::vector<std::size_t>> finishing(plan.steps.size() + 1);
  std::vector<std::vector<std::size_t>> starting(plan.steps.size() + 1);
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    finishing[static_cast<std::size_t>(plan.transfers[i].finish)].push_back(i);
    starting[static_cast<std::size_t>(plan.transfers[i].start)].push_back(i);
  }
  std::vector<double> ends(plan.transfers.size(), 0);
  std::array<double, 2> free = {0, 0};  // by direction: when its queue is empty
  double now = 0;
  double waited = 0;
  const auto wait = [&](std::size_t transfer) {
    waited += std::max(ends[transfer] - now, 0.0);
    now = std::max(now, ends[transfer]);
  };
  for (std::size_t step = 0; step <= plan.steps.size(); ++step) {
    const auto at = static_cast<std::int32_t>(step);
    for (const std::size_t i : finishing[step]) {
      if (plan.transfers[i].start < at) wait(i);
    }
    for (const Direction direction : {Direction::kStore, Direction::kFetch}) {
      const bool store = direction == Direction::kStore;
      const double rate = store ? plan.rates.store : plan.rates.fetch;
      double& queue = free[store ? 0 : 1];
      for (const std::size_t i : starting[step]) {
        const Transfer& transfer = plan.transfers[i];
        if (transfer.direction != direction) continue;
        const auto bytes = static_cast<double>(subject.graph.type(transfer.value).bytes().count());
        queue = std::max(queue, now) + bytes / rate;
        ends[i] = queue;
      }
      for (const std::size_t i : starting[step]) {
        if (plan.transfers[i].direction == direction && plan.transfers[i].finish == at) wait(i);
      }
    }
    if (step < plan.steps.size()) now += subject.costs[plan.steps[step].node].seconds;
  }
  return waited;
}

}  // namespace

bool check_transfers(Subject& subject) {
  const std::size_t before = subject.faults.size();
  check_slots(subject);
  for (std::size_t i = 0; i < subject.plan.transfers.size(); ++i) check_transfer(subject, i);
  if (subject.faults.size() > before) return false;
  const double waited = stalls(subject);
  if (!(std::abs(waited - subject.plan.stall_seconds) <= 1e-9 * std::max(1.0, waited))) {
    subject.fault("steps wait {} s for transfers, the plan says {} s", waited,
                  subject.plan.stall_seconds);
  }
  return true;
}

}  // namespace lowtide::plan
