// A transposed convolution to parts has the bits of the whole that is split.
#include "ops/split_conv_transpose/split_conv_transpose.h"

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "ops/split/split.h"
#include "support/tensors.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::Layout;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using support::random_tensor;

class SplitConvTransposeTest : public testing::TestWithParam<core::Isa> {
 protected:
  static void compare(const core::Shape& x, const std::vector<std::int64_t>& lengths) {
    Graph graph;
    GraphBuilder b(graph);
    std::int64_t all = 0;
    for (const std::int64_t length : lengths) all += length;
    const core::TensorType source{DType::kFloat32, x, Layout::kChannelsLast};
    const core::TensorType weights{DType::kFloat32, {x[1], all, 3, 3}};
    const ValueId dy = b.input("dy", source);
    const ValueId w = b.input("w", weights);
    const ValueId whole =
        conv_transpose(b, dy, w, ValueId(), {.pads_begin = {1, 1}, .pads_end = {1, 1}});
    const std::vector<ValueId> parts = split(b, whole, 1, lengths);
    const auto both = split_conv_transpose(graph, graph.node(graph.value(whole).producer),
                                           graph.node(graph.value(parts[0]).producer));
    ASSERT_TRUE(both.has_value());
    EXPECT_EQ(both->outputs, parts);
    const std::vector<ValueId> same = b.add(*both->op, both->attrs, both->inputs);
    const auto values = graph::interpret(
        graph,
        {{dy, random_tensor(source, 1, -0.5F, 0.5F)}, {w, random_tensor(weights, 2, -0.5F, 0.5F)}},
        {.threads = 2, .isa = GetParam()});
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(*values.at(same[i]).bytes, *values.at(parts[i]).bytes) << x.str() << " part " << i;
    }
  }
};

TEST_P(SplitConvTransposeTest, HasTheBitsOfTheWhole) {
  compare({2, 16, 16, 16}, {16, 16});
  compare({3, 19, 11, 13}, {21, 3, 45});
  compare({1, 40, 9, 12}, {1, 17, 150, 2});
  compare({1, 16, 30, 31}, {64, 64});
}

INSTANTIATE_TEST_SUITE_P(Isas,
                         SplitConvTransposeTest,
                         testing::Values(core::Isa::kNative,
                                         core::Isa::kAvx2,
                                         core::Isa::kReference));

}  // namespace
}  // namespace lowtide::ops
