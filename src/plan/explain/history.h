// History: what happens to each value in the course of a plan's steps.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/model.h"
#include "plan/plan.h"

namespace lowtide::plan {

// A stretch of steps in which a value's bytes are in memory, from the step that writes (or fetches)
// them to the last that reads (or stores) them.
struct Stay {
  std::int32_t first = 0;
  std::int32_t last = 0;
  Place place;
  std::vector<std::int32_t> reads;  // steps
};

class History {
 public:
  History(const graph::Graph& graph, const Costs& costs, const Plan& plan);

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const std::vector<Stay>& stays(ValueId id) const { return stays_[id]; }
  // The steps that run a node, in order.
  [[nodiscard]] const std::vector<std::int32_t>& runs(NodeId id) const { return runs_[id]; }
  // The stay that a step falls into, or null.
  [[nodiscard]] const Stay* at(ValueId id, std::int32_t step) const;

  // Seconds to compute the value again just before a step, from what is in memory there, and the
  // nodes that takes. Nothing (`possible` false) where something on the way may not run again.
  struct Again {
    bool possible = false;
    double seconds = 0;
    std::vector<NodeId> nodes;
    ValueId obstacle;  // the value that cannot be computed again
  };
  [[nodiscard]] Again again(ValueId id, std::int32_t step) const;

 private:
  Model model_;
  core::IdVector<ValueId, std::vector<Stay>> stays_;
  core::IdVector<NodeId, std::vector<std::int32_t>> runs_;
};

}  // namespace lowtide::plan
