// Program: a plan bound to memory. A flat list of steps; running it does no work but kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "run/kernels.h"
#include "run/timeline.h"
#include "run/transfers.h"
#include "run/watch.h"

namespace lowtide::run {

// Decides which kernels run when a program is walked through to measure it, and hears how long each
// took.
class Probe {
 public:
  Probe() = default;
  virtual ~Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  Probe(Probe&&) = delete;
  Probe& operator=(Probe&&) = delete;

  virtual bool wants(graph::NodeId node) = 0;
  virtual void took(graph::NodeId node, double seconds) = 0;
};

// Holds pointers into the kernels and the arena it was bound to; both must outlive it.
class Program {
 public:
  // The plan must have passed plan::check for this graph. `arena` is the first byte of at least
  // plan.arena_bytes, aligned to plan::kAlignment (to plan::kTransferAlignment where the plan has
  // transfers). Those need `spill`, which must have room for the plan's file and outlive the last
  // step.
  static Program bind(const graph::Graph& graph,
                      const plan::Plan& plan,
                      const Kernels& kernels,
                      std::byte* arena,
                      memory::SpillStore* spill = nullptr);

  // Runs all steps once; no transfer is under way afterwards. Allocates nothing. Notes each step's
  // times where a timeline is given. Returns false where the watch stopped it: what is not computed
  // yet stays so, state and spill file included. Throws Error(kIo) when a transfer fails: then the
  // values are lost, and some transfers may still be under way, so that the spill store must go
  // before the program and the arena.
  bool step(const graph::StepContext& context,
            Timeline* timeline = nullptr,
            Watch* watch = nullptr) const;

  // Goes through all steps, transfers included, but runs only the kernels that the probe wants.
  // What the others would have written is left as it was.
  void measure(const graph::StepContext& context, Probe& probe) const;

  // Seconds that steps have waited for transfers so far.
  [[nodiscard]] double waited() const { return transfers_ ? transfers_->waited() : 0; }

  // How many entries a step adds to a timeline.
  [[nodiscard]] std::size_t step_count() const { return steps_.size(); }

  // Where an input is to be written before a step, and an output or persistent value is found after
  // it. Empty for values that this program does not hold at those times (an unused input, or a
  // value whose home is the spill file).
  [[nodiscard]] std::span<std::byte> bytes(graph::ValueId value) const { return places_[value]; }

 private:
  struct BoundStep {
    graph::NodeId node;
    const graph::BoundKernel* kernel;
    std::span<const std::byte* const> in;
    std::span<std::byte* const> out;
    std::span<std::byte> scratch;
    std::int32_t position = 0;  // in the plan
  };

  void reserve(const plan::Plan& plan);
  static void run(const BoundStep& step, const graph::StepContext& context);

  std::unique_ptr<Transfers> transfers_;  // null where the plan has none
  std::vector<const std::byte*> in_pointers_;
  std::vector<std::byte*> out_pointers_;
  std::vector<BoundStep> steps_;
  core::IdVector<graph::ValueId, std::span<std::byte>> places_;
};

}  // namespace lowtide::run
