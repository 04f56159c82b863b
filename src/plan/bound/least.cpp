#include "plan/bound/least.h"

#include <algorithm>
#include <cstdint>

#include "plan/bound/bound.h"
#include "plan/model.h"
#include "plan/problem/graph_problem.h"

namespace lowtide::plan {

Least least(const graph::Graph& graph, const Costs& costs) {
  const Model model = read_model(graph, costs);
  const GraphProblem problem(model);
  return {.transient = Bytes(least_bytes(problem.problem())),
          .seconds = problem.problem().fastest_seconds()};
}

}  // namespace lowtide::plan
