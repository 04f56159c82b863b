// Transfers: those of a plan, begun and waited for while its steps run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/spill/store.h"
#include "plan/plan.h"

namespace lowtide::run {

// Holds pointers into the arena and the spill store; both must outlive it, and a store with
// transfers under way must go first.
class Transfers {
 public:
  Transfers(const graph::Graph& graph,
            const plan::Plan& plan,
            std::byte* arena,
            memory::SpillStore& store);

  // Begins a pass over the plan's steps.
  void begin() { next_ = 0; }
  // Does what comes before that step of the plan, and before those that were passed over. Costs
  // next to nothing where nothing is due. Throws Error(kIo) for a transfer that failed.
  void before(std::int32_t step);
  // What comes behind the last step: afterwards nothing is under way.
  void end();
  // In place of end() where a pass stops early: waits for what has begun, and begins no more.
  void stop();

  // Seconds spent waiting since the transfers were made.
  [[nodiscard]] double waited() const { return std::chrono::duration<double>(waited_).count(); }

 private:
  struct Action {
    std::int32_t step = 0;
    bool wait = false;  // else begin
    memory::Transfer* transfer = nullptr;
  };

  void act(const Action& action);

  memory::SpillStore& store_;
  std::unique_ptr<memory::Transfer[]> transfers_;
  std::vector<Action> actions_;  // in the order of plan::Transfer's rules
  std::size_t next_ = 0;
  std::chrono::steady_clock::duration waited_{0};
};

}  // namespace lowtide::run
