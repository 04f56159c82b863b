// Flow: its value and its cut are those of a look at every cut.
#include "plan/bound/flow.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"

namespace lowtide::plan {
namespace {

constexpr std::size_t kNodes = 8;

struct Pipe {
  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t capacity = 0;
};

// What leaves a set of nodes, the source in it.
std::int64_t leaving(const std::vector<Pipe>& pipes, unsigned side) {
  std::int64_t sum = 0;
  for (const Pipe& pipe : pipes) {
    const bool cut = ((side >> pipe.from) & 1U) != 0 && ((side >> pipe.to) & 1U) == 0;
    sum += cut ? pipe.capacity : 0;
  }
  return sum;
}

// Some that neither enter the source nor leave the sink.
std::vector<Pipe> random_pipes(std::uint64_t seed) {
  core::RandomStream random(seed, 7);
  std::vector<Pipe> pipes;
  for (std::uint64_t i = 0; i < 5 + seed % 20; ++i) {
    const Pipe pipe{random.below(kNodes), random.below(kNodes),
                    static_cast<std::int64_t>(random.below(6))};
    if (pipe.from == pipe.to || pipe.to == Flow::kSource || pipe.from == Flow::kSink) continue;
    pipes.push_back(pipe);
  }
  return pipes;
}

TEST(Flow, FindsTheSmallestCutNearestTheSource) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<Pipe> pipes = random_pipes(seed);
    Flow flow(kNodes);
    for (const Pipe& pipe : pipes) flow.connect(pipe.from, pipe.to, pipe.capacity);
    std::int64_t least = INT64_MAX;
    unsigned nearest = 0;  // what all smallest cuts leave on the source's side
    for (unsigned side = 1; side < 1U << kNodes; side += 4) {  // source in, sink out
      const std::int64_t sum = leaving(pipes, side);
      if (sum < least) nearest = side;
      if (sum == least) nearest &= side;
      least = std::min(least, sum);
    }
    ASSERT_EQ(flow.solve(), least) << seed;
    for (std::size_t node = 0; node < kNodes; ++node) {
      ASSERT_EQ(flow.on_source_side(node), ((nearest >> node) & 1U) != 0) << seed;
    }
  }
}

}  // namespace
}  // namespace lowtide::plan
