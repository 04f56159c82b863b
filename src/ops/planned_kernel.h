// A kernel that works out its loops once, when it is bound: running it allocates nothing.
#pragma once

#include <string_view>
#include <utility>

#include "graph/kernel.h"

namespace lowtide::ops {

// Runs `run` with a plan made from a node's attributes and types.
template <class Plan>
class PlannedKernel final : public graph::BoundKernel {
 public:
  using RunFn = void (*)(const Plan&, const graph::Run&);

  PlannedKernel(std::string_view name, RunFn function, Plan plan, Bytes booked = Bytes())
      : name_(name), run_(function), plan_(std::move(plan)), scratch_(booked) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Bytes scratch() const override { return scratch_; }
  void run(const graph::Run& run) const override { run_(plan_, run); }

 private:
  std::string_view name_;
  RunFn run_;
  Plan plan_;
  Bytes scratch_;
};

}  // namespace lowtide::ops
