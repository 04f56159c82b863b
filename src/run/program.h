// Program: a plan bound to memory. A flat list of steps; running it does no work but kernels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "run/kernels.h"
#include "run/timeline.h"

namespace lowtide::run {

// Holds pointers into the kernels and the arena it was bound to; both must outlive it.
class Program {
 public:
  // The plan must have passed plan::check for this graph. `arena` is the first byte of at least
  // plan.arena_bytes, aligned to plan::kAlignment.
  static Program bind(const graph::Graph& graph,
                      const plan::Plan& plan,
                      const Kernels& kernels,
                      const core::IdVector<graph::ValueId, Bytes>& persistent_offsets,
                      std::byte* arena);

  // Runs all steps once. Allocates nothing. Notes each step's times where a timeline is given.
  void step(const graph::StepContext& context, Timeline* timeline = nullptr) const;

  // How many entries a step adds to a timeline.
  [[nodiscard]] std::size_t step_count() const { return steps_.size(); }

  // Where an input is to be written before a step, and an output or persistent value is found after
  // it. Empty for values that this program does not hold at those times (an unused input).
  [[nodiscard]] std::span<std::byte> bytes(graph::ValueId value) const { return places_[value]; }

 private:
  struct BoundStep {
    graph::NodeId node;
    const graph::BoundKernel* kernel;
    std::span<const std::byte* const> in;
    std::span<std::byte* const> out;
    std::span<std::byte> scratch;
  };

  std::vector<const std::byte*> in_pointers_;
  std::vector<std::byte*> out_pointers_;
  std::vector<BoundStep> steps_;
  core::IdVector<graph::ValueId, std::span<std::byte>> places_;
};

}  // namespace lowtide::run
