#include "ops/cross_entropy/cross_entropy.h"

#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "autodiff/differentiate.h"
#include "graph/evaluate.h"

namespace lowtide::ops {
namespace {

using core::DType;
using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

constexpr core::Machine kReference{.threads = 1, .isa = core::Isa::kReference};
constexpr core::Machine kNative{.threads = 2, .isa = core::Isa::kNative};

template <class T>
ConstantTensor tensor(core::Shape shape, const std::vector<T>& numbers) {
  const auto* const first = reinterpret_cast<const std::byte*>(numbers.data());
  return {
      {core::dtype_of<T>(), std::move(shape)},
      std::make_shared<const std::vector<std::byte>>(first, first + numbers.size() * sizeof(T))};
}

struct Result {
  double loss = 0;
  std::int64_t correct = 0;
  std::vector<float> gradient;
};

Result run(const std::vector<std::vector<float>>& rows,
           const std::vector<std::int64_t>& labels,
           float normalizer,
           const CrossEntropy& attributes,
           const core::Machine& machine) {
  const auto classes = static_cast<std::int64_t>(rows[0].size());
  const auto count = static_cast<std::int64_t>(rows.size());
  std::vector<float> flat;
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  Graph graph;
  GraphBuilder b(graph);
  const ValueId logits = b.input("logits", {DType::kFloat32, {count, classes}});
  const ValueId y = b.input("labels", {DType::kInt64, {count}});
  const ValueId scale = b.input("normalizer", {DType::kFloat32, {}}, graph::Role::kScalar);
  const LossValues out = cross_entropy(b, logits, y, scale, attributes);
  const autodiff::Seed seed{.output = out.loss, .gradient = {}};
  const ValueId gradient = autodiff::differentiate(b, {&seed, 1}, {&logits, 1})[0];
  const auto values = graph::interpret(graph,
                                       {{logits, tensor({count, classes}, flat)},
                                        {y, tensor({count}, labels)},
                                        {scale, tensor<float>({}, {normalizer})}},
                                       machine);
  const auto* const g = values.at(gradient).data<float>();
  return {*values.at(out.loss).data<double>(),
          *values.at(out.correct).data<std::int64_t>(),
          {g, g + flat.size()}};
}

class CrossEntropyTest : public testing::TestWithParam<core::Machine> {};

const std::vector<float> kFirst = {2, 0, 0};
const std::vector<float> kOther = {0, 1, 0};

TEST_P(CrossEntropyTest, PartsAddUpToTheBatch) {
  const Result whole =
      run({kFirst, kOther, kOther, kOther, kOther}, {1, 1, 0, 1, 2}, 0.2F, {}, GetParam());
  EXPECT_NEAR(whole.loss, 1.2890647, 2e-7);
  EXPECT_EQ(whole.correct, 2);
  const Result head = run({kFirst}, {1}, 0.2F, {}, GetParam());
  const Result tail = run({kOther, kOther, kOther, kOther}, {1, 0, 1, 2}, 0.2F, {}, GetParam());
  EXPECT_NEAR(head.loss + tail.loss, 1.2890647, 2e-7);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(whole.gradient[i], i < 3 ? head.gradient[i] : tail.gradient[i - 3]);
  }
}

TEST_P(CrossEntropyTest, IgnoredRowsCountForNothing) {
  const Result part = run({kFirst, kOther, kFirst, kOther}, {1, -100, -100, 7}, 0.2F,
                          {.ignore_index = -100}, GetParam());
  EXPECT_NEAR(part.loss, run({kFirst}, {1}, 0.2F, {}, GetParam()).loss, 1e-12);
  for (std::size_t i = 3; i < 12; ++i) EXPECT_EQ(part.gradient[i], 0);
  const Result none = run({kFirst, kOther}, {0, 0}, 0, {.ignore_index = 0}, GetParam());
  EXPECT_EQ(none.loss, 0);
  EXPECT_EQ(none.correct, 0);
  EXPECT_EQ(none.gradient, std::vector<float>(6, 0.0F));
}

TEST_P(CrossEntropyTest, TheFirstLargestLogitWins) {
  EXPECT_EQ(run({{1, 1, 0}, {1, 1, 0}}, {0, 1}, 1, {}, GetParam()).correct, 1);
}

TEST_P(CrossEntropyTest, HugeLogitsStayFinite) {
  const Result result = run({{1e30F, -1e30F, 0}, {5000, 4999, -5000}}, {0, 1}, 1, {}, GetParam());
  EXPECT_NEAR(result.loss, 1.3132617, 1e-6);
  EXPECT_NEAR(result.gradient[3], 0.7310586, 1e-6);
  EXPECT_NEAR(result.gradient[4], -0.7310586, 1e-6);
}

TEST_P(CrossEntropyTest, ImpossibleClassesTakeNoGradient) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const Result result = run({{0, kNever, 0, kNever}}, {2}, 1, {}, GetParam());
  EXPECT_NEAR(result.loss, std::log(2.0), 1e-7);
  EXPECT_EQ(result.gradient[1], 0);
  EXPECT_NEAR(result.gradient[0], 0.5, 1e-7);
  EXPECT_NEAR(result.gradient[2], -0.5, 1e-7);
}

TEST_P(CrossEntropyTest, NotANumberShows) {
  std::vector<float> row(40, 0.0F);
  row[33] = NAN;
  const Result result = run({row}, {2}, 1, {}, GetParam());
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_TRUE(std::isnan(result.gradient[0]));
}

TEST_P(CrossEntropyTest, SmoothsLabels) {
  // 0.9 (log 2) + 0.1 / 2 (log 2 + log 2): both classes are equally likely.
  const Result result = run({{3, 3}}, {0}, 1, {.label_smoothing = 0.1}, GetParam());
  EXPECT_NEAR(result.loss, std::log(2.0), 1e-7);
  EXPECT_NEAR(result.gradient[0], 0.5 - 0.95, 1e-7);
  EXPECT_NEAR(result.gradient[1], 0.5 - 0.05, 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Kernels,
                         CrossEntropyTest,
                         testing::Values(kReference, kNative),
                         [](const auto& machine) {
                           return std::string(core::name(machine.param.isa));
                         });

}  // namespace
}  // namespace lowtide::ops
