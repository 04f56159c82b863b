#include "cli/report/sweep_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace lowtide::cli {
namespace {

constexpr std::size_t kColumns = 4;  // policies beside one another

const SweepPoint* find(const SweepCurve& curve, Bytes budget) {
  const auto found = std::find_if(curve.points.begin(), curve.points.end(),
                                  [&](const SweepPoint& point) { return point.budget == budget; });
  return found == curve.points.end() ? nullptr : &*found;
}

std::string cell(const SweepCurve& curve, Bytes budget) {
  const SweepPoint* const point = find(curve, budget);
  if (point == nullptr) return fmt::format("{:>27}", "-");
  return fmt::format("{:>11.4g}{:>10.3g}{:>5.0f}%", point->predicted_seconds,
                     point->recomputed_seconds, 100 * point->share_of_keep);
}

}  // namespace

std::string sweep_text(const PlanSweep& sweep) {
  std::string text = fmt::format(
      "sweep at micro-batches of {}: seconds of a step, of these repeated work, and activations, "
      "gradients and workspaces in percent of keep's {}\n",
      sweep.micro_batch, sweep.keep.str());
  for (std::size_t first = 0; first < sweep.curves.size(); first += kColumns) {
    const std::size_t last = std::min(first + kColumns, sweep.curves.size());
    text += fmt::format("{:<12}", "budget");
    for (std::size_t i = first; i < last; ++i)
      text += fmt::format("{:>27}", sweep.curves[i].policy);
    text += '\n';
    for (const Bytes budget : sweep.budgets) {
      text += fmt::format("{:<12}", budget.str());
      for (std::size_t i = first; i < last; ++i) text += cell(sweep.curves[i], budget);
      text += '\n';
    }
    text += fmt::format("{:<12}", "smallest");
    for (std::size_t i = first; i < last; ++i) {
      text += fmt::format("{:>27}", sweep.curves[i].smallest_feasible.str());
    }
    text += '\n';
  }
  text.pop_back();
  return text;
}

nlohmann::json sweep_json(const PlanSweep& sweep) {
  nlohmann::json curves = nlohmann::json::array();
  for (const SweepCurve& curve : sweep.curves) {
    nlohmann::json points = nlohmann::json::array();
    for (const SweepPoint& point : curve.points) {
      points.push_back({{"budget_bytes", point.budget.count()},
                        {"arena_bytes", point.arena.count()},
                        {"predicted_seconds", point.predicted_seconds},
                        {"recomputed_seconds", point.recomputed_seconds},
                        {"stall_seconds", point.stall_seconds},
                        {"recomputed", point.recomputed},
                        {"share_of_keep", point.share_of_keep}});
    }
    curves.push_back({{"policy", curve.policy},
                      {"smallest_feasible_bytes", curve.smallest_feasible.count()},
                      {"points", points}});
  }
  nlohmann::json budgets = nlohmann::json::array();
  for (const Bytes budget : sweep.budgets) budgets.push_back(budget.count());
  return {{"micro_batch", sweep.micro_batch},
          {"keep_bytes", sweep.keep.count()},
          {"budgets", budgets},
          {"curves", curves}};
}

}  // namespace lowtide::cli
