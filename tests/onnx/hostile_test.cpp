// Replays the fuzzer's corpus with cuts, flipped bits and moved bytes: every file is read or
// refused, and nothing else happens. (Run under sanitizers to make that mean something.)
#include "support/hostile.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"
#include "onnx/model_file.h"
#include "onnx/read.h"
#include "onnx/toy.h"

namespace lowtide::onnx {
namespace {

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(LT_CORPUS)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

enum class Outcome { kBuilt, kRefused };

Outcome import(const std::string& bytes) {
  try {
    build(toy::parse_text(bytes), {.batch = 2, .catalog = toy::catalog()});
    return Outcome::kBuilt;
  } catch (const Error&) {
    return Outcome::kRefused;
  }
}

TEST(Hostile, TheCorpusParses) {
  const auto files = corpus();
  ASSERT_GE(files.size(), 5U);
  for (const auto& path : files) {
    EXPECT_NO_THROW(parse_file(path)) << path;
  }
}

TEST(Hostile, CutFilesAreRefused) {
  for (const auto& path : corpus()) {
    const std::string whole = toy::read_file(path);
    int refused = 0;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      if (import(whole.substr(0, length)) == Outcome::kRefused) ++refused;
    }
    // Cuts at the border of two fields of the model may leave a valid one.
    EXPECT_GE(refused, static_cast<int>(whole.size()) - 20) << path;
  }
}

TEST(Hostile, MutatedFilesAreReadOrRefused) {
  core::RandomStream random = support::hostile_stream(40);
  int built = 0;
  int refused = 0;
  const int rounds = support::hostile_rounds(2000);
  for (const auto& path : corpus()) {
    const std::string whole = toy::read_file(path);
    for (int round = 0; round < rounds; ++round) {
      const support::Patience patience(round);
      const std::string bytes = support::damaged(whole, random);
      (import(bytes) == Outcome::kBuilt ? built : refused) += 1;
    }
  }
  EXPECT_GT(built, 0);
  EXPECT_GT(refused, 0);
  EXPECT_LT(support::peak_memory(), Bytes(1 << 29));
}

// Shapes alone must not make memory: a few hundred bytes that speak of exabytes.
TEST(Hostile, HugeShapesAllocateNothing) {
  toy::Parts parts = toy::small_network();
  parts.inputs = {toy::value_info("x", {"2", "4611686018427387903"})};
  EXPECT_EQ(import(toy::model(parts)), Outcome::kRefused);
  parts.inputs = {toy::value_info("x", {"1099511627776", "2"})};
  const Model model = build(toy::parse_text(toy::model(parts)), {.catalog = toy::catalog()});
  EXPECT_EQ(model.graph.type(model.values.at("y")).shape[0], 1099511627776);
}

TEST(Hostile, DeepBranchesAreCut) {
  WireWriter branch = toy::graph({.outputs = {toy::value_info("r", {})}});
  for (int i = 0; i < 60; ++i) {
    branch = toy::graph(
        {.nodes = {toy::node("If", {"c"}, {"r"}, {toy::graph_attribute("then_branch", branch)})},
         .outputs = {toy::value_info("r", {})}});
  }
  toy::Parts parts = toy::small_network();
  parts.nodes[1] = toy::node("If", {"x"}, {"y"}, {toy::graph_attribute("then_branch", branch)});
  const std::string message =
      toy::message_of([&] { toy::parse_text(toy::model(parts)); }, ErrorCode::kInvalidFile);
  EXPECT_NE(message.find("nest deeper"), std::string::npos) << message;
}

}  // namespace
}  // namespace lowtide::onnx
