#include "run/transfers.h"

#include <algorithm>
#include <limits>

namespace lowtide::run {
namespace {

static_assert(plan::kSlotAlignment.count() % memory::kSpillBlock.count() == 0);
static_assert(plan::kTransferAlignment.count() % memory::kSpillAlignment.count() == 0);

// Where an action stands among those of one step.
enum Turn : std::uint8_t { kWaitEarlier, kStore, kWaitStore, kFetch, kWaitFetch };

Turn turn_of(const plan::Transfer& transfer, bool wait) {
  const bool store = transfer.direction == plan::Direction::kStore;
  if (!wait) return store ? kStore : kFetch;
  if (transfer.start < transfer.finish) return kWaitEarlier;
  return store ? kWaitStore : kWaitFetch;
}

}  // namespace

Transfers::Transfers(const graph::Graph& graph,
                     const plan::Plan& plan,
                     std::byte* arena,
                     memory::SpillStore& store)
    : store_(store), transfers_(std::make_unique<memory::Transfer[]>(plan.transfers.size())) {
  std::vector<std::pair<Turn, Action>> all;
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const plan::Transfer& planned = plan.transfers[i];
    memory::Transfer& transfer = transfers_[i];
    transfer.direction = planned.direction == plan::Direction::kStore ? memory::Direction::kStore
                                                                      : memory::Direction::kFetch;
    transfer.offset = plan.slots[planned.slot].offset;
    transfer.memory = {
        arena + (plan.buffers[planned.place.buffer].offset + planned.place.within).count(),
        static_cast<std::size_t>(graph.type(planned.value).bytes().count())};
    all.push_back({turn_of(planned, false), {planned.start, false, &transfer}});
    all.push_back({turn_of(planned, true), {planned.finish, true, &transfer}});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second.step != b.second.step ? a.second.step < b.second.step : a.first < b.first;
  });
  for (const auto& [turn, action] : all) actions_.push_back(action);
}

void Transfers::before(std::int32_t step) {
  while (next_ < actions_.size() && actions_[next_].step <= step) act(actions_[next_++]);
}

void Transfers::end() { before(std::numeric_limits<std::int32_t>::max()); }

void Transfers::stop() {
  for (std::size_t i = 0; i < next_; ++i) {
    if (!actions_[i].wait) store_.wait(*actions_[i].transfer);
  }
}

void Transfers::act(const Action& action) {
  if (!action.wait) {
    store_.submit(*action.transfer);
    return;
  }
  if (action.transfer->state.load(std::memory_order_acquire) == memory::Transfer::kUnderWay) {
    const auto start = std::chrono::steady_clock::now();
    store_.wait(*action.transfer);
    waited_ += std::chrono::steady_clock::now() - start;
    return;
  }
  store_.wait(*action.transfer);
}

}  // namespace lowtide::run
