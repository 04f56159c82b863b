// Thousands of damaged configurations: each is refused with its line, or says something that can be
// written and read again.
#include <string>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "cli/config/toml.h"
#include "core/random.h"
#include "support/hostile.h"

namespace lowtide::cli {
namespace {

const std::string kGood =
    "model = \"net.onnx\"  # a comment\n"
    "out = 'C:\\plain'\n"
    "\n"
    "[train]\n"
    "betas = [0.9, 0.999]\n"
    "lr = 1e-3\n"
    "batch = 1_000\n"
    "freeze = [\n  \"fc1.*\",\n  \"a\\\"b\\n\\t\",\n]\n"
    "shuffle = false\n";

TEST(HostileToml, IsReadOrRefused) {
  ASSERT_EQ(parse_toml(kGood, "good").size(), 7U);
  core::RandomStream random = support::hostile_stream(5);
  int refused = 0;
  int read = 0;
  const int rounds = support::hostile_rounds(4000);
  for (int round = 0; round < rounds; ++round) {
    const support::Patience patience(round);
    const std::string text = support::damaged(kGood, random);
    try {
      for (const TomlEntry& entry : parse_toml(text, "run.toml")) {
        const auto again = parse_toml("k = " + toml_value(entry.values), "again");
        ASSERT_EQ(again.size(), 1U) << text;
        EXPECT_EQ(again[0].values, entry.values) << text;
      }
      ++read;
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).rfind("run.toml:", 0), 0U) << error.what();
    }
  }
  EXPECT_GT(refused, rounds / 4);
  EXPECT_GT(read, rounds / 100);
  EXPECT_LT(support::peak_memory(), Bytes(1 << 29));
}

// What nests does so on the parser's own terms.
TEST(HostileToml, DeepNestingIsRefused) {
  for (const char bracket : {'[', '{', '"', '('}) {
    EXPECT_THROW(parse_toml("k = " + std::string(100000, bracket), "deep"), Error) << bracket;
  }
}

}  // namespace
}  // namespace lowtide::cli
