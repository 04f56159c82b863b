#include "plan/search/search.h"

#include <algorithm>
#include <utility>

#include "plan/baseline/chen.h"
#include "plan/problem/gauge.h"
#include "plan/search/sweep.h"

namespace lowtide::plan {

std::vector<Candidate> pareto(std::vector<Candidate> all) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.peak < b.peak;
  });
  std::vector<Candidate> front;
  for (Candidate& candidate : all) {
    if (front.empty() || candidate.peak < front.back().peak) front.push_back(std::move(candidate));
  }
  return front;
}

void find_peaks(const Problem& problem, std::vector<Candidate>& candidates) {
  if (problem.tasks.empty()) return;
  Gauge gauge(problem);
  for (Candidate& candidate : candidates) candidate.peak = gauge.peak(candidate.choices);
}

std::vector<Candidate> search(const Problem& problem, Policy policy, std::vector<Candidate> known) {
  if (problem.tasks.empty()) return {{}};
  std::vector<Candidate> candidates = std::move(known);
  Gauge gauge(problem);
  const auto add = [&](Choices choices) {
    candidates.push_back(gauge.candidate(std::move(choices)));
  };
  if (policy != Policy::kChen) add(fastest_choices(problem));
  if (policy != Policy::kKeep) {
    for (Choices& choices : chen(problem)) add(std::move(choices));
  }
  candidates = pareto(std::move(candidates));
  return policy == Policy::kLowtide ? sweep(problem, std::move(candidates)) : candidates;
}

}  // namespace lowtide::plan
