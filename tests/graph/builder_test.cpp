// Naming, phases and folding while a graph is built.
#include "graph/builder.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/toy_ops.h"

namespace lowtide::graph {
namespace {

class Builder : public testing::Test {
 protected:
  Graph graph;
  GraphBuilder b{graph};

  [[nodiscard]] const std::string& name(ValueId id) const { return graph.value(id).name; }
};

TEST_F(Builder, NamesFollowTheScopeAndStayUnique) {
  const ValueId x = b.input("x", floats(4));
  const ValueId first = add(b, x, x);
  const ValueId second = add(b, x, first);
  b.set_scope("block/sum");
  const ValueId third = add(b, x, second);
  const ValueId fourth = add(b, x, third);
  EXPECT_EQ(name(first), "Add");
  EXPECT_EQ(name(second), "Add.1");
  EXPECT_EQ(name(third), "block/sum/Add");
  EXPECT_EQ(name(fourth), "block/sum/Add.1");
}

TEST_F(Builder, LaterOutputsAreNumbered) {
  const std::vector<ValueId> out = fork(b, b.input("x", floats(4)), 3.0F);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(name(out[0]), "Fork");
  EXPECT_EQ(name(out[1]), "Fork:1");
  EXPECT_EQ(graph.value(out[1]).producer, NodeId(0));
}

TEST_F(Builder, PhaseDecidesTheRole) {
  const ValueId x = b.input("x", floats(4));
  const ValueId forward = add(b, x, x);
  b.set_phase(Phase::kLoss);
  const ValueId loss = add(b, forward, x);
  b.set_phase(Phase::kBackward);
  const ValueId backward = add(b, loss, x);
  EXPECT_EQ(graph.value(forward).role, Role::kActivation);
  EXPECT_EQ(graph.value(loss).role, Role::kActivation);
  EXPECT_EQ(graph.value(backward).role, Role::kGradient);
  EXPECT_EQ(graph.node(graph.value(backward).producer).phase, Phase::kBackward);
}

TEST_F(Builder, InputsAreListedInOrder) {
  const ValueId x = b.input("x", floats(4));
  const ValueId rate = b.input("rate", floats(1), Role::kScalar);
  EXPECT_EQ(graph.inputs(), (std::vector<ValueId>{x, rate}));
  EXPECT_EQ(graph.find("rate"), rate);
  EXPECT_EQ(graph.find("nothing"), std::nullopt);
}

TEST_F(Builder, RefusalNamesTheNode) {
  const ValueId x = b.input("x", floats(4));
  const ValueId y = b.input("y", floats(5));
  b.set_scope("sum");
  try {
    add(b, x, y);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(), "node 'sum' (Add): cannot add float32[4] and float32[5]");
  }
  EXPECT_EQ(graph.node_count(), 0U);
}

TEST_F(Builder, ReplacedStateKeepsItsRole) {
  b.set_phase(Phase::kUpdate);
  const ValueId p = b.state("p", floats(4), Role::kParameter);
  const ValueId g = b.input("g", floats(4));
  const ValueId rate = b.input("rate", floats(1), Role::kScalar);
  const ValueId next = update(b, p, g, rate);
  EXPECT_EQ(graph.value(next).previous_version, p);
  EXPECT_EQ(graph.value(next).role, Role::kParameter);
  EXPECT_EQ(verify(graph), std::vector<std::string>{});
}

TEST_F(Builder, FoldsConstantsWhenAllowed) {
  b.fold_up_to(1_KiB);
  const ValueId two = b.constant(core::Shape({2}), std::vector<std::int64_t>{2, 3});
  const ValueId sum = add(b, two, two);
  EXPECT_EQ(graph.node_count(), 0U);
  const auto value = b.constant_value(sum);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->data<std::int64_t>()[0], 4);
  EXPECT_EQ(value->data<std::int64_t>()[1], 6);
}

TEST_F(Builder, DoesNotFoldUnasked) {
  const ValueId two = b.constant(core::Shape({1}), std::vector<std::int64_t>{2});
  EXPECT_EQ(b.constant_value(add(b, two, two)), std::nullopt);
  EXPECT_EQ(graph.node_count(), 1U);
}

TEST_F(Builder, DoesNotFoldBeyondTheLimit) {
  b.fold_up_to(8_B);
  const ValueId one = b.constant(tensor({1, 2}));
  const ValueId many = b.constant(tensor({1, 2, 3}));
  add(b, one, one);
  EXPECT_EQ(graph.node_count(), 0U);
  add(b, many, many);
  EXPECT_EQ(graph.node_count(), 1U);
}

// Loops over nothing may still be endless.
TEST_F(Builder, DoesNotFoldEmptyTensorsOfHugeDimensions) {
  b.fold_up_to(1_KiB);
  const auto fold = [&](std::int64_t rows) {
    const ValueId nothing = b.constant(core::Shape({rows, 0}), std::vector<std::int64_t>{});
    return b.constant_value(add(b, nothing, nothing)).has_value();
  };
  EXPECT_TRUE(fold(2));
  EXPECT_FALSE(fold(std::int64_t{1} << 40));
}

TEST_F(Builder, DoesNotFoldWhatDependsOnInputsOrState) {
  b.fold_up_to(1_KiB);
  const ValueId constant = b.constant(tensor({1, 2}));
  add(b, constant, b.input("x", floats(2)));
  add(b, constant, b.state("p", floats(2), Role::kParameter));
  EXPECT_EQ(graph.node_count(), 2U);
}

TEST_F(Builder, DoesNotFoldFloatsOfTheModelFile) {
  // They may yet turn out to be parameters.
  b.fold_up_to(1_KiB);
  const ValueId weight =
      b.state("weight", floats(2), Role::kConstant, {.file = "/nonexistent", .offset = 0});
  add(b, weight, weight);
  EXPECT_EQ(graph.node_count(), 1U);
}

TEST_F(Builder, DoesNotFoldWhatMayNotRepeat) {
  b.fold_up_to(1_KiB);
  const ValueId c = b.constant(tensor({1, 2}));
  b.add(update_op(), Attrs::of(Update{}), {c, c, c});
  EXPECT_EQ(graph.node_count(), 1U);
}

TEST_F(Builder, ConstantValueOfAnUnreadableFileIsAnError) {
  const ValueId value =
      b.state("weight", floats(2), Role::kConstant, {.file = "/nonexistent", .offset = 0});
  try {
    static_cast<void>(b.constant_value(value));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("'weight'"), std::string::npos);
  }
}

}  // namespace
}  // namespace lowtide::graph
