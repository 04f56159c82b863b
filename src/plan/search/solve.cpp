#include "plan/search/solve.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/bound/cut.h"
#include "plan/search/anneal.h"
#include "plan/search/descent.h"
#include "plan/search/recompute.h"

namespace lowtide::plan {

namespace {

constexpr std::uint64_t kStarts = 8;
constexpr std::int64_t kMoves = 45'000;  // of each start
constexpr std::int64_t kSteps = 2'000;   // straight down, at most

// What a schedule is judged by: bytes beyond the limit, then seconds.
std::pair<std::int64_t, double> rank(const Candidate& one, std::int64_t limit) {
  return {std::max<std::int64_t>(one.peak - limit, 0), one.seconds};
}

}  // namespace

Choices solve(const Problem& problem, std::int64_t limit) {
  Timeline line(problem);
  Candidate best = line.candidate();
  const auto take = [&](Candidate found) {
    if (rank(found, limit) < rank(best, limit)) best = std::move(found);
  };
  const auto consider = [&](const Choices& start, const AnnealSettings& settings) {
    line.assign(start);
    take(anneal(line, settings));
  };
  const std::vector<TaskId> peak = crowded_steps(problem, limit, 1);
  if (peak.empty()) return best.choices;
  const Choices all_kept = best.choices;
  for (std::uint64_t seed = 1; seed <= kStarts; ++seed) {
    consider(all_kept, {.limit = limit, .moves = kMoves, .seed = seed, .heat = 1});
  }
  Cut cut(problem, peak.front(), seconds_of_all_repetitions(problem));
  const Choices answer = relaxed(problem, cut.at(), cut.best(limit));
  consider(answer, {.limit = limit, .moves = kMoves, .seed = kStarts + 2, .heat = 0.3});
  Descent descent(problem);
  for (const Choices* const start : {&all_kept, &answer}) {
    const Timeline* const end = descent.go(*start, limit, kSteps);
    if (end != nullptr) take(end->candidate());
  }
  consider(Choices(best.choices),
           {.limit = limit, .moves = kMoves, .seed = kStarts + 1, .heat = 0.2});
  return best.choices;
}

}  // namespace lowtide::plan
