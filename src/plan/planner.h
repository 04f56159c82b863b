// Planner: the candidates of one graph, asked for plans at several arena sizes. plan::make in two
// steps, for callers that want to know the smallest size first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "plan/baseline/layers.h"
#include "plan/model.h"
#include "plan/packing/pack.h"
#include "plan/plan.h"
#include "plan/problem/graph_problem.h"
#include "plan/schedule.h"
#include "plan/search/search.h"
#include "plan/spill/spiller.h"

namespace lowtide::plan {

// Homes: where persistent values lie between steps. One of several ways; the caller chooses among
// them, as all programs that share the values must agree.
struct Homes {
  core::IdVector<ValueId, Bytes> offsets;  // in the arena
  Bytes arena_bytes;                       // bytes [0, arena_bytes) are theirs alone
  FileOffsets file_offsets = {};           // of those that live in the spill file instead
  Bytes file_bytes = {};                   // likewise, of the file
};

class Planner;

// How to plan.
struct Planning {
  Policy policy = Policy::kLowtide;
  std::optional<SpillTier> tier = std::nullopt;  // with one, what lies idle may leave memory
  Layers layers = {};                            // for the baselines
  // Where the costs are measured, and so another in every process: those of the model, which are
  // the same. The schedules that a search with these finds are candidates too, and they alone
  // decide what the smallest arena is.
  const Costs* model_costs = nullptr;
  // The planner of the same nodes at another batch size. If its tasks are the same, its schedules
  // are the candidates, and nothing is searched.
  const Planner* like = nullptr;
};

// Searches on construction, and packs and spills on demand. The graph must outlive it; everything
// else is copied. Not for concurrent use.
class Planner {
 public:
  Planner(const graph::Graph& graph,
          const Costs& costs,
          std::vector<Homes> homes,
          const Planning& planning);
  // With a tier, what lies idle may be moved to the spill file.
  Planner(const graph::Graph& graph,
          const Costs& costs,
          std::vector<Homes> homes,
          Policy policy,
          const std::optional<SpillTier>& tier = std::nullopt);
  // Persistent values have one home each, in the arena.
  Planner(const graph::Graph& graph,
          const Costs& costs,
          const core::IdVector<ValueId, Bytes>& persistent_offsets,
          Bytes persistent_bytes,
          Policy policy);

  // The smallest arena for which make() gives a plan with these homes. Does not depend on the
  // tier's rates, and is beyond any machine where the tier's limit is too small. Where another
  // graph of the same run needs `enough` anyway, little work goes into less than that.
  Bytes smallest_arena(std::size_t homes = 0, Bytes enough = {});
  // Whether that is at most `arena`: sooner said.
  bool fits(Bytes arena, std::size_t homes = 0);
  // The fastest candidate that fits.
  std::variant<Plan, Infeasible> make(Bytes arena, std::size_t homes = 0);
  // The seconds of what make() gives if fits(), and if they are less than `bound`.
  std::optional<double> fastest_seconds(Bytes arena, std::size_t homes, double bound);

 private:
  // A candidate of the search, spilled or not.
  struct Choice {
    std::size_t candidate = 0;
    double seconds = 0;
    Bytes peak;                                 // transient
    std::optional<Bytes> limit = std::nullopt;  // to spill down to
    Overlap overlap = Overlap::kFull;
    std::optional<Packing> packing = std::nullopt;  // of its buffers; once it was asked for
    Bytes arena;                                    // that it needs, likewise
  };

  using Choices = std::vector<Choice>;

  using Spillers = std::map<std::size_t, std::unique_ptr<Spiller>>;  // by candidate

  // What was found out about one of the homes.
  struct Known {
    Choices listed;                                           // fastest first
    std::map<std::pair<std::size_t, Bytes>, Choice> spilled;  // by candidate and limit
  };

  void search_all(const Planning& planning);
  bool adopt(const Planner& other);
  void add(std::vector<Candidate> found);
  void search_relieved();
  void choose_spillable();
  [[nodiscard]] bool steady(std::size_t candidate) const;
  [[nodiscard]] Schedule schedule(std::size_t candidate) const;
  [[nodiscard]] Schedule schedule(const Choice& choice, const Homes& homes) const;
  [[nodiscard]] Bytes base(const Homes& homes) const;  // where transient buffers begin
  Known& known(std::size_t homes);
  Choice* fastest(Bytes arena, std::size_t homes, double bound);
  Choice* most_promising(Bytes arena, std::size_t homes, double bound, Spillers& spillers);
  Choice& spilled(std::size_t candidate, std::size_t homes, Bytes limit, Spiller& spiller);
  [[nodiscard]] std::unique_ptr<Spiller> make_spiller(std::size_t candidate,
                                                      const Homes& homes) const;
  Bytes arena(Choice& choice, const Homes& homes, Bytes enough = {}) const;
  std::vector<Choice*> lasting(std::size_t homes);
  Choice& smallest_choice(std::size_t homes, Bytes enough = {});
  // With the bound for an arena of that size.
  [[nodiscard]] Plan plan(const Choice& choice, const Homes& homes, Bytes arena) const;
  [[nodiscard]] Infeasible infeasible(const Choice& smallest, const Homes& homes) const;

  Model model_;
  GraphProblem problem_;
  std::vector<Homes> homes_;
  Policy policy_;
  std::optional<SpillTier> tier_;
  Victim victim_ = Victim::kNeededLast;
  // By a search with the model's costs those that are the same in every process, `steady_` of them,
  // fastest first by that model; then, where costs are measured, those of another search with them;
  // then, with a tier, those for fewer bytes than there are. Where each of these fronts begins, and
  // where the last one ends.
  std::vector<Candidate> candidates_;
  std::size_t steady_ = 0;
  std::vector<std::size_t> fronts_;
  std::vector<std::size_t> spillable_;       // the candidates that are spilled, fastest first
  std::vector<std::optional<Known>> known_;  // by homes
};

}  // namespace lowtide::plan
