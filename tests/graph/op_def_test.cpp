// The adapter between an op's card and the OpDef that everyone else sees.
#include "graph/op_def.h"

#include <vector>

#include <gtest/gtest.h>

#include "graph/toy_ops.h"

namespace lowtide::graph {
namespace {

// The types of Add on vectors of one length.
struct AddTypes {
  explicit AddTypes(std::int64_t count) : in{floats(count), floats(count)}, out{floats(count)} {}

  [[nodiscard]] Signature signature() const { return {in, out}; }

  std::vector<TensorType> in;
  std::vector<TensorType> out;
};

const Attrs kNone = Attrs::of(Add{});

TEST(TypedOp, BindsTheFirstKernelThatSupportsTheTypes) {
  const AddTypes small(4);
  const AddTypes large(8);
  EXPECT_EQ(add_op().bind(kNone, small.signature(), {})->name(), "reference");
  EXPECT_EQ(add_op().bind(kNone, large.signature(), {})->name(), "long");
  EXPECT_EQ(add_op().bind_all(kNone, small.signature(), {}).size(), 1U);
  EXPECT_EQ(add_op().bind_all(kNone, large.signature(), {}).size(), 2U);
}

TEST(TypedOp, ReferenceIsaBindsTheReferenceKernel) {
  const AddTypes large(8);
  const auto kernel =
      add_op().bind(kNone, large.signature(), {.threads = 1, .isa = core::Isa::kReference});
  EXPECT_EQ(kernel->name(), "reference");
  EXPECT_EQ(kernel->scratch(), 0_B);
}

TEST(TypedOp, ScratchIsAskedForWhenBinding) {
  const AddTypes large(8);
  EXPECT_EQ(add_op().bind(kNone, large.signature(), {})->scratch(), 32_B);
}

TEST(TypedOp, InPlacePairsMustHaveEqualBytes) {
  AddTypes types(4);
  EXPECT_EQ(add_op().aliases(kNone, types.signature()).size(), 2U);
  types.in[1] = floats(1);
  const std::vector<Alias> left = add_op().aliases(kNone, types.signature());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].input, 0);
}

TEST(TypedOp, SaysWhatTheCardSays) {
  const AddTypes types(4);
  EXPECT_TRUE(add_op().differentiable());
  EXPECT_FALSE(fork_op().differentiable());
  EXPECT_EQ(update_op().repeat(), Repeat::kNever);
  EXPECT_EQ(add_op().cost(kNone, types.signature()).traffic, 48_B);
  EXPECT_FALSE(add_op().onnx_form(kNone, types.signature()).has_value());
  EXPECT_TRUE(add_op().onnx_rules().empty());
}

TEST(TypedOpDeathTest, AttributesOfAnotherOpAreABrokenInvariant) {
  EXPECT_DEATH(static_cast<void>(kNone.as<Fork>()), "attributes of another op");
  EXPECT_DEATH(static_cast<void>(Attrs().as<Fork>()), "attributes of another op");
}

}  // namespace
}  // namespace lowtide::graph
