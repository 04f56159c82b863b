#include "plan/search/sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/bound/cut.h"
#include "plan/search/anneal.h"
#include "plan/search/recompute.h"
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
    Cut cut(problem_, peak.front(), seconds_of_all_repetitions(problem_));
    std::vector<Level> levels;
    Choices now = top.choices;
    for (auto limit = static_cast<double>(top.peak) * kRatio; limit > 1; limit *= kRatio) {
      const Level level = level_of(cut, static_cast<std::int64_t>(limit));
      levels.push_back(level);
      const Choices other = relaxed(problem_, cut.at(), cut.best(level.limit));
      add_relaxed(other, level.limit);
      improve(now, level);
      improve(other, level);
      const Candidate* const best = fastest_within(level.limit);
      if (best == nullptr) break;
      now = best->choices;
    }
    press(cut, levels);
    std::reverse(levels.begin(), levels.end());
    for (const Level& level : levels) {
      if (const Candidate* below = fastest_within(level.limit)) {
        const Choices from = below->choices;
        improve(from, level);
      }
    }
    return pareto(std::move(found_));
  }

 private:
  static constexpr double kRatio = 0.97;
  static constexpr double kNear = 0.001;  // of a step's seconds: as good as the bound
  static constexpr std::int64_t kLevels = 40;
  static constexpr std::int64_t kFewestMoves = 50;    // fewer change nothing: not worth a walk
  static constexpr std::int64_t kMostEffort = 16;     // times the moves of other limits
  static constexpr std::int64_t kWorkOfAMove = 1000;  // beside that for each task
  static constexpr std::int64_t kWork = 60'000'000;

  // A number of bytes, and the seconds that nothing within them can beat.
  struct Level {
    std::int64_t limit = 0;
    double bound = 0;
  };

  [[nodiscard]] Level level_of(Cut& cut, std::int64_t limit) const {
    return {limit, problem_.fastest_seconds() + cut.best(limit).value};
  }

  // Goes on below the limits that were easy to meet, with ever more moves for each.
  void press(Cut& cut, std::vector<Level>& levels) {
    for (std::int64_t effort = 4; effort <= kMostEffort;) {
      const Candidate& lowest =
          *std::min_element(found_.begin(), found_.end(),
                            [](const auto& a, const auto& b) { return a.peak < b.peak; });
      const auto limit = static_cast<std::int64_t>(static_cast<double>(lowest.peak) * kRatio);
      if (limit <= 1) return;
      const Level level = level_of(cut, limit);
      if (improve(Choices(lowest.choices), level, effort)) {
        levels.push_back(level);
      } else {
        effort *= 2;
      }
    }
  }

  // Anneals from `start`, which has been met before, and keeps the result if it fits. What is as
  // good as the bound stays as it is.
  bool improve(const Choices& start, const Level& level, std::int64_t effort = 1) {
    const Candidate* const best = fastest_within(level.limit);
    if (best != nullptr && best->seconds <= level.bound + kNear * problem_.fastest_seconds()) {
      return true;
    }
    AnnealSettings how = settings(level.limit);
    how.moves *= effort;
    if (how.moves < kFewestMoves) return best != nullptr;
    return add_if_it_fits(anneal(problem_, start, how), level.limit);
  }

  // The bound's answers let go of all that only some variants read, also where there is room.
  void add_relaxed(const Choices& choices, std::int64_t limit) {
    Timeline line(problem_, choices);
    if (line.peak() > limit) return;
    take_fastest_variants(line, limit);
    found_.push_back(line.candidate());
  }

  bool add_if_it_fits(Candidate found, std::int64_t limit) {
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
