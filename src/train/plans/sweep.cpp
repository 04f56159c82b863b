#include "train/plans/sweep.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "train/fit/budget.h"
#include "train/fit/planners.h"

namespace lowtide::train {
namespace {

constexpr std::int64_t kParts = 10;  // of the range of budgets

class Sweeper {
 public:
  Sweeper(Configuration& configuration, Bytes runtime)
      : configuration_(configuration), runtime_(runtime) {
    for (const plan::Policy policy : plan::all_policies()) {
      planners_.push_back(configuration.planners(policy));
      const Bytes least = smallest_budget(runtime, planners_.back()->smallest_arena());
      sweep_.curves.push_back({std::string(plan::name(policy)), least, {}});
      if (policy == plan::Policy::kKeep) measure_keep(*planners_.back());
    }
  }

  PlanSweep run() {
    list_budgets();
    for (std::size_t i = 0; i < planners_.size(); ++i) {
      SweepCurve& curve = sweep_.curves[i];
      for (const Bytes budget : sweep_.budgets) {
        if (budget < curve.smallest_feasible) continue;
        const auto answer = planners_[i]->fit(budget - runtime_);
        if (const Fitted* const fitted = std::get_if<Fitted>(&answer)) {
          curve.points.push_back(point(*fitted, budget));
        }
      }
    }
    sweep_.micro_batch = configuration_.micro_batch();
    return std::move(sweep_);
  }

 private:
  // What keeping everything in memory takes of the arena beside the state, and the budget for it.
  void measure_keep(Planners& keep) {
    constexpr Bytes kPlenty{std::int64_t{1} << 60U};
    const auto answer = keep.fit(kPlenty);
    const Fitted& fitted = std::get<Fitted>(answer);
    sweep_.keep = moving_bytes(fitted);
    Bytes arena;
    for (const plan::Plan& plan : fitted.plans) arena = std::max(arena, plan.arena_bytes);
    most_ = smallest_budget(runtime_, arena);
  }

  [[nodiscard]] Bytes moving_bytes(const Fitted& fitted) const {
    return fitted.plans.front().arena_bytes -
           configuration_.all_places()[fitted.places].arena_bytes;
  }

  void list_budgets() {
    std::set<Bytes> budgets = {most_};
    Bytes least = most_;
    for (const SweepCurve& curve : sweep_.curves) {
      budgets.insert(curve.smallest_feasible);
      least = std::min(least, curve.smallest_feasible);
    }
    for (std::int64_t i = 1; i < kParts; ++i) {
      budgets.insert(smallest_budget(least, Bytes((most_ - least).count() * i / kParts)));
    }
    sweep_.budgets.assign(budgets.begin(), budgets.upper_bound(most_));
  }

  [[nodiscard]] SweepPoint point(const Fitted& fitted, Bytes budget) const {
    SweepPoint point{.budget = budget, .predicted_seconds = fitted.seconds};
    const std::span<const double> passes = configuration_.passes();
    for (std::size_t i = 0; i < fitted.plans.size(); ++i) {
      const plan::Plan& plan = fitted.plans[i];
      point.arena = std::max(point.arena, plan.arena_bytes);
      point.stall_seconds += passes[i] * plan.stall_seconds;
      for (const plan::Step& step : plan.steps) {
        if (!step.again) continue;
        point.recomputed_seconds += passes[i] * configuration_.units()[i].costs[step.node].seconds;
      }
    }
    point.recomputed = fitted.plans.front().recomputed;
    if (sweep_.keep > Bytes(0)) {
      point.share_of_keep = static_cast<double>(moving_bytes(fitted).count()) /
                            static_cast<double>(sweep_.keep.count());
    }
    return point;
  }

  Configuration& configuration_;
  Bytes runtime_;
  Bytes most_;                                       // the largest budget of the sweep
  std::vector<std::shared_ptr<Planners>> planners_;  // by curve
  PlanSweep sweep_;
};

}  // namespace

PlanSweep sweep(Configuration& configuration, Bytes runtime) {
  return Sweeper(configuration, runtime).run();
}

}  // namespace lowtide::train
