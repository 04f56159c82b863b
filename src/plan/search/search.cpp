#include "plan/search/search.h"

#include <algorithm>
#include <utility>

#include "plan/baseline/chen.h"
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
  Timeline line(problem);
  for (Candidate& candidate : candidates) {
    line.assign(candidate.choices);
    candidate.peak = line.peak();
  }
}

std::vector<Candidate> search(const Problem& problem, Policy policy, std::vector<Candidate> known) {
  if (problem.tasks.empty()) return {{}};
  std::vector<Candidate> candidates = std::move(known);
  const auto add = [&](const Timeline& line) { candidates.push_back(line.candidate()); };
  if (policy != Policy::kChen) add(Timeline(problem));
  if (policy != Policy::kKeep) {
    for (const Choices& choices : chen(problem)) add(Timeline(problem, choices));
  }
  candidates = pareto(std::move(candidates));
  return policy == Policy::kLowtide ? sweep(problem, std::move(candidates)) : candidates;
}

}  // namespace lowtide::plan
