// Running nodes and small graphs outside any plan.
#include "graph/evaluate.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/builder.h"
#include "graph/toy_ops.h"

namespace lowtide::graph {
namespace {

TEST(Evaluate, RunsOneOp) {
  const std::vector<ConstantTensor> out =
      evaluate(fork_op(), Attrs::of(Fork{-1.5F}), {tensor({2, 4})}, {floats(2), floats(2)});
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(elements(out[0]), (std::vector<float>{2, 4}));
  EXPECT_EQ(elements(out[1]), (std::vector<float>{-3, -6}));
}

TEST(Interpret, RunsAGraphWithStateAndScalars) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", floats(2));
  const ValueId rate = b.input("rate", floats(1), Role::kScalar);
  const ValueId p = b.state("p", floats(2), Role::kParameter, {.tensor = tensor({10, 20})});
  const ValueId moment = b.state("m", floats(2), Role::kOptimizer);
  const ValueId gradient = add(b, fork(b, x, 2.0F)[1], moment);
  const ValueId next = update(b, p, gradient, rate);
  const auto values = interpret(graph, {{x, tensor({1, 2})}, {rate, tensor({0.5F})}}, {});
  EXPECT_EQ(elements(values.at(gradient)), (std::vector<float>{2, 4}));
  EXPECT_EQ(elements(values.at(next)), (std::vector<float>{9, 18}));
  EXPECT_EQ(elements(values.at(p)), (std::vector<float>{10, 20}));
}

TEST(Interpret, GivenStateWinsOverContent) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId p = b.state("p", floats(1), Role::kParameter, {.tensor = tensor({10})});
  const ValueId sum = add(b, p, p);
  EXPECT_EQ(elements(interpret(graph, {{p, tensor({3})}}, {}).at(sum)), std::vector<float>{6});
}

TEST(Interpret, KernelsGetTheScratchTheyBooked) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", floats(9));
  const ValueId sum = add(b, x, x);
  const std::vector<float> nine(9, 1.0F);
  for (const core::Isa isa : {core::Isa::kNative, core::Isa::kReference}) {
    const auto values = interpret(graph, {{x, tensor(nine)}}, {.threads = 1, .isa = isa});
    EXPECT_EQ(elements(values.at(sum)), std::vector<float>(9, 2.0F));
  }
}

TEST(LoadContent, ReadsAStretchOfAFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "lowtide_load_content.bin";
  const std::vector<float> stored = {1, 2, 3, 4};
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(stored.data()), 4 * sizeof(float));
  Value value;
  value.name = "w";
  value.role = Role::kConstant;
  value.type = floats(2);
  value.content = {.file = path.string(), .offset = 4};
  EXPECT_EQ(elements(load_content(value)), (std::vector<float>{2, 3}));
  value.content.offset = 12;
  EXPECT_THROW(load_content(value), Error);
  std::filesystem::remove(path);
}

TEST(LoadContent, IsZerosWithoutContent) {
  Value value;
  value.role = Role::kOptimizer;
  value.type = floats(3);
  EXPECT_EQ(elements(load_content(value)), std::vector<float>(3, 0.0F));
}

}  // namespace
}  // namespace lowtide::graph
