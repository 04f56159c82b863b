// `generate`: what a network of tokens writes after a prompt.
#include <gtest/gtest.h>

#include "e2e/hand_made.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

using Ints = std::vector<std::int64_t>;

// logits[n, t] = table[tokens[n, t]], for sequences of `sequence` tokens of three kinds.
std::string write_table(const Scene& scene,
                        const std::vector<float>& table,
                        const std::string& sequence) {
  return write_model(scene,
                     {.nodes = {toy::node("Gather", {"table", "tokens"}, {"logits"}, {}, "look")},
                      .initializers = {weight("table", {3, 3}, table)},
                      .inputs = {toy::value_info("tokens", {"batch", sequence}, 7)},
                      .outputs = {toy::value_info("logits", {"batch", sequence, "3"})}});
}

const std::vector<float> kCycle = {0, 9, 0, 0, 0, 9, 9, 0, 0};  // 0 -> 1 -> 2 -> 0
const std::vector<float> kEven(9, 0.0F);

Json generated(const Words& arguments) {
  const Outcome outcome = lowtide(Words{"generate"} + arguments + Words{"--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out);
}

// The last token decides, before and behind the end of what the network reads at once.
TEST(Generate, GoesOnFromTheLastToken) {
  const Scene scene;
  const Words run = {write_table(scene, kCycle, "4"), "--temperature", "0", "--tokens", "9"};
  EXPECT_EQ(generated(run + Words{"--prompt-tokens", "1"})["tokens"],
            Json({2, 0, 1, 2, 0, 1, 2, 0, 1}));
  const Json longer = generated(run + Words{"--prompt-tokens", "2,2,2,1,1,0"});
  EXPECT_EQ(longer["prompt"], Json({2, 2, 2, 1, 1, 0}));
  EXPECT_EQ(longer["tokens"], Json({1, 2, 0, 1, 2, 0, 1, 2, 0}));
  const Outcome words = lowtide(Words{"generate"} + run + Words{"--prompt-tokens", "1"});
  EXPECT_EQ(words.out, " 1 2 0 1 2 0 1 2 0 1\n");
}

TEST(Generate, TakesTheSequenceOfAnOpenShape) {
  const Scene scene;
  const std::string model = write_table(scene, kCycle, "sequence");
  expect_refused(scene, {"generate", model, "--prompt-tokens", "1"},
                 {model, "'tokens'", "give --shape tokens=1,N"});
  EXPECT_EQ(generated({model, "--shape", "tokens=1,3", "--prompt-tokens", "0", "--tokens", "4",
                       "--temperature", "0"})["tokens"],
            Json({1, 2, 0, 1}));
}

TEST(Generate, DependsOnTheSeedAndNothingElse) {
  const Scene scene;
  const Words run = {write_table(scene, kEven, "4"), "--prompt-tokens", "0"};
  const Json first = generated(run + Words{"--tokens", "300"})["tokens"];
  EXPECT_EQ(first, generated(run + Words{"--tokens", "300", "--threads", "1"})["tokens"]);
  EXPECT_NE(first, generated(run + Words{"--tokens", "300", "--seed", "1"})["tokens"]);
  // A longer text begins as a shorter one.
  const Json shorter = generated(run + Words{"--tokens", "100"})["tokens"];
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), first.begin()));
  for (const int token : {0, 1, 2}) {
    EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), token)), 100, 40);
  }
}

// A network of the zoo that has learned a text of bytes by heart.
TEST(Generate, WritesTheTextThatWasLearned) {
  const Scene scene;
  std::string bytes;
  for (int i = 0; i < 400; ++i) {
    for (const char c : std::string("low tide. ")) bytes += {c, '\0'};
  }
  const std::string text = scene / "text.bin";
  support::write_file(text, bytes);
  const std::string model = scene.zoo({"gpt2", "--layers", "1", "--width", "32", "--heads", "2",
                                       "--vocabulary", "256", "--sequence", "16"});
  const Trained trained = train(scene, {model, "--data", text, "--batch", "8", "--steps", "60",
                                        "--optimizer", "adamw", "--lr", "0.003"});
  const Outcome outcome = lowtide({"generate", trained.model, "--prompt", "low t", "--tokens", "25",
                                   "--temperature", "0.1", "--top-k", "5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "low tide. low tide. low tide. \n");
}

// The smallest budget that the refusal of this one names.
std::int64_t smallest_of(const Words& arguments) {
  const Outcome outcome = lowtide(arguments + Words{"--budget", "1MiB"});
  EXPECT_EQ(outcome.exit_code, 1);
  const std::size_t end = outcome.err.find(" bytes)");
  const std::size_t begin = outcome.err.rfind('(', end);
  EXPECT_NE(end, std::string::npos) << outcome.err;
  return std::stoll(outcome.err.substr(begin + 1));
}

// What is chosen among is counted, too.
TEST(Generate, StaysInsideTheBudgetWithManyKindsOfTokens) {
  const Scene scene;
  const std::string model = scene.zoo({"gpt2", "--layers", "1", "--width", "1", "--heads", "1",
                                       "--vocabulary", "2000000", "--sequence", "2"});
  const Words run = {"generate", model, "--prompt-tokens", "1", "--tokens", "2"};
  const std::int64_t smallest = smallest_of(run);
  const Outcome outcome = lowtide(run + Words{"--budget", std::to_string(smallest)});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LE(outcome.peak_bytes, smallest);
}

// A long text is held where it is printed as JSON, and only there.
TEST(Generate, StaysInsideTheBudgetHoweverLongTheText) {
  const Scene scene;
  const Words run = {
      "generate", write_table(scene, kCycle, "4"), "--prompt-tokens", "1", "--tokens", "300000"};
  std::vector<std::int64_t> budgets;
  for (const Words& options : {Words{}, Words{"--json"}}) {
    const std::int64_t smallest = budgets.emplace_back(smallest_of(run + options));
    const Outcome outcome = lowtide(run + options + Words{"--budget", std::to_string(smallest)});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_LE(outcome.peak_bytes, smallest);
  }
  EXPECT_LE(budgets[0], 50'000'000);
  EXPECT_GT(budgets[1], budgets[0] + 10'000'000);
}

TEST(Generate, RefusesOtherNetworksAndTokens) {
  const Scene scene;
  const std::string images = scene.small_network();
  expect_refused(scene, {"generate", images}, {images, "one input, of integers (batch, tokens)"});
  const std::string model = write_table(scene, kCycle, "4");
  expect_refused(scene, {"generate", model, "--prompt-tokens", "1,3"},
                 {model, "token 3", "knows 0 to 2"});
  expect_refused(scene, {"generate", model, "--prompt", "x"}, {"token 120", "knows 0 to 2"});
  expect_refused(scene, {"generate", model, "--prompt-tokens", "1", "--budget", "1MiB"},
                 {"smallest"});
  EXPECT_EQ(lowtide({"generate", model, "--prompt-tokens", "1", "--temperature", "-1"}).exit_code,
            2);
}

}  // namespace
}  // namespace lowtide::e2e
