// Planners: one for each program of a configuration, under one policy, asked together.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "plan/planner.h"
#include "train/fit/state_layout.h"

namespace lowtide::train {

struct Unit;

// Plans of all programs in one arena, and which of the homes of the state they agree on.
struct Fitted {
  std::vector<plan::Plan> plans;  // by unit
  std::size_t places = 0;
  double seconds = 0;  // of one full batch, predicted
};

class Planners {
 public:
  // `passes` counts how often each unit runs in a full batch. Everything is referred to and must
  // stay where it is. The search runs when something is first asked.
  Planners(std::span<const Unit> units,
           std::span<const double> passes,
           const StateLayout& state,
           std::span<const StatePlaces> places,
           plan::Policy policy,
           const std::optional<plan::SpillTier>& tier);

  // The least arena for which fit() succeeds.
  Bytes smallest_arena();
  // The fastest plans, over the homes of the state; or what does not fit where, with
  // smallest_arena_bytes for all programs together.
  std::variant<Fitted, plan::Infeasible> fit(Bytes arena);

 private:
  plan::Planner& planner(std::size_t unit);
  Bytes smallest_arena(std::size_t places);
  bool fits(Bytes arena, std::size_t places);
  std::optional<double> seconds(Bytes arena, std::size_t places, double bound);

  std::span<const Unit> units_;
  std::span<const double> passes_;
  const StateLayout& state_;
  std::span<const StatePlaces> places_;
  plan::Policy policy_;
  std::optional<plan::SpillTier> tier_;
  std::vector<std::unique_ptr<plan::Planner>> planners_;  // by unit
};

}  // namespace lowtide::train
