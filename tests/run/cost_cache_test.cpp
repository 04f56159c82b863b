// The cache of measured costs: what one process keeps another finds, and nothing can spoil a run.
#include "run/cost_cache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace lowtide::run {
namespace {

TEST(CostCache, FindsWhatAnotherKept) {
  const support::Folder folder;
  const std::string path = folder / "new/folder/costs.json";
  {
    CostCache cache(path);
    EXPECT_EQ(cache.find("conv"), std::nullopt);
    cache.put("conv", 0.1);
    cache.put("odd \" \\ \n key", 1e-9 / 3);
    EXPECT_EQ(cache.find("conv"), 0.1);
    EXPECT_TRUE(cache.save());
  }
  const CostCache cache(path);
  EXPECT_EQ(cache.find("conv"), 0.1);
  EXPECT_EQ(cache.find("odd \" \\ \n key"), 1e-9 / 3);
  EXPECT_EQ(cache.find("pool"), std::nullopt);
  const auto left = std::filesystem::directory_iterator(folder / "new/folder");
  EXPECT_EQ(std::distance(begin(left), end(left)), 1) << "parts are left behind";
}

TEST(CostCache, KeepsWhatOthersAddedSinceItWasRead) {
  const support::Folder folder;
  CostCache first(folder / "costs.json");
  CostCache second(folder / "costs.json");
  first.put("a", 1);
  second.put("b", 2);
  EXPECT_TRUE(first.save());
  EXPECT_TRUE(second.save());
  const CostCache both(folder / "costs.json");
  EXPECT_EQ(both.find("a"), 1);
  EXPECT_EQ(both.find("b"), 2);
}

TEST(CostCache, ManyAtOnceLeaveAWholeFile) {
  const support::Folder folder;
  const std::string path = folder / "costs.json";
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&path, i] {
      for (int k = 0; k < 20; ++k) {
        CostCache cache(path);
        cache.put(std::to_string(i), i);
        cache.save();
        const std::optional<double> first = CostCache(path).find("0");
        if (first && *first != 0) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CostCache last(path);
  last.put("last", 5);
  EXPECT_TRUE(last.save());
  EXPECT_EQ(CostCache(path).find("last"), 5);
}

TEST(CostCache, WithoutAPathKeepsNothing) {
  CostCache cache("");
  cache.put("a", 1);
  EXPECT_EQ(cache.find("a"), 1);
  EXPECT_TRUE(cache.save());
  EXPECT_EQ(CostCache("").find("a"), std::nullopt);
}

TEST(CostCache, AFileThatCannotBeWrittenIsNoDisaster) {
  CostCache cache("/dev/null/costs.json");
  cache.put("a", 1);
  EXPECT_FALSE(cache.save());
}

TEST(CostCache, SpoiltFilesAreEmptyOrRight) {
  const support::Folder folder;
  const std::string path = folder / "costs.json";
  {
    CostCache cache(path);
    for (int i = 0; i < 20; ++i) cache.put("kernel " + std::to_string(i), 0.5 * i);
    cache.save();
  }
  const std::string good = support::read_file(path);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    const std::size_t at = random() % text.size();
    if (i % 2 == 0) text[at] = static_cast<char>(random());
    if (i % 2 == 1) text.erase(at, random() % 30);
    support::write_file(path, text);
    const CostCache cache(path);
    for (int k = 0; k < 20; ++k) {
      const std::optional<double> seconds = cache.find("kernel " + std::to_string(k));
      EXPECT_GE(seconds.value_or(0), 0);
    }
  }
}

}  // namespace
}  // namespace lowtide::run
