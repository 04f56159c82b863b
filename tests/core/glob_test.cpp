// Globs over names.
#include "core/glob.h"

#include <string>

#include <gtest/gtest.h>

namespace lowtide::core {
namespace {

TEST(Glob, LiteralsMatchThemselvesOnly) {
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_TRUE(glob_matches("conv1.weight", "conv1.weight"));
  EXPECT_FALSE(glob_matches("conv1.weight", "conv1.weights"));
  EXPECT_FALSE(glob_matches("conv1.weight", "conv1"));
  EXPECT_FALSE(glob_matches("", "a"));
}

TEST(Glob, QuestionMarkIsExactlyOneCharacter) {
  EXPECT_TRUE(glob_matches("conv?.bias", "conv7.bias"));
  EXPECT_FALSE(glob_matches("conv?.bias", "conv.bias"));
  EXPECT_FALSE(glob_matches("conv?.bias", "conv12.bias"));
}

TEST(Glob, StarCrossesDotsAndSlashes) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("*.bias", "layer1.0/bn.bias"));
  EXPECT_TRUE(glob_matches("layer*bn*", "layer1.0/bn.bias"));
  EXPECT_FALSE(glob_matches("*.bias", "layer1.bias.moment"));
}

TEST(Glob, StarBacktracks) {
  EXPECT_TRUE(glob_matches("*ab", "aab"));
  EXPECT_TRUE(glob_matches("a*b*c", "aXbbYbZc"));
  EXPECT_FALSE(glob_matches("a*b*c", "aXbbYbZ"));
  EXPECT_TRUE(glob_matches("*aaa?", "aaaaaab"));
}

TEST(Glob, ManyStarsStayFast) {
  const std::string name(20'000, 'a');
  EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*b", name));
}

TEST(Glob, AnyOfNoneMatchesNothing) {
  EXPECT_FALSE(any_glob_matches({}, "x"));
  EXPECT_TRUE(any_glob_matches({"y", "x*"}, "x1"));
  EXPECT_FALSE(any_glob_matches({"y", "z*"}, "x1"));
}

}  // namespace
}  // namespace lowtide::core
