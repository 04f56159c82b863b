// Planner: the candidates of one graph, asked for plans at several arena sizes. plan::make in two
// steps, for callers that want to know the smallest size first.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "plan/model.h"
#include "plan/pack.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "plan/search/search.h"

namespace lowtide::plan {

// Searches on construction and packs on demand. The graph must outlive it; everything else is
// copied. Not for concurrent use.
class Planner {
 public:
  Planner(const graph::Graph& graph,
          const Costs& costs,
          const core::IdVector<ValueId, Bytes>& persistent_offsets,
          Bytes persistent_bytes,
          Policy policy);

  // The smallest arena for which make() gives a plan.
  Bytes smallest_arena();
  // The fastest candidate that fits.
  std::variant<Plan, Infeasible> make(Bytes arena);

 private:
  [[nodiscard]] Schedule schedule(std::size_t candidate) const;
  Bytes arena(std::size_t candidate);  // that the candidate needs
  std::size_t smallest_candidate();
  Plan plan(std::size_t candidate);
  Infeasible infeasible();
  std::vector<BufferId> add_buffers(const Schedule& schedule, Plan& plan) const;
  void add_steps(const Schedule& schedule, const std::vector<BufferId>& ids, Plan& plan) const;

  Model model_;
  Droppable droppable_;
  core::IdVector<ValueId, Bytes> persistent_offsets_;
  Bytes persistent_bytes_;
  Policy policy_;
  std::vector<Candidate> candidates_;         // fastest first
  std::vector<std::optional<Bytes>> arenas_;  // of candidates packed so far
};

}  // namespace lowtide::plan
