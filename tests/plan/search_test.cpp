// The search on small problems drawn at random: bytes counted step by step, exhaustive search, and
// the bound below both.
#include "plan/search/search.h"

#include <algorithm>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "core/random.h"
#include "plan/baseline/chen.h"
#include "plan/bound/bound.h"
#include "plan/problem/editor.h"
#include "plan/problem/gauge.h"
#include "plan/search/descent.h"
#include "plan/search/solve.h"
#include "plan/search/splice.h"

namespace lowtide::plan {
namespace {

constexpr std::size_t kForward = 4;

// Four forward tasks and a loss; then, backwards, tasks that read the gradient, and what their
// forward task read or, in a second variant, wrote; after each an update it sets a deadline for.
Problem random_problem(std::uint64_t seed) {
  core::RandomStream random(seed, 2);
  Problem problem;
  const auto tensor = [&](std::size_t producer) {
    const auto bytes = static_cast<std::int64_t>(1 + random.below(9));
    return problem.tensors.push_back({.bytes = bytes, .producer = TaskId(producer)});
  };
  const auto seconds = [&] { return static_cast<double>(1 + random.below(8)); };
  std::vector<TensorId> values = {problem.tensors.push_back({.bytes = 3, .producer = {}})};
  for (std::size_t i = 0; i <= kForward; ++i) {
    Variant variant{.seconds = seconds(), .reads = {values.back()}, .writes = {}, .in_place = {}};
    variant.seconds_again = variant.seconds - static_cast<double>(random.below(2));
    variant.workspace = static_cast<std::int64_t>(random.below(4));
    if (i > 1 && random.below(3) == 0) variant.reads.push_back(values[random.below(i)]);
    values.push_back(tensor(i));
    variant.writes = {values.back()};
    problem.tasks.push_back({.variants = {variant}, .repeatable = i < kForward, .deadline = {}});
  }
  TensorId gradient = values.back();
  for (std::size_t i = kForward; i-- > 0;) {
    const TaskId task(problem.tasks.size());
    const TensorId before = gradient;
    gradient = tensor(task.index());
    problem.tensors[gradient].bytes = problem.tensors[before].bytes;
    const std::vector<InPlace> pairs = {{gradient, before}};
    std::vector<Variant> variants;
    variants.push_back({seconds(), 0, 1, {before, values[i]}, {gradient}, pairs});
    if (random.below(2) == 0) {
      variants.push_back({seconds(), 0, 0, {before, values[i + 1]}, {gradient}, pairs});
    }
    problem.tasks.push_back({.variants = variants, .repeatable = false, .deadline = {}});
    if (random.below(3) == 0) problem.tasks[TaskId(i)].deadline = task;
  }
  problem.tensors[gradient].lasting = true;
  return problem;
}

// Bytes of every step by the definition: everything that is read later or used now.
std::vector<std::int64_t> bytes_by_step(const Timeline& line) {
  const Problem& problem = line.problem();
  const std::vector<Timeline::Step> executions = line.steps();
  const std::size_t steps = executions.size();
  std::map<TensorId, std::size_t> next_read;  // walking backwards; absent: not needed
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    if (problem.tensors[TensorId(i)].lasting) next_read[TensorId(i)] = steps;
  }
  std::vector<std::int64_t> result(steps);
  for (std::size_t step = steps; step-- > 0;) {
    const Variant& variant = line.chosen(executions[step].task);
    std::map<TensorId, std::size_t> live = next_read;
    for (const TensorId read : variant.reads) live.emplace(read, step);
    for (const TensorId write : variant.writes) live.emplace(write, step);
    result[step] = variant.workspace;
    for (const auto& [tensor, at] : live) result[step] += problem.tensors[tensor].bytes;
    for (const InPlace& pair : variant.in_place) {
      if (!next_read.contains(pair.input)) result[step] -= problem.tensors[pair.input].bytes;
    }
    for (const TensorId write : variant.writes) next_read.erase(write);
    for (const TensorId read : variant.reads) next_read.emplace(read, step);
  }
  return result;
}

std::vector<std::int64_t> bytes(const Timeline& line) {
  std::vector<std::int64_t> result;
  for (const Timeline::Step& step : line.steps()) result.push_back(step.bytes);
  return result;
}

std::vector<Repetition> all_allowed(const Timeline& line) {
  std::vector<Repetition> all;
  for (std::size_t stage = 0; stage < line.problem().tasks.size(); ++stage) {
    for (std::size_t task = 0; task < stage; ++task) {
      const Repetition what{TaskId(stage), TaskId(task)};
      if (line.allowed(what)) all.push_back(what);
    }
  }
  return all;
}

// The fastest within the limit of all variants and up to `count` repetitions from `from` on.
double exhaustive(Timeline& line,
                  const std::vector<Repetition>& all,
                  std::size_t from,
                  int count,
                  std::int64_t limit) {
  double best = line.peak() <= limit ? line.seconds() : std::numeric_limits<double>::infinity();
  for (std::size_t i = from; count > 0 && i < all.size(); ++i) {
    line.add(all[i]);
    best = std::min(best, exhaustive(line, all, i + 1, count - 1, limit));
    line.remove(all[i]);
  }
  return best;
}

double exhaustive(const Problem& problem, std::int64_t limit) {
  double best = std::numeric_limits<double>::infinity();
  for (unsigned mask = 0; mask < 1U << kForward; ++mask) {
    Timeline line(problem);
    for (std::size_t i = 0; i < kForward; ++i) {
      const TaskId task(kForward + 1 + i);
      const std::size_t wanted = (mask >> i) & 1U;
      if (wanted < problem.tasks[task].variants.size()) {
        line.choose(task, static_cast<std::uint8_t>(wanted));
      }
    }
    best = std::min(best, exhaustive(line, all_allowed(line), 0, 3, limit));
  }
  return best;
}

TEST(Timeline, KeepsTheBytesOfEveryStepThroughAnyChange) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Problem problem = random_problem(seed);
    core::RandomStream random(seed, 3);
    Timeline line(problem);
    Gauge gauge(problem);
    const std::vector<Repetition> all = all_allowed(line);
    for (int change = 0; change < 60; ++change) {
      const Repetition what = all[random.below(all.size())];
      line.contains(what) ? line.remove(what) : line.add(what);
      const TaskId task(kForward + 1 + random.below(kForward));
      line.choose(task,
                  static_cast<std::uint8_t>(random.below(problem.tasks[task].variants.size())));
      ASSERT_EQ(bytes(line), bytes_by_step(line)) << "seed " << seed << ", change " << change;
      const Candidate read_off = gauge.candidate(line.choices());
      ASSERT_EQ(read_off.peak, line.peak()) << "seed " << seed << ", change " << change;
      ASSERT_NEAR(read_off.seconds, line.seconds(), 1e-9);
    }
    const Timeline again(problem, line.choices());
    EXPECT_EQ(bytes(again), bytes(line));
    EXPECT_NEAR(again.seconds(), line.seconds(), 1e-9);
  }
}

TEST(Timeline, AnEditorTakesChangesBack) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Problem problem = random_problem(seed);
    core::RandomStream random(seed, 4);
    Timeline line(problem);
    Editor editor(line);
    const std::vector<Repetition> all = all_allowed(line);
    for (int round = 0; round < 20; ++round) {
      const std::vector<std::int64_t> before = bytes(line);
      const double seconds = line.seconds();
      for (int i = 0; i < 3; ++i) {
        const Repetition what = all[random.below(all.size())];
        line.contains(what) ? editor.remove(what) : editor.add(what);
      }
      if (random.below(2) == 0) {
        editor.commit();
        continue;
      }
      editor.undo();
      ASSERT_EQ(bytes(line), before) << "seed " << seed;
      ASSERT_NEAR(line.seconds(), seconds, 1e-9);
    }
  }
}

TEST(Search, FindsWhatExhaustiveSearchFindsAndTheBoundIsBelow) {
  int binding = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Problem problem = random_problem(seed);
    const std::int64_t peak = Timeline(problem).peak();
    for (std::int64_t limit = peak; limit > peak / 2; limit -= 4) {
      const double best = exhaustive(problem, limit);
      const double bound = lower_bound(problem, limit, 100);
      const Timeline found(problem, solve(problem, limit));
      if (found.peak() > limit) {
        EXPECT_EQ(best, std::numeric_limits<double>::infinity()) << seed << " at " << limit;
        break;
      }
      EXPECT_LE(found.seconds(), best + 1e-9) << "seed " << seed << " at " << limit;
      EXPECT_LE(bound, found.seconds() + 1e-9) << "seed " << seed << " at " << limit;
      binding += bound > problem.fastest_seconds() + 1e-9 ? 1 : 0;
    }
  }
  EXPECT_GT(binding, 0);  // else the bound says nothing
}

TEST(Search, CandidatesAreAParetoSetAndAsTheySay) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = random_problem(seed);
    const std::vector<Candidate> candidates = search(problem, Policy::kLowtide);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Timeline line(problem, candidates[i].choices);
      EXPECT_EQ(line.peak(), candidates[i].peak);
      EXPECT_NEAR(line.seconds(), candidates[i].seconds, 1e-9);
      if (i == 0) continue;
      EXPECT_GT(candidates[i].seconds, candidates[i - 1].seconds);
      EXPECT_LT(candidates[i].peak, candidates[i - 1].peak);
    }
  }
}

// A chain of equal tasks and, backwards, those that read what each of them read.
Problem deep_chain(std::size_t depth) {
  Problem problem;
  const auto tensor = [&] {
    return problem.tensors.push_back({.bytes = 1, .producer = TaskId(problem.tasks.size())});
  };
  std::vector<TensorId> values = {problem.tensors.push_back({.bytes = 1, .producer = {}})};
  for (std::size_t i = 0; i < depth; ++i) {
    values.push_back(tensor());
    Variant variant{.seconds = 1, .seconds_again = 1, .reads = {values[i]}, .in_place = {}};
    variant.writes = {values.back()};
    problem.tasks.push_back({.variants = {variant}, .repeatable = i + 1 < depth, .deadline = {}});
  }
  TensorId gradient = values.back();
  for (std::size_t i = depth; i-- > 0;) {
    Variant variant{.seconds = 2, .reads = {gradient, values[i]}, .writes = {}, .in_place = {}};
    gradient = tensor();
    variant.writes = {gradient};
    problem.tasks.push_back({.variants = {variant}, .repeatable = false, .deadline = {}});
  }
  return problem;
}

TEST(Search, SplicesTakeWhatTheLimitLeaves) {
  constexpr std::size_t kDepth = 300;
  const Problem problem = deep_chain(kDepth);
  const auto at = depths(problem, TaskId(kDepth - 1));
  EXPECT_EQ(at[TaskId(5)], 5U);
  EXPECT_EQ(at[TaskId(kDepth + 9)], kDepth - 11);  // reads what that task wrote
  const Candidate fast = Timeline(problem).candidate();
  Candidate small = fast;
  for (const Choices& choices : chen(problem)) {
    const Candidate candidate = Timeline(problem, choices).candidate();
    if (candidate.peak < small.peak) small = candidate;
  }
  ASSERT_LT(small.peak, fast.peak / 4);
  Gauge gauge(problem);
  for (const double part : {0.25, 0.5, 0.75}) {
    const auto limit =
        small.peak + static_cast<std::int64_t>(part * static_cast<double>(fast.peak - small.peak));
    const Candidate found = splice(gauge, at, small.choices, fast.choices, limit);
    EXPECT_LE(found.peak, limit);
    EXPECT_EQ(Timeline(problem, found.choices).peak(), found.peak);
    EXPECT_LT(found.seconds, small.seconds - (part - 0.1) * (small.seconds - fast.seconds));
  }
}

TEST(Descent, EndsWithinTheLimitAndHasNoMoreToDoThere) {
  constexpr std::int64_t kMany = 100;
  int ends = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Problem problem = random_problem(seed);
    const Timeline kept(problem);
    Descent descent(problem);
    const Timeline* const end = descent.go(kept.choices(), kept.peak() - 4, kMany);
    if (end == nullptr) continue;
    ++ends;
    EXPECT_LE(end->peak(), kept.peak() - 4) << seed;
    const std::vector<std::int64_t> steps = bytes_by_step(*end);
    EXPECT_EQ(end->peak(), *std::max_element(steps.begin(), steps.end())) << seed;
    EXPECT_GE(end->seconds(), lower_bound(problem, kept.peak() - 4, 4) - 1e-9) << seed;
    // From where it ended there is nothing to do, and nothing to take back.
    const Candidate first = end->candidate();
    const Timeline* const again = descent.go(first.choices, kept.peak() - 4, 0);
    ASSERT_NE(again, nullptr);
    EXPECT_LE(again->seconds(), first.seconds);
  }
  EXPECT_GT(ends, 120);
}

// Three tensors wait for readers in reverse; the second can be done without.
TEST(Descent, HasAReaderDoWithoutATensorRatherThanComputeItAgain) {
  Problem problem;
  std::vector<TensorId> made;
  const auto run = [&](std::vector<Variant> variants, bool repeatable) {
    problem.tasks.push_back(
        {.variants = std::move(variants), .repeatable = repeatable, .deadline = {}});
  };
  const auto variant = [](double seconds, std::vector<TensorId> reads,
                          std::vector<TensorId> writes) {
    return Variant{.seconds = seconds,
                   .seconds_again = seconds,
                   .workspace = 0,
                   .reads = std::move(reads),
                   .writes = std::move(writes),
                   .in_place = {}};
  };
  for (std::size_t i = 0; i < 3; ++i) {
    made.push_back(problem.tensors.push_back({.bytes = 10, .producer = TaskId(i)}));
    run({variant(1, {}, {made[i]})}, true);
  }
  run({variant(1, {made[2]}, {})}, false);
  run({variant(1, {made[1]}, {}), variant(1.25, {made[0]}, {})}, false);
  run({variant(1, {made[0]}, {})}, false);
  Descent descent(problem);
  const Timeline* const end = descent.go(fastest_choices(problem), 25, 1);
  ASSERT_NE(end, nullptr);
  EXPECT_TRUE(end->repetitions().empty());
  EXPECT_DOUBLE_EQ(end->seconds(), 6.25);
  EXPECT_EQ(end->peak(), 20);
  EXPECT_EQ(descent.go(fastest_choices(problem), 5, 100),
            nullptr);  // two are there at once in any case
}

}  // namespace
}  // namespace lowtide::plan
