#include "train/fit/planners.h"

#include <algorithm>
#include <limits>
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
    least = std::max(least, planner(i).smallest_arena(places, least));
  }
  return least;
}

// That with all state in memory or that with none: nothing between needs less than both.
Bytes Planners::smallest_arena() {
  return std::min(smallest_arena(0), smallest_arena(places_.size() - 1));
}

bool Planners::fits(Bytes arena, std::size_t places) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (!planner(i).fits(arena, places)) return false;
  }
  return true;
}

// Of one full batch, if that is less than `bound`.
std::optional<double> Planners::seconds(Bytes arena, std::size_t places, double bound) {
  double sum = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (passes_[i] == 0) continue;
    const std::optional<double> one =
        planner(i).fastest_seconds(arena, places, (bound - sum) / passes_[i]);
    if (!one) return std::nullopt;
    sum += passes_[i] * *one;
  }
  return sum < bound ? std::optional(sum) : std::nullopt;
}

std::variant<Fitted, plan::Infeasible> Planners::fit(Bytes arena) {
  std::optional<std::size_t> best;
  double best_seconds = std::numeric_limits<double>::infinity();
  const Bytes smallest = smallest_arena();
  for (std::size_t i = 0; i < places_.size() && smallest <= arena; ++i) {
    const std::optional<double> found = seconds(arena, i, best_seconds);
    if (!found || !fits(arena, i)) continue;
    best = i;
    best_seconds = *found;
  }
  // Where nothing fits, the way that needs the least says what is in the way.
  Fitted fitted{.plans = {},
                .places = best.value_or(smallest_arena(0) == smallest ? 0 : places_.size() - 1),
                .seconds = best_seconds};
  for (std::size_t i = 0; i < units_.size(); ++i) {
    std::variant<plan::Plan, plan::Infeasible> made = planner(i).make(arena, fitted.places);
    if (auto* const infeasible = std::get_if<plan::Infeasible>(&made)) {
      infeasible->smallest_arena_bytes = smallest;
      return *infeasible;
    }
    fitted.plans.push_back(std::get<plan::Plan>(std::move(made)));
  }
  return fitted;
}

}  // namespace lowtide::train
