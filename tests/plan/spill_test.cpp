// Plans that spill: proved, run on real bytes, and spoilt in every way we know.
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "plan/execute.h"
#include "plan/planner.h"
#include "plan/toy_net.h"

namespace lowtide::plan {
namespace {

using Faults = std::vector<std::string>;

constexpr Bytes kPlenty{std::int64_t{1} << 50U};

// A tier that moves tensors of any size.
SpillTier tier(double rate, Bytes limit = kPlenty) {
  return {.rates = {.store = rate, .fetch = 2 * rate}, .limit = limit, .smallest = Bytes(1)};
}

// Homes with every n-th persistent value in the file; 0: none.
Homes homes(const ToyNet& net, std::size_t every) {
  Homes result;
  result.offsets = core::IdVector<ValueId, Bytes>(net.graph.value_count());
  result.file_offsets = FileOffsets(net.graph.value_count(), kInArena);
  std::size_t count = 0;
  for (std::size_t i = 0; i < net.graph.value_count(); ++i) {
    const graph::Value& value = net.graph.value(ValueId(i));
    if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
    if (every > 0 && count++ % every == 0) {
      result.file_offsets[ValueId(i)] = result.file_bytes;
      result.file_bytes += value.type.bytes().rounded_up(kSlotAlignment);
    } else {
      result.offsets[ValueId(i)] = result.arena_bytes;
      result.arena_bytes += value.type.bytes().rounded_up(kAlignment);
    }
  }
  return result;
}

Faults check_plan(const ToyNet& net, const Plan& plan, const Homes& where) {
  return check(net.graph, net.costs, where.offsets, plan, where.file_offsets);
}

std::vector<Bytes> sizes(Planner& planner, std::size_t which, int count) {
  const std::int64_t from = planner.smallest_arena(which).count();
  const std::int64_t to = std::get<Plan>(planner.make(kPlenty, which)).arena_bytes.count();
  std::vector<Bytes> result;
  for (int i = 0; i <= count; ++i) result.emplace_back(from + (to - from) * i / count);
  return result;
}

class RandomSpills : public testing::TestWithParam<int> {};

TEST_P(RandomSpills, EveryPlanIsRightAndComputesTheSame) {
  int transfers = 0;
  for (int i = 0; i < 20; ++i) {
    const int seed = 20 * GetParam() + i;
    const ToyNet net = random_net(static_cast<std::uint64_t>(seed));
    const Results expected = evaluate(net.graph);
    const std::vector<Homes> where = {homes(net, 0), homes(net, 2), homes(net, 1)};
    for (const double rate : {20.0, 1000.0}) {
      for (const Policy policy : {Policy::kKeep, Policy::kLowtide}) {
        Planner planner(net.graph, net.costs, where, policy, tier(rate));
        for (std::size_t h = 0; h < where.size(); ++h) {
          for (const Bytes size : sizes(planner, h, 3)) {
            const Plan plan = std::get<Plan>(planner.make(size, h));
            const std::string text = to_text(net.graph, plan);
            ASSERT_LE(plan.arena_bytes, size);
            ASSERT_EQ(check_plan(net, plan, where[h]), Faults()) << "seed " << seed << "\n"
                                                                 << graph::dump(net.graph) << text;
            ASSERT_EQ(execute(net.graph, plan, where[h].file_offsets), expected)
                << "seed " << seed << "\n"
                << graph::dump(net.graph) << text;
            transfers += static_cast<int>(plan.transfers.size());
          }
        }
      }
    }
  }
  EXPECT_GT(transfers, 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSpills, testing::Range(0, 4));

TEST(Spill, GoesBelowWhatRecomputationReaches) {
  for (const ToyNet& net : {vgg16(2), resnet50(2)}) {
    Planner without(net.graph, net.costs, {homes(net, 0)}, Policy::kLowtide);
    Planner with(net.graph, net.costs, {homes(net, 0), homes(net, 1)}, Policy::kLowtide, tier(1e6));
    EXPECT_LT(with.smallest_arena(0), without.smallest_arena());
    EXPECT_LT(with.smallest_arena(1), with.smallest_arena(0));
    for (std::size_t h = 0; h < 2; ++h) {
      const Plan plan = std::get<Plan>(with.make(with.smallest_arena(h), h));
      EXPECT_EQ(check_plan(net, plan, homes(net, h)), Faults());
    }
  }
}

TEST(Spill, GoesBelowTheWeights) {
  const ToyNet net = resnet50(1);
  Planner planner(net.graph, net.costs, {homes(net, 1)}, Policy::kLowtide, tier(1e6));
  EXPECT_LT(planner.smallest_arena(), net.persistent_bytes());
}

// The slower the disk, the less it is used; a fast one makes recomputation needless.
TEST(Spill, HidesWhereTheDiskIsFast) {
  const ToyNet net = wrn28_2(8);
  Planner without(net.graph, net.costs, {homes(net, 0)}, Policy::kLowtide);
  const Bytes half = without.smallest_arena();
  const Plan recomputing = std::get<Plan>(without.make(half));
  ASSERT_GT(recomputing.recomputed, 0);
  const auto seconds = [&](double rate) {
    Planner planner(net.graph, net.costs, {homes(net, 0)}, Policy::kLowtide, tier(rate));
    // Transfers want the buffers to begin at a multiple of their alignment.
    const Plan plan = std::get<Plan>(planner.make(half + kTransferAlignment));
    EXPECT_EQ(check_plan(net, plan, homes(net, 0)), Faults());
    EXPECT_LE(plan.predicted_seconds, recomputing.predicted_seconds);
    return plan.predicted_seconds;
  };
  const double fast = seconds(1e9);
  EXPECT_LE(fast, 1.01 * net.plan(Policy::kKeep).predicted_seconds);
  EXPECT_LE(fast, seconds(1e6));
  EXPECT_LE(seconds(1e6), seconds(1e4));
}

TEST(Spill, MoreMemoryNeverMeansMoreTime) {
  const ToyNet net = wrn28_2(4);
  Planner planner(net.graph, net.costs, {homes(net, 0)}, Policy::kLowtide, tier(2e5));
  double before = std::numeric_limits<double>::infinity();
  for (const Bytes size : sizes(planner, 0, 40)) {
    const Plan plan = std::get<Plan>(planner.make(size));
    EXPECT_LE(plan.predicted_seconds, before);
    before = plan.predicted_seconds;
  }
}

// Where memory is what makes the step slower, none of it is left over.
TEST(Spill, UsesWhatABindingBudgetGives) {
  const ToyNet net = wrn28_2(4);
  Planner planner(net.graph, net.costs, {homes(net, 0)}, Policy::kLowtide, tier(2e4));
  const double fastest = std::get<Plan>(planner.make(kPlenty)).predicted_seconds;
  int binding = 0;
  for (const Bytes size : sizes(planner, 0, 12)) {
    const Plan plan = std::get<Plan>(planner.make(size));
    if (plan.predicted_seconds < 1.001 * fastest) continue;
    ++binding;
    EXPECT_GE(plan.peak_live_bytes.count(), 0.97 * static_cast<double>(size.count()));
  }
  EXPECT_GT(binding, 5);
}

// Seconds within an arena, which is large enough.
double seconds_within(const ToyNet& net,
                      Bytes arena,
                      Policy policy,
                      const std::optional<SpillTier>& tier) {
  Planner planner(net.graph, net.costs, {homes(net, 0)}, policy, tier);
  const Plan plan = std::get<Plan>(planner.make(arena));
  EXPECT_EQ(check_plan(net, plan, homes(net, 0)), Faults());
  return plan.predicted_seconds;
}

TEST(Spill, AndRecomputationAreNeverSlowerThanEither) {
  int faster = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const ToyNet net = random_net(seed);
    Planner recomputing(net.graph, net.costs, {homes(net, 0)}, Policy::kLowtide);
    Planner spilling(net.graph, net.costs, {homes(net, 0)}, Policy::kKeep, tier(100));
    const Bytes arena = std::max(recomputing.smallest_arena(), spilling.smallest_arena());
    const double again = seconds_within(net, arena, Policy::kLowtide, std::nullopt);
    const double away = seconds_within(net, arena, Policy::kKeep, tier(100));
    // Transfers want the buffers to begin at a multiple of their alignment.
    const double both =
        seconds_within(net, arena + kTransferAlignment, Policy::kLowtide, tier(100));
    EXPECT_LE(both, again) << "seed " << seed;
    EXPECT_LE(both, away) << "seed " << seed;
    faster += both < std::min(again, away) ? 1 : 0;
  }
  EXPECT_GT(faster, 0);
}

// Neither alone comes near what the two take together while the file hides a part of the bytes.
TEST(Spill, TakesAThirdOffTheExtraTimeOfRecomputation) {
  const ToyNet net = wrn28_2(8);
  Planner recomputing(net.graph, net.costs, {homes(net, 0)}, Policy::kLowtide);
  const Bytes arena(recomputing.smallest_arena().count() * 5 / 4);
  const double keep = net.plan(Policy::kKeep).predicted_seconds;
  const double again = seconds_within(net, arena, Policy::kLowtide, std::nullopt) - keep;
  const double away = seconds_within(net, arena, Policy::kKeep, tier(2e4)) - keep;
  const double both = seconds_within(net, arena, Policy::kLowtide, tier(2e4)) - keep;
  EXPECT_GT(both, 0);
  EXPECT_LT(both, again * 2 / 3);
  EXPECT_LT(both, away * 2 / 3);
}

TEST(Spill, TheSmallestArenaDoesNotDependOnTheDisk) {
  const ToyNet net = random_net(3);
  std::vector<Bytes> smallest;
  for (const double rate : {1.0, 1e3, 1e9}) {
    Planner planner(net.graph, net.costs, {homes(net, 0)}, Policy::kLowtide, tier(rate));
    smallest.push_back(planner.smallest_arena());
    EXPECT_TRUE(std::holds_alternative<Plan>(planner.make(smallest.back())));
    EXPECT_TRUE(std::holds_alternative<Infeasible>(planner.make(smallest.back() - Bytes(1))));
  }
  EXPECT_EQ(smallest[0], smallest[1]);
  EXPECT_EQ(smallest[1], smallest[2]);
}

TEST(Spill, TheFileStaysWithinItsLimit) {
  const ToyNet net = wrn28_2(4);
  Planner all(net.graph, net.costs, {homes(net, 0)}, Policy::kKeep, tier(1e6));
  const Bytes tight = all.smallest_arena();
  const Bytes file = std::get<Plan>(all.make(tight)).spill_bytes;
  EXPECT_GT(file, Bytes(0));
  Planner half(net.graph, net.costs, {homes(net, 0)}, Policy::kKeep,
               tier(1e6, Bytes(file.count() / 2)));
  EXPECT_GT(half.smallest_arena(), tight);
  for (const Bytes size : sizes(half, 0, 5)) {
    EXPECT_LE(std::get<Plan>(half.make(size)).spill_bytes, Bytes(file.count() / 2));
  }
}

// A chain whose state lives in the file, in little memory: it has transfers of every kind.
class SpoiltSpill : public testing::Test {
 protected:
  SpoiltSpill() : net_(chain(6, 4096)), where_(homes(net_, 1)) {
    Planner planner(net_.graph, net_.costs, {where_}, Policy::kKeep, tier(3000));
    const Bytes smallest = planner.smallest_arena();
    plan_ = std::get<Plan>(planner.make(Bytes(smallest.count() * 5 / 4)));
  }

  [[nodiscard]] std::string faults() const {
    std::string all;
    for (const std::string& fault : check_plan(net_, plan_, where_)) all += fault + "\n";
    return all;
  }

  [[nodiscard]] bool mentions(const std::string& words) const {
    const bool found = faults().find(words) != std::string::npos;
    EXPECT_TRUE(found) << "'" << words << "' is not in:\n" << faults();
    return found;
  }

  // The first transfer that satisfies the condition.
  template <class F>
  Transfer& transfer(F condition) {
    const auto it = std::find_if(plan_.transfers.begin(), plan_.transfers.end(), condition);
    EXPECT_NE(it, plan_.transfers.end());
    return *it;
  }

  ToyNet net_;
  Homes where_;
  Plan plan_;
};

TEST_F(SpoiltSpill, TheUntouchedPlanIsAccepted) {
  EXPECT_EQ(faults(), "") << to_text(net_.graph, plan_);
  int long_ones = 0;
  int of_activations = 0;
  for (const Transfer& one : plan_.transfers) {
    long_ones += one.finish > one.start ? 1 : 0;
    of_activations += net_.graph.value(one.value).role == graph::Role::kActivation ? 1 : 0;
  }
  EXPECT_GT(long_ones, 3);
  EXPECT_GT(of_activations, 1);
}

TEST_F(SpoiltSpill, EveryDroppedTransfer) {
  const Plan good = plan_;
  for (std::size_t i = 0; i < good.transfers.size(); ++i) {
    plan_ = good;
    plan_.transfers.erase(plan_.transfers.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(faults(), "") << "transfer " << i;
  }
}

TEST_F(SpoiltSpill, EveryOtherSlotBufferOrValue) {
  const Plan good = plan_;
  for (std::size_t i = 0; i < good.transfers.size(); ++i) {
    plan_ = good;
    plan_.transfers[i].slot = SlotId((good.transfers[i].slot.index() + 1) % good.slots.size());
    EXPECT_NE(faults(), "") << "slot of transfer " << i;
    plan_ = good;
    plan_.transfers[i].place.buffer =
        BufferId((good.transfers[i].place.buffer.index() + 1) % good.buffers.size());
    EXPECT_NE(faults(), "") << "buffer of transfer " << i;
    plan_ = good;
    plan_.transfers[i].value = good.transfers[(i + 1) % good.transfers.size()].value;
    if (plan_.transfers[i].value == good.transfers[i].value) continue;
    EXPECT_NE(faults(), "") << "value of transfer " << i;
  }
}

TEST_F(SpoiltSpill, EveryTransferBeyondItsTimes) {
  const Plan good = plan_;
  for (std::size_t i = 0; i < good.transfers.size(); ++i) {
    plan_ = good;
    // A fetch that may end after its first reader; a store that may end after its buffer.
    ++plan_.transfers[i].finish;
    EXPECT_NE(faults(), "") << "transfer " << i << " ends later";
    plan_ = good;
    if (good.transfers[i].start == 0) continue;
    --plan_.transfers[i].start;
    EXPECT_NE(faults(), "") << "transfer " << i << " begins earlier";
  }
}

TEST_F(SpoiltSpill, EveryMovedSlot) {
  const Plan good = plan_;
  for (std::size_t i = 0; i < good.slots.size(); ++i) {
    plan_ = good;
    plan_.slots[SlotId(i)].offset = good.spill_bytes;
    EXPECT_NE(faults(), "") << "slot " << i << " beyond the file";
    plan_ = good;
    plan_.slots[SlotId(i)].offset += Bytes(512);
    EXPECT_NE(faults(), "") << "slot " << i << " out of line";
    plan_ = good;
    plan_.slots[SlotId(i)].size = Bytes(0);
    EXPECT_NE(faults(), "") << "slot " << i << " too small";
  }
}

TEST_F(SpoiltSpill, ALifeThatEndsBeforeTheStore) {
  const Transfer& store = transfer([](const Transfer& one) {
    return one.direction == Direction::kStore && one.finish > one.start;
  });
  plan_.buffers[store.place.buffer].last = store.start - 1;
  EXPECT_TRUE(mentions("outside its life"));
}

TEST_F(SpoiltSpill, AStepThatOverwritesWhatIsBeingStored) {
  const Transfer& store = transfer([](const Transfer& one) {
    return one.direction == Direction::kStore && one.finish > one.start;
  });
  Step& step = plan_.steps[static_cast<std::size_t>(store.start)];
  step.out[0] = store.place;
  EXPECT_TRUE(mentions("touches bytes while transfer"));
}

TEST_F(SpoiltSpill, WeightsThatDoNotComeHome) {
  Transfer& home = transfer([&](const Transfer& one) {
    return one.direction == Direction::kStore &&
           net_.graph.value(one.value).previous_version.valid();
  });
  home.value = net_.graph.value(home.value).previous_version;
  EXPECT_TRUE(mentions("from where it is not"));
}

TEST_F(SpoiltSpill, APredictionWithoutTheWaiting) {
  plan_.stall_seconds += 1;
  plan_.predicted_seconds += 1;
  EXPECT_TRUE(mentions("steps wait"));
}

TEST_F(SpoiltSpill, IdsThatDoNotExist) {
  const Plan good = plan_;
  plan_.transfers[0].slot = SlotId();
  EXPECT_TRUE(mentions("has no value, buffer or slot"));
  plan_ = good;
  plan_.transfers[0].value = ValueId(10'000);
  EXPECT_TRUE(mentions("has no value, buffer or slot"));
}

}  // namespace
}  // namespace lowtide::plan
