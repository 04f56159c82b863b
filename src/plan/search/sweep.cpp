#include "plan/search/sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/bound/cut.h"
#include "plan/search/anneal.h"
#include "plan/search/relaxed.h"

namespace lowtide::plan {

namespace {

class Sweeper {
 public:
  Sweeper(const Problem& problem, std::vector<Candidate> start)
      : problem_(problem), found_(std::move(start)) {
    const auto tasks = static_cast<std::int64_t>(problem.tasks.size());
    moves_ = std::min<std::int64_t>(kWork / (tasks + kWorkOfAMove) / (3 * kLevels), 4000);
  }

  std::vector<Candidate> run() {
    const Candidate top = found_.front();
    const std::vector<TaskId> peak = crowded_steps(problem_, top.peak - 1, 1);
    if (peak.empty()) return std::move(found_);
    const Cut cut(problem_, peak.front(), seconds_of_all_repetitions(problem_));
    std::vector<std::int64_t> limits;
    Choices now = top.choices;
    for (auto limit = static_cast<double>(top.peak) * kRatio; limit > 1; limit *= kRatio) {
      limits.push_back(static_cast<std::int64_t>(limit));
      const bool fits = improve(now, limits.back());
      const bool other = improve(relaxed(problem_, cut, limits.back()), limits.back());
      if (!fits && !other && fastest_within(limits.back()) == nullptr) break;
      now = fastest_within(limits.back())->choices;
    }
    press(limits);
    std::reverse(limits.begin(), limits.end());
    for (const std::int64_t limit : limits) {
      if (const Candidate* below = fastest_within(limit)) {
        const Choices from = below->choices;
        improve(from, limit);
      }
    }
    return pareto(std::move(found_));
  }

 private:
  static constexpr double kRatio = 0.97;
  static constexpr std::int64_t kLevels = 40;
  static constexpr std::int64_t kFewestMoves = 50;    // fewer change nothing: not worth a walk
  static constexpr std::int64_t kMostEffort = 16;     // times the moves of other limits
  static constexpr std::int64_t kWorkOfAMove = 1000;  // beside that for each task
  static constexpr std::int64_t kWork = 60'000'000;

  // Goes on below the limits that were easy to meet, with ever more moves for each.
  void press(std::vector<std::int64_t>& limits) {
    for (std::int64_t effort = 4; effort <= kMostEffort;) {
      const Candidate& lowest =
          *std::min_element(found_.begin(), found_.end(),
                            [](const auto& a, const auto& b) { return a.peak < b.peak; });
      const auto limit = static_cast<std::int64_t>(static_cast<double>(lowest.peak) * kRatio);
      if (limit <= 1) return;
      if (improve(Choices(lowest.choices), limit, effort)) {
        limits.push_back(limit);
      } else {
        effort *= 2;
      }
    }
  }

  // Anneals from `start` and keeps the result if it fits.
  bool improve(const Choices& start, std::int64_t limit, std::int64_t effort = 1) {
    AnnealSettings how = settings(limit);
    how.moves *= effort;
    Candidate found = how.moves < kFewestMoves ? Timeline(problem_, start).candidate()
                                               : anneal(problem_, start, how);
    if (found.peak > limit) return false;
    found_.push_back(std::move(found));
    return true;
  }

  [[nodiscard]] AnnealSettings settings(std::int64_t limit) const {
    return {.limit = limit, .moves = moves_, .seed = 1, .heat = 0.1};
  }

  [[nodiscard]] const Candidate* fastest_within(std::int64_t limit) const {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : found_) {
      if (candidate.peak > limit) continue;
      if (best == nullptr || candidate.seconds < best->seconds) best = &candidate;
    }
    return best;
  }

  const Problem& problem_;
  std::vector<Candidate> found_;
  std::int64_t moves_ = 0;  // for each limit and direction
};

}  // namespace

std::vector<Candidate> sweep(const Problem& problem, std::vector<Candidate> start) {
  return Sweeper(problem, std::move(start)).run();
}

}  // namespace lowtide::plan
