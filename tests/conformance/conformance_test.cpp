// ONNX's own node tests: those that are claimed must pass, all others must be refused.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "conformance/gradient.h"
#include "conformance/survey.h"

namespace lowtide::conformance {
namespace {

// The pinned data; where it could not be fetched, the older one of Debian's package.
constexpr const char* kFolders[] = {LOWTIDE_NODE_TESTS, "/usr/share/libonnx-testdata/data/node"};

std::string data_folder() {
  for (const char* const folder : kFolders) {
    if (std::filesystem::is_directory(folder)) return folder;
  }
  return {};
}

// What became of each test, one line each, for the claims to be brought up to date by.
void write_report(const char* path, const Survey& found) {
  std::ofstream file(path);
  for (const auto& [name, outcome] : found) {
    const bool passed = outcome.verdict == Verdict::kPassed;
    file << name << '\t' << (passed ? "passed" : outcome.reason) << '\t' << outcome.detail << '\n';
  }
}

class NodeTests : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = data_folder();
    ASSERT_FALSE(folder_.empty()) << "ONNX's node tests are in neither " << kFolders[0] << " nor "
                                  << kFolders[1] << "; tools/setup fetches them";
    found_ = survey(folder_);
    claims_ = read_claims(LOWTIDE_CLAIMS);
    std::printf("%s\n", summary(found_).c_str());
    if (const char* const path = std::getenv("LOWTIDE_NODE_TEST_REPORT")) {
      write_report(path, found_);
    }
  }

  static bool pinned() { return folder_ == kFolders[0]; }

  inline static std::string folder_;
  inline static Survey found_;
  inline static Claims claims_;
};

// The older data has other tests under other names, some for versions of ONNX that are not read.
TEST_F(NodeTests, WhatIsClaimedPasses) {
  for (const std::string& name : claims_.passing) {
    const auto found = found_.find(name);
    if (found == found_.end()) {
      EXPECT_FALSE(pinned()) << name << " is no test of this data";
      continue;
    }
    const auto& [verdict, reason, detail] = found->second;
    const bool too_old = !pinned() && verdict == Verdict::kRefused;
    EXPECT_TRUE(verdict == Verdict::kPassed || too_old) << name << ": " << detail;
  }
}

TEST_F(NodeTests, WhatPassesIsClaimed) {
  for (const auto& [name, outcome] : found_) {
    if (outcome.verdict != Verdict::kPassed || !pinned()) continue;
    EXPECT_TRUE(claims_.passing.contains(name)) << name << " passes: claim it";
  }
}

// What Lowtide cannot do it says: a wrong answer needs a reason in differing.txt.
TEST_F(NodeTests, WhatIsNotClaimedIsRefused) {
  for (const auto& [name, outcome] : found_) {
    const bool differs = outcome.verdict == Verdict::kDiffers;
    if (claims_.passing.contains(name)) continue;
    EXPECT_EQ(differs, claims_.differing.contains(name))
        << name << ": " << (differs ? outcome.detail : "does not differ any more");
  }
}

TEST_F(NodeTests, GradientsAgreeWithDifferences) {
  std::size_t tests = 0;
  std::size_t none = 0;
  GradientCheck sum;
  for (const auto& [name, outcome] : found_) {
    if (outcome.verdict != Verdict::kPassed) continue;
    try {
      const GradientCheck found = check_gradient(load_test(folder_, name));
      EXPECT_EQ(found.detail, "") << name;
      tests += found.elements > 0 ? 1 : 0;
      sum.elements += found.elements;
      sum.kinks += found.kinks;
    } catch (const Error& error) {
      ++none;
    }
  }
  std::printf(
      "gradients: %zu tests, %zu elements; left out: %zu elements at kinks, %zu tests "
      "without a gradient\n",
      tests, sum.elements, sum.kinks, none);
  constexpr std::size_t kAtLeast = 700;
  EXPECT_GE(tests, kAtLeast);
}

}  // namespace
}  // namespace lowtide::conformance
