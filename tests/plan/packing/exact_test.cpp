// Exact packing: puzzles, tiny cases against a second exact search, and the cases that a published
// allocator is measured by.
#include "plan/packing/exact.h"

#include <pthread.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "core/random.h"
#include "plan/packing/buffers_csv.h"
#include "plan/packing/puzzles.h"

namespace lowtide::plan {
namespace {

constexpr std::int64_t kWork = 400'000'000;

// What is wrong with an answer, which must be a packing within the capacity.
std::string faults(const std::vector<Item>& items,
                   const ExactAnswer& answer,
                   std::int64_t capacity) {
  if (!answer.offsets) return answer.complete ? "there is none" : "none found";
  std::vector<Bytes> offsets;
  Bytes height;
  for (std::size_t i = 0; i < items.size(); ++i) {
    offsets.emplace_back((*answer.offsets)[i]);
    height = std::max(height, offsets[i] + items[i].size);
  }
  if (height > Bytes(capacity)) return "beyond the capacity";
  return faults(items, offsets, height);
}

// Whether there is a packing, by trying every offset of one item after another.
bool possible(const std::vector<Item>& items,
              std::vector<std::int64_t>& offsets,
              std::int64_t capacity) {
  const std::size_t next = offsets.size();
  if (next == items.size()) return true;
  for (std::int64_t at = 0; at + items[next].size.count() <= capacity; ++at) {
    const auto free_of = [&](std::size_t other) {
      return items[other].last < items[next].first || items[next].last < items[other].first ||
             at + items[next].size.count() <= offsets[other] ||
             offsets[other] + items[other].size.count() <= at;
    };
    bool free = true;
    for (std::size_t other = 0; free && other < next; ++other) free = free_of(other);
    if (!free) continue;
    offsets.push_back(at);
    if (possible(items, offsets, capacity)) return true;
    offsets.pop_back();
  }
  return false;
}

TEST(PackExactly, FindsAPackingWhereverThereIsOne) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    core::RandomStream random(seed, 5);
    std::vector<Item> items;
    for (std::uint64_t i = 0; i < 4 + seed % 5; ++i) {
      const auto a = static_cast<std::int32_t>(random.below(7));
      const auto b = static_cast<std::int32_t>(random.below(7));
      items.push_back(
          item(static_cast<std::int64_t>(1 + random.below(5)), std::min(a, b), std::max(a, b)));
    }
    const std::int64_t least = max_live(items).count();
    for (std::int64_t capacity = least - 1; capacity <= least + 2; ++capacity) {
      std::vector<std::int64_t> offsets;
      const bool expected = possible(items, offsets, capacity);
      const ExactAnswer answer = pack_exactly(items, capacity, kWork);
      ASSERT_TRUE(answer.complete) << seed;
      ASSERT_EQ(faults(items, answer, capacity), expected ? "" : "there is none")
          << seed << " in " << capacity;
    }
  }
}

TEST(PackExactly, PutsLargePuzzlesTogether) {
  constexpr std::int64_t kCapacity = std::int64_t{64} << 20U;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const std::vector<Item> items = puzzle(seed, kCapacity, 20 + 8 * seed);
    EXPECT_EQ(faults(items, pack_exactly(items, kCapacity, kWork), kCapacity), "") << seed;
  }
}

TEST(PackExactly, SaysSoWhereItGivesUp) {
  const std::vector<Item> items = puzzle(17, std::int64_t{64} << 20U, 156);
  const ExactAnswer answer = pack_exactly(items, std::int64_t{64} << 20U, 100);
  EXPECT_FALSE(answer.offsets.has_value());
  EXPECT_FALSE(answer.complete);
}

// On a thread whose stack is small, as a user of the library may have: no call for each step.
void on_small_stack(std::function<void()> run) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // whose frames are larger
  constexpr std::size_t kStack = 4U << 20U;
#else
  constexpr std::size_t kStack = 512U << 10U;
#endif
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread{};
  const auto call = [](void* function) -> void* {
    (*static_cast<std::function<void()>*>(function))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &run), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// Of minimalloc's cases all but E, which takes many times as long: bench/pack_instance packs it.
class ChallengeCase : public testing::TestWithParam<const char*> {};

TEST_P(ChallengeCase, IsPackedAtItsCapacity) {
  constexpr std::int64_t kCapacity = 1'048'576;
  const std::vector<Item> items =
      read_buffers(std::filesystem::path(LOWTIDE_TEST_FILES) / (std::string(GetParam()) + ".csv"));
  ExactAnswer answer;
  on_small_stack([&] { answer = pack_exactly(items, kCapacity, kWork); });
  EXPECT_EQ(faults(items, answer, kCapacity), "");
}

INSTANTIATE_TEST_SUITE_P(Minimalloc,
                         ChallengeCase,
                         testing::Values("A", "B", "C", "D", "F", "G", "H", "I", "J", "K"),
                         [](const auto& name) { return std::string(name.param); });

std::vector<Item> read_text(const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "exact_test_buffers.csv";
  std::ofstream(path) << text;
  return read_buffers(path);
}

TEST(ReadBuffers, ReadsColumnsByName) {
  const std::vector<Item> items = read_text("size,id,upper,lower\n64,a,3,0\n\n128,b,9,3\r\n");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].size, Bytes(64));
  EXPECT_EQ(items[0].last, 2);
  EXPECT_EQ(items[1].first, 3);
  EXPECT_EQ(items[1].last, 8);
}

TEST(ReadBuffers, RefusesWhatIsNoProblem) {
  for (const char* const text : {"", "id,lower,size\na,0,1\n", "lower,upper,size\n0,x,1\n",
                                 "lower,upper,size\n0,1\n", "lower,upper,size\n3,3,1\n"}) {
    EXPECT_THROW(read_text(text), Error) << text;
  }
}

}  // namespace
}  // namespace lowtide::plan
