// Configuration: one way to run within memory - a micro-batch size and every program it needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "kernels/dnnl/engine.h"
#include "plan/plan.h"
#include "plan/planner.h"
#include "run/kernels.h"
#include "run/program.h"
#include "train/fit/planners.h"
#include "train/fit/state_layout.h"
#include "train/prepare/pass_graph.h"

namespace lowtide::train {

// A pass ready to be planned, and later to be run.
struct Unit {
  enum class Purpose : std::uint8_t { kTrain, kAccumulate, kUpdate, kEvaluate };

  Purpose purpose = Purpose::kTrain;
  PassGraph pass;
  run::Kernels kernels;
  kernels::PrimitiveCounts primitives;  // that the kernels run
  plan::Layers layers;                  // what kinds of layer the baselines see
  plan::Costs costs;                    // that plans are made with
  plan::Costs model_costs;              // the same in every process
  bool measured = false;                // costs are not model_costs
  plan::Homes homes;  // of its persistent values, as the plan has them; after fit()
  std::optional<plan::Plan> plan;
  std::optional<run::Program> program;
};

// The passes that make up one batch of some size: `count` of unit `unit` each.
struct Portion {
  std::size_t unit = 0;
  std::int64_t count = 0;
};

class Configuration {
 public:
  // For training: batches of these sizes (the full one first), cut into micro-batches. Where the
  // recipe has validation data, also for evaluating micro-batches of that, with the state of the
  // training programs.
  static Configuration for_training(const Recipe& recipe,
                                    const TrainSettings& settings,
                                    std::span<const std::int64_t> batch_sizes,
                                    std::int64_t micro_batch,
                                    const std::optional<plan::SpillTier>& tier = std::nullopt);
  static Configuration for_evaluation(const Recipe& recipe,
                                      std::span<const std::int64_t> batch_sizes,
                                      plan::Policy policy);

  [[nodiscard]] std::int64_t micro_batch() const { return micro_batch_; }
  [[nodiscard]] bool accumulates() const { return update_.has_value(); }
  [[nodiscard]] const StateLayout& state() const { return state_; }
  // Where the state lies; after fit().
  [[nodiscard]] const StatePlaces& places() const { return places_[chosen_]; }
  [[nodiscard]] std::span<const Unit> units() const { return units_; }
  [[nodiscard]] const Unit& main() const { return units_.front(); }
  // The unit that updates after accumulation.
  [[nodiscard]] const Unit& update() const { return units_[*update_]; }
  // The unit that evaluates that many samples at once; there must be one.
  [[nodiscard]] const Unit& evaluation(std::int64_t samples) const;
  // How a batch of that many samples is cut; it must be one of the batch sizes.
  [[nodiscard]] const std::vector<Portion>& portions(std::int64_t samples) const;

  // Nodes that one batch goes through, counted for each pass, at most.
  [[nodiscard]] std::size_t nodes_per_batch() const;

  [[nodiscard]] std::size_t node_count() const;
  // Of all units' kernels.
  [[nodiscard]] kernels::PrimitiveCounts primitives() const;

  // What no plans can do without, whatever the arena is: bytes of that, where nothing is spilled,
  // and seconds of one full batch. Needs no search.
  struct Least {
    Bytes arena;
    double seconds = 0;
  };
  [[nodiscard]] Least least() const;
  // The least arena for which fit() succeeds.
  Bytes smallest_arena();
  // Plans every unit for an arena of that size and proves the plans; with a spill file, also
  // decides which state lives there. Where a unit does not fit, its Infeasible comes back, with
  // smallest_arena_bytes for all units together.
  std::optional<plan::Infeasible> fit(Bytes arena);
  // Takes these plans, one for each unit, instead of making some; `places` is where they have the
  // state, `seconds` what they were made with. Proves them as fit() does, but distrusts them: what
  // is wrong comes back, as plan::check says it, and then nothing has changed.
  std::vector<std::string> adopt(std::vector<plan::Plan> plans,
                                 const std::vector<core::IdVector<plan::NodeId, double>>& seconds,
                                 StatePlaces places);
  // Plans with these costs, by unit, from now on. Where nothing runs again and nothing is moved,
  // the present plans stay, with new predictions, and the answer is true; else fit() comes next.
  bool use_costs(std::vector<plan::Costs> costs);
  // How often each unit runs in a full batch.
  [[nodiscard]] std::span<const double> passes() const { return passes_; }
  // Where the state may lie: what Fitted::places counts.
  [[nodiscard]] std::span<const StatePlaces> all_places() const { return places_; }
  // Those of another policy; the own ones, which fit() asks, where it is the own policy. The
  // configuration must outlive them and keep its costs.
  std::shared_ptr<Planners> planners(plan::Policy policy);
  // Of one full batch; after fit().
  [[nodiscard]] double predicted_seconds() const;
  [[nodiscard]] double lower_bound_seconds() const;
  [[nodiscard]] Bytes arena_bytes() const;      // the largest of the plans; after fit()
  [[nodiscard]] Bytes spill_bytes() const;      // of the file, likewise
  [[nodiscard]] std::size_t transfers() const;  // of one pass at most, likewise

  // Loads the state and binds every unit to an arena of at least arena_bytes(), and to a spill file
  // of at least spill_bytes() where that is not none.
  void bind(std::byte* arena, memory::SpillStore* file = nullptr);

 private:
  void add_unit(Unit::Purpose purpose, PassGraph pass, const core::Machine& machine);
  void start_planning(plan::Policy policy, const std::optional<plan::SpillTier>& tier);
  [[nodiscard]] std::vector<double> leisure() const;
  [[nodiscard]] std::vector<Portion> cut(std::int64_t samples) const;
  template <class OfUnit>
  [[nodiscard]] double total(OfUnit of_unit) const;

  std::int64_t batch_ = 0;
  std::int64_t micro_batch_ = 0;
  plan::Policy policy_ = plan::Policy::kLowtide;
  std::optional<plan::SpillTier> tier_;
  std::vector<double> passes_;
  std::shared_ptr<Planners> planners_;  // made when they are first asked
  StateLayout state_;
  std::vector<StatePlaces> places_;  // to choose among
  std::size_t chosen_ = 0;
  std::vector<Unit> units_;
  std::map<std::int64_t, std::vector<Portion>> portions_;  // by batch size
  std::optional<std::size_t> update_;
};

}  // namespace lowtide::train
