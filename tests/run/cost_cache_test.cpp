// The cache of measured costs: what one process keeps another finds, and nothing can spoil a run.
#include "run/cost_cache.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/json.h"
#include "support/folder.h"

namespace lowtide::run {
namespace {

std::optional<double> seconds_in(const std::filesystem::path& path, const std::string& key) {
  const KernelSeconds found = CostCache(path).find({key});
  return found.empty() ? std::nullopt : std::optional(found.at(key));
}

TEST(CostCache, FindsWhatAnotherKept) {
  const support::Folder folder;
  const std::string path = folder / "new/folder/costs.json";
  EXPECT_EQ(seconds_in(path, "conv"), std::nullopt);
  EXPECT_TRUE(CostCache(path).add({{"conv", 0.1}, {"odd \" \\ \n key,}", 1e-9 / 3}}));
  const KernelSeconds found = CostCache(path).find({"conv", "odd \" \\ \n key,}", "pool"});
  EXPECT_EQ(found, (KernelSeconds{{"conv", 0.1}, {"odd \" \\ \n key,}", 1e-9 / 3}}));
  const auto left = std::filesystem::directory_iterator(folder / "new/folder");
  EXPECT_EQ(std::distance(begin(left), end(left)), 1) << "parts are left behind";
}

TEST(CostCache, KeepsWhatIsThereAndReplacesWhatIsNew) {
  const support::Folder folder;
  const std::string path = folder / "costs.json";
  EXPECT_TRUE(CostCache(path).add({{"a", 1}, {"b", 2}}));
  EXPECT_TRUE(CostCache(path).add({{"b", 3}, {"c", 4}}));
  EXPECT_EQ(CostCache(path).find({"a", "b", "c"}), (KernelSeconds{{"a", 1}, {"b", 3}, {"c", 4}}));
  const core::Json json = core::Json::parse(support::read_file(path));
  EXPECT_EQ(json.at("seconds").size(), 3U);
}

TEST(CostCache, ManyAtOnceLeaveAWholeFile) {
  const support::Folder folder;
  const std::string path = folder / "costs.json";
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&path, i] {
      for (int k = 0; k < 20; ++k) {
        if (!CostCache(path).add({{std::to_string(i), i}})) std::abort();
        if (seconds_in(path, "0").value_or(0) != 0) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(CostCache(path).add({{"last", 5}}));
  EXPECT_EQ(seconds_in(path, "last"), 5);
}

TEST(CostCache, WithoutAPathKeepsNothing) {
  EXPECT_TRUE(CostCache("").add({{"a", 1}}));
  EXPECT_EQ(seconds_in("", "a"), std::nullopt);
}

TEST(CostCache, AFileThatCannotBeWrittenIsNoDisaster) {
  EXPECT_FALSE(CostCache("/dev/null/costs.json").add({{"a", 1}}));
}

// 60,000 kernels are more than the file may hold.
TEST(CostCache, ForgetsTheOldest) {
  const support::Folder folder;
  const std::string path = folder / "costs.json";
  const std::string rest(250, 'k');
  const auto key = [&](int i) { return std::to_string(i) + rest; };
  for (int i = 0; i < 60'000; i += 20'000) {
    KernelSeconds times;
    for (int k = i; k < i + 20'000; ++k) times[key(k)] = k;
    EXPECT_TRUE(CostCache(path).add(times));
  }
  EXPECT_LE(std::filesystem::file_size(path), 8U * 1024 * 1024);
  EXPECT_TRUE(core::Json::accept(support::read_file(path)));
  EXPECT_EQ(seconds_in(path, key(59'999)), 59'999);
  EXPECT_EQ(seconds_in(path, key(30'000)), 30'000);
  EXPECT_EQ(seconds_in(path, key(7'000)), std::nullopt);
}

TEST(CostCache, SpoiltFilesAreEmptyOrRight) {
  const support::Folder folder;
  const std::string path = folder / "costs.json";
  KernelSeconds times;
  for (int i = 0; i < 20; ++i) times["kernel " + std::to_string(i)] = 0.5 * i;
  EXPECT_TRUE(CostCache(path).add(times));
  const std::string good = support::read_file(path);
  std::set<std::string> keys;
  for (const auto& [key, seconds] : times) keys.insert(key);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    const std::size_t at = random() % text.size();
    if (i % 2 == 0) text[at] = static_cast<char>(random());
    if (i % 2 == 1) text.erase(at, random() % 30);
    support::write_file(path, text);
    for (const auto& [key, seconds] : CostCache(path).find(keys)) EXPECT_GE(seconds, 0) << key;
  }
}

// A file that ends within a number would give another number.
TEST(CostCache, ALineCutShortIsNoEntry) {
  const support::Folder folder;
  const std::string path = folder / "costs.json";
  EXPECT_TRUE(CostCache(path).add({{"a", 0.25}, {"b", 0.125}}));
  const std::string good = support::read_file(path);
  support::write_file(path, good.substr(0, good.find("125}}")));
  EXPECT_EQ(CostCache(path).find({"a", "b"}), (KernelSeconds{{"a", 0.25}}));
}

}  // namespace
}  // namespace lowtide::run
