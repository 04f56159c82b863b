// What the harness cannot see of dropout: its statistics, and on what the mask does not depend.
#include "ops/dropout/dropout.h"

#include <omp.h>

#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "autodiff/differentiate.h"
#include "core/random.h"
#include "graph/evaluate.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::StepContext;
using graph::ValueId;

constexpr core::Machine kNative{.threads = 2, .isa = core::Isa::kNative};

ConstantTensor floats(const core::Shape& shape, const std::vector<float>& elements) {
  const auto* const first = reinterpret_cast<const std::byte*>(elements.data());
  return {{core::DType::kFloat32, shape, core::Layout::kPlain},
          std::make_shared<const std::vector<std::byte>>(first, first + elements.size() * 4)};
}

ConstantTensor ones(const core::Shape& shape) {
  return floats(shape, std::vector<float>(static_cast<std::size_t>(shape.elements()), 1.0F));
}

std::vector<float> elements(const ConstantTensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.type.shape.elements());
  return {tensor.data<float>(), tensor.data<float>() + count};
}

// Dropout of ones.
std::vector<float> dropped_ones(const core::Shape& shape,
                                const Dropout& attributes,
                                const StepContext& step) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, shape, core::Layout::kPlain});
  const ValueId y = dropout(b, x, attributes);
  return elements(graph::interpret(graph, {{x, ones(shape)}}, kNative, step).at(y));
}

constexpr Dropout kTenth{.ratio = 0.1, .stream = 77, .active = true};

TEST(Dropout, KeepsTheFractionAskedFor) {
  constexpr std::int64_t kCount = 1 << 20;
  for (const double ratio : {0.1, 0.5, 0.9}) {
    const auto y = dropped_ones({16, kCount / 16}, {.ratio = ratio, .stream = 5, .active = true},
                                {.seed = 1, .step = 9});
    double kept = 0;
    double neighbours = 0;  // pairs of which both are kept
    for (std::size_t i = 0; i < y.size(); ++i) {
      kept += y[i] != 0 ? 1 : 0;
      neighbours += i > 0 && y[i] != 0 && y[i - 1] != 0 ? 1 : 0;
    }
    const double p = 1 - ratio;
    const double deviation = std::sqrt(p * ratio / kCount);
    EXPECT_NEAR(kept / kCount, p, 5 * deviation);
    EXPECT_NEAR(neighbours / kCount, p * p, 10 * deviation);
  }
}

TEST(Dropout, GradientDrawsTheSameMask) {
  Graph graph;
  GraphBuilder b(graph);
  const core::TensorType type{core::DType::kFloat32, {4096}, core::Layout::kPlain};
  const ValueId x = b.input("x", type);
  const ValueId seed = b.input("seed", type);
  const ValueId y = dropout(b, x, kTenth);
  const std::vector<autodiff::Seed> seeds = {{y, seed}};
  const std::vector<ValueId> wrt = {x};
  const ValueId dx = autodiff::differentiate(b, seeds, wrt).at(0);
  const auto values = graph::interpret(graph, {{x, ones({4096})}, {seed, ones({4096})}}, kNative,
                                       {.seed = 3, .step = 2});
  const std::vector<float> out = elements(values.at(y));
  const std::vector<float> gradient = elements(values.at(dx));
  const auto factor = static_cast<float>(1 / 0.9);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(gradient[i], out[i] != 0 ? factor : 0.0F) << "element " << i;
  }
}

// The mask of a batch is that of its parts, one after the other.
TEST(Dropout, MicroBatchesDrawThePartsOfTheWhole) {
  const StepContext whole{.seed = 4, .step = 7, .first_sample = 0};
  const auto all = dropped_ones({10, 33}, kTenth, whole);
  const auto first = dropped_ones({6, 33}, kTenth, whole);
  const auto second = dropped_ones({4, 33}, kTenth, {.seed = 4, .step = 7, .first_sample = 6});
  std::vector<float> joined = first;
  joined.insert(joined.end(), second.begin(), second.end());
  EXPECT_EQ(joined, all);
}

TEST(Dropout, MicroBatchesOfMergedRowsDrawThePartsOfTheWhole) {
  Dropout heads = kTenth;
  heads.rows_per_sample = 3;
  const auto all = dropped_ones({12, 50}, heads, {.seed = 4, .step = 7});
  const auto second = dropped_ones({6, 50}, heads, {.seed = 4, .step = 7, .first_sample = 2});
  EXPECT_EQ(second, std::vector<float>(all.begin() + 300, all.end()));
}

TEST(Dropout, EveryPartOfThePlaceInTheRunMatters) {
  const core::Shape shape{2, 500};
  const StepContext here{.seed = 4, .step = 7, .first_sample = 0};
  const auto y = dropped_ones(shape, kTenth, here);
  EXPECT_EQ(dropped_ones(shape, kTenth, here), y);
  EXPECT_NE(dropped_ones(shape, kTenth, {.seed = 5, .step = 7}), y);
  EXPECT_NE(dropped_ones(shape, kTenth, {.seed = 4, .step = 8}), y);
  EXPECT_NE(dropped_ones(shape, kTenth, {.seed = 4, .step = 7, .first_sample = 2}), y);
  Dropout other = kTenth;
  other.stream += 1;
  EXPECT_NE(dropped_ones(shape, other, here), y);
}

TEST(Dropout, ThreadsDoNotMatter) {
  const int threads = omp_get_max_threads();
  const core::Shape shape{7, 5001};
  omp_set_num_threads(1);
  const auto alone = dropped_ones(shape, kTenth, {.seed = 1});
  omp_set_num_threads(5);
  const auto together = dropped_ones(shape, kTenth, {.seed = 1});
  omp_set_num_threads(threads);
  EXPECT_EQ(alone, together);
}

TEST(Dropout, LayoutsDoNotMatter) {
  const core::Shape shape{2, 21, 9, 17};
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, shape, core::Layout::kPlain});
  const ValueId plain = dropout(b, x, kTenth);
  const ValueId last = to_plain(b, dropout(b, to_channels_last(b, x), kTenth));
  const auto values = graph::interpret(graph, {{x, ones(shape)}}, kNative, {.seed = 6});
  EXPECT_EQ(elements(values.at(plain)), elements(values.at(last)));
}

// The mask is part of the format of a run: what is written down here must not change.
TEST(Dropout, DrawsTheWordsOfThePublishedGenerator) {
  EXPECT_EQ(core::philox(0, 0, 0),
            (core::Philox{0x6627E8D5U, 0xE169C58DU, 0xBC57AC4CU, 0x9B00DBD8U}));
}

TEST(Dropout, InactiveIsTheIdentityAndAView) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, {2, 3}, core::Layout::kPlain});
  const ValueId y = dropout(b, x, {.ratio = 0.5});
  const graph::Node& node = graph.node(graph.value(y).producer);
  const std::vector<core::TensorType> in = graph.types(node.inputs);
  const auto aliases = node.op->aliases(node.attrs, {in, in});
  ASSERT_EQ(aliases.size(), 1U);
  EXPECT_EQ(aliases[0].sharing, graph::Sharing::kView);
  activate_dropout(graph, 2);
  EXPECT_TRUE(node.attrs.as<Dropout>().active);
  EXPECT_EQ(node.op->aliases(node.attrs, {in, in})[0].sharing, graph::Sharing::kInPlace);
}

TEST(Dropout, ActivationFindsRowsOfOneSample) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId heads = b.input("x", {core::DType::kFloat32, {24, 3}, core::Layout::kPlain});
  const ValueId y = dropout(b, heads, {.ratio = 0.5});
  activate_dropout(graph, 8);
  EXPECT_EQ(graph.node(graph.value(y).producer).attrs.as<Dropout>().rows_per_sample, 3);
}

TEST(Dropout, RefusesRatiosOutsideTheRange) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {core::DType::kFloat32, {2, 3}, core::Layout::kPlain});
  EXPECT_THROW(dropout(b, x, {.ratio = 1.0}), Error);
  EXPECT_THROW(dropout(b, x, {.ratio = -0.1}), Error);
  EXPECT_THROW(dropout(b, x, {.ratio = std::nan("")}), Error);
  EXPECT_EQ(dropout(b, x, {.ratio = 0}), x);
}

TEST(Dropout, StreamsBelongToNames) {
  EXPECT_EQ(dropout_stream("block/drop"), dropout_stream("block/drop"));
  EXPECT_NE(dropout_stream("block/drop"), dropout_stream("block/drop_1"));
}

}  // namespace
}  // namespace lowtide::ops
