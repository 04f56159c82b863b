#include "ops/layer_norm/layer_norm.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/evaluate.h"
#include "ops/group_norm/group_norm.h"

namespace lowtide::ops {
namespace {

using core::DType;
using graph::GraphBuilder;
using graph::ValueId;
using Floats = std::vector<float>;

enum class Norm { kLayer, kGroup };

struct Setting {
  Norm norm;
  core::Isa isa;
};

// One row through layer normalisation, or through group normalisation as one group.
class RowNormTest : public testing::TestWithParam<Setting> {
 protected:
  static Floats normalize(const Floats& x, double epsilon) {
    const auto n = static_cast<std::int64_t>(x.size());
    graph::Graph graph;
    GraphBuilder b(graph);
    const ValueId in = b.constant(core::Shape{1, n}, x);
    const ValueId scale = b.constant(core::Shape{n}, Floats(x.size(), 2.0F));
    const ValueId bias = b.constant(core::Shape{n}, Floats(x.size(), 1.0F));
    const ValueId y = GetParam().norm == Norm::kLayer
                          ? layer_norm(b, in, scale, bias, -1, epsilon).y
                          : group_norm(b, in, scale, bias, {.groups = 1, .epsilon = epsilon}).y;
    const auto values = graph::interpret(graph, {}, {.threads = 2, .isa = GetParam().isa});
    const auto* const first = values.at(y).data<float>();
    return {first, first + x.size()};
  }
};

TEST_P(RowNormTest, CentresAndScales) {
  const Floats y = normalize({1, 3}, 0);
  EXPECT_FLOAT_EQ(y[0], -1);  // 2 * -1 + 1
  EXPECT_FLOAT_EQ(y[1], 3);
}

TEST_P(RowNormTest, KeepsASmallVarianceBesideALargeMean) {
  const Floats y = normalize({100000, 100001, 100002, 100003}, 0);
  EXPECT_NEAR(y[3], 2 * 1.5 / std::sqrt(1.25) + 1, 1e-5);
}

TEST_P(RowNormTest, EqualElementsGiveTheBias) {
  EXPECT_EQ(normalize(Floats(33, 7.25F), 1e-5), Floats(33, 1.0F));
}

TEST_P(RowNormTest, NotANumberShows) {
  Floats x(20, 1.0F);
  x[19] = NAN;
  EXPECT_TRUE(std::isnan(normalize(x, 1e-5)[0]));
}

INSTANTIATE_TEST_SUITE_P(Kernels,
                         RowNormTest,
                         testing::Values(Setting{Norm::kLayer, core::Isa::kReference},
                                         Setting{Norm::kLayer, core::Isa::kNative},
                                         Setting{Norm::kGroup, core::Isa::kReference},
                                         Setting{Norm::kGroup, core::Isa::kNative}));

TEST(GroupNormTest, RefusesGroupsThatDoNotDivideTheChannels) {
  graph::Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {DType::kFloat32, {2, 6}});
  const ValueId scale = b.input("scale", {DType::kFloat32, {6}});
  EXPECT_THROW(group_norm(b, x, scale, scale, {.groups = 4}), Error);
  EXPECT_THROW(group_norm(b, x, scale, scale, {.groups = 0}), Error);
}

TEST(LayerNormTest, RefusesAScaleOfAnotherShape) {
  graph::Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {DType::kFloat32, {2, 6}});
  const ValueId scale = b.input("scale", {DType::kFloat32, {2}});
  EXPECT_THROW(layer_norm(b, x, scale, {}, -1, 1e-5), Error);
}

}  // namespace
}  // namespace lowtide::ops
