#include "ops/batch_norm/batch_norm.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "graph/evaluate.h"

namespace lowtide::ops {
namespace {

using core::DType;
using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::Role;
using graph::ValueId;
using Floats = std::vector<float>;

ConstantTensor tensor(core::Shape shape, const Floats& numbers) {
  const auto* const first = reinterpret_cast<const std::byte*>(numbers.data());
  return {{DType::kFloat32, std::move(shape)},
          std::make_shared<const std::vector<std::byte>>(first,
                                                         first + numbers.size() * sizeof(float))};
}

struct Result {
  Floats y;
  Floats mean;
  Floats variance;
};

// One training step's batch norm of one channel, scale 1 and bias 0.
Result train(const Floats& x,
             float mean,
             float variance,
             const BatchNorm& attributes,
             RunningRule rule,
             core::Isa isa) {
  Graph graph;
  GraphBuilder b(graph);
  const core::TensorType channel{DType::kFloat32, {1}};
  const core::Shape shape{static_cast<std::int64_t>(x.size()), 1};
  const ValueId in = b.input("x", {DType::kFloat32, shape});
  const ValueId scale = b.state("scale", channel, Role::kParameter);
  const ValueId bias = b.state("bias", channel, Role::kParameter);
  const ValueId old_mean = b.state("mean", channel, Role::kStatistic);
  const ValueId old_variance = b.state("variance", channel, Role::kStatistic);
  const ValueId y = batch_norm_train(b, in, scale, bias, old_mean, old_variance, attributes, rule);
  EXPECT_EQ(graph::verify(graph), std::vector<std::string>{});
  const auto values = graph::interpret(graph,
                                       {{in, tensor(shape, x)},
                                        {scale, tensor({1}, {1})},
                                        {bias, tensor({1}, {0})},
                                        {old_mean, tensor({1}, {mean})},
                                        {old_variance, tensor({1}, {variance})}},
                                       {.threads = 2, .isa = isa});
  Result result;
  const auto* const first = values.at(y).data<float>();
  result.y.assign(first, first + x.size());
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const ValueId old = graph.value(ValueId(i)).previous_version;
    if (old == old_mean) result.mean = {values.at(ValueId(i)).data<float>()[0]};
    if (old == old_variance) result.variance = {values.at(ValueId(i)).data<float>()[0]};
  }
  return result;
}

class BatchNormTest : public testing::TestWithParam<core::Isa> {};

TEST_P(BatchNormTest, MomentumIsTheShareThatIsKept) {
  const Floats keep = {0, 0.9F, 1};
  const Floats means = {2, 9.2F, 10};
  const Floats population = {1, 3.7F, 4};
  const Floats sample = {2, 3.8F, 4};
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const BatchNorm attributes{.epsilon = 0, .momentum = double{keep[i]}};
    const Result onnx = train({1, 3}, 10, 4, attributes, RunningRule::kOnnx, GetParam());
    EXPECT_EQ(onnx.y, (Floats{-1, 1}));
    EXPECT_FLOAT_EQ(onnx.mean[0], means[i]);
    EXPECT_FLOAT_EQ(onnx.variance[0], population[i]);
    const Result torch = train({1, 3}, 10, 4, attributes, RunningRule::kPyTorch, GetParam());
    EXPECT_EQ(torch.y, (Floats{-1, 1}));
    EXPECT_FLOAT_EQ(torch.mean[0], means[i]);
    EXPECT_FLOAT_EQ(torch.variance[0], sample[i]);
  }
}

TEST_P(BatchNormTest, NormalisesTheWholeBatch) {
  const Result result = train({0, 2, 10, 14}, 0, 1, {}, RunningRule::kOnnx, GetParam());
  const Floats expected = {-1.1358151F, -0.7863335F, 0.6115927F, 1.3105559F};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.y[i], expected[i], 1e-6);
  EXPECT_FLOAT_EQ(result.mean[0], 0.65F);
  EXPECT_FLOAT_EQ(result.variance[0], 4.175F);
}

TEST_P(BatchNormTest, OneValuePerChannelStaysFinite) {
  for (const RunningRule rule : {RunningRule::kOnnx, RunningRule::kPyTorch}) {
    const Result result = train({14}, 0, 1, {}, rule, GetParam());
    EXPECT_EQ(result.y[0], 0);
    EXPECT_FLOAT_EQ(result.mean[0], 1.4F);
    EXPECT_FLOAT_EQ(result.variance[0], 0.9F);
  }
}

// Squares of the values themselves would leave nothing of the variance.
TEST_P(BatchNormTest, KeepsASmallVarianceBesideALargeMean) {
  const Result result = train({100000, 100001, 100002, 100003}, 0, 0, {.momentum = 0},
                              RunningRule::kOnnx, GetParam());
  EXPECT_FLOAT_EQ(result.mean[0], 100001.5F);
  EXPECT_FLOAT_EQ(result.variance[0], 1.25F);
  EXPECT_NEAR(result.y[3], 1.5 / std::sqrt(1.25 + 1e-5), 1e-6);
}

TEST_P(BatchNormTest, NotANumberShows) {
  const Result result = train({0, NAN, 1}, 0, 1, {}, RunningRule::kOnnx, GetParam());
  EXPECT_TRUE(std::isnan(result.y[0]));
  EXPECT_TRUE(std::isnan(result.mean[0]));
  EXPECT_TRUE(std::isnan(result.variance[0]));
}

INSTANTIATE_TEST_SUITE_P(Kernels,
                         BatchNormTest,
                         testing::Values(core::Isa::kReference, core::Isa::kNative),
                         [](const auto& isa) { return std::string(core::name(isa.param)); });

}  // namespace
}  // namespace lowtide::ops
