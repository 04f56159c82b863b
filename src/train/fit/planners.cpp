#include "train/fit/planners.h"

#include <algorithm>
#include <utility>

#include "train/fit/configuration.h"

namespace lowtide::train {

Planners::Planners(std::span<const Unit> units,
                   std::span<const double> passes,
                   const StateLayout& state,
                   std::span<const StatePlaces> places,
                   plan::Policy policy,
                   const std::optional<plan::SpillTier>& tier)
    : units_(units),
      passes_(passes),
      state_(state),
      places_(places),
      policy_(policy),
      tier_(tier),
      planners_(units.size()) {}

plan::Planner& Planners::planner(std::size_t index) {
  if (!planners_[index]) {
    const Unit& unit = units_[index];
    // A shorter batch runs once an epoch: what is right for the others is right for it.
    const plan::Planner* const like =
        index > 0 && policy_ == plan::Policy::kLowtide ? &planner(0) : nullptr;
    std::vector<plan::Homes> homes;
    for (const StatePlaces& places : places_) {
      homes.push_back(state_.homes(unit.pass.graph, places));
    }
    planners_[index] = std::make_unique<plan::Planner>(
        unit.pass.graph, unit.costs, std::move(homes),
        plan::Planning{.policy = policy_,
                       .tier = tier_,
                       .layers = unit.layers,
                       .model_costs = unit.measured ? &unit.model_costs : nullptr,
                       .like = like});
  }
  return *planners_[index];
}

Bytes Planners::smallest_arena(std::size_t places) {
  Bytes least;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    least = std::max(least, planner(i).smallest_arena(places));
  }
  return least;
}

Bytes Planners::smallest_arena() {
  Bytes least = smallest_arena(0);
  for (std::size_t i = 1; i < places_.size(); ++i) least = std::min(least, smallest_arena(i));
  return least;
}

std::optional<plan::Infeasible> Planners::make(Bytes arena, std::size_t places, Fitted& fitted) {
  fitted.places = places;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    std::variant<plan::Plan, plan::Infeasible> made = planner(i).make(arena, places);
    if (auto* const infeasible = std::get_if<plan::Infeasible>(&made)) return *infeasible;
    fitted.plans.push_back(std::get<plan::Plan>(std::move(made)));
    fitted.seconds += passes_[i] * fitted.plans.back().predicted_seconds;
  }
  return std::nullopt;
}

std::variant<Fitted, plan::Infeasible> Planners::fit(Bytes arena) {
  std::optional<plan::Infeasible> obstacle;
  std::optional<Fitted> best;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Fitted fitted;
    std::optional<plan::Infeasible> infeasible = make(arena, i, fitted);
    if (!infeasible) {
      if (!best || fitted.seconds < best->seconds) best = std::move(fitted);
      continue;
    }
    infeasible->smallest_arena_bytes = smallest_arena(i);
    if (!obstacle || infeasible->smallest_arena_bytes < obstacle->smallest_arena_bytes) {
      obstacle = std::move(infeasible);
    }
  }
  if (best) return *std::move(best);
  return *std::move(obstacle);
}

}  // namespace lowtide::train
