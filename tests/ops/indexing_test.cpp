// Gathering, scattering and running sums against numbers worked out by hand.
#include "ops/indexing/indexing.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "autodiff/differentiate.h"
#include "graph/evaluate.h"
#include "ops/cum_sum/cum_sum.h"
#include "ops/unary/unary.h"
#include "support/tensors.h"

namespace lowtide::ops {
namespace {

using core::Layout;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;
using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

// The elements of what build(builder) makes of constants.
template <class T = float, class F>
std::vector<T> elements(F&& build) {
  graph::Graph graph;
  GraphBuilder b(graph);
  const ValueId result = build(b);
  const auto values = graph::interpret(graph, {}, {.threads = 2, .isa = core::Isa::kNative});
  const T* const first = values.at(result).template data<T>();
  return {first, first + graph.type(result).shape.elements()};
}

TEST(GatherElements, TakesOneElementForEachIndex) {
  const auto rows = [](GraphBuilder& b) {
    const ValueId data = b.constant({2, 3}, Floats{1, 2, 3, 4, 5, 6});
    return gather_elements(b, data, b.constant({2, 2}, Ints{2, 0, -1, 1}), 1);
  };
  EXPECT_EQ(elements(rows), (Floats{3, 1, 6, 5}));
  const auto columns = [](GraphBuilder& b) {
    const ValueId data = b.constant({2, 3}, Floats{1, 2, 3, 4, 5, 6});
    return gather_elements(b, data, b.constant({3, 2}, Ints{1, 0, 0, 0, -1, 1}), 0);
  };
  EXPECT_EQ(elements(columns), (Floats{4, 2, 1, 2, 4, 5}));
}

TEST(GatherElements, RefusesConstantIndicesOutside) {
  graph::Graph graph;
  GraphBuilder b(graph);
  const ValueId data = b.constant({2, 3}, Floats(6));
  EXPECT_THROW(gather_elements(b, data, b.constant({2, 1}, Ints{0, 3}), 1), Error);
  EXPECT_THROW(gather_elements(b, data, b.constant({3, 1}, Ints{0, 1, 2}), 1), Error);
}

TEST(GatherNd, TakesElementsOrSlices) {
  const Floats eight = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto of = [&](Shape shape, Ints at, std::size_t batch_dims) {
    return elements([&](GraphBuilder& b) {
      return gather_nd(b, b.constant({2, 2, 2}, eight), b.constant(shape, at), batch_dims);
    });
  };
  EXPECT_EQ(of({2, 3}, {0, 1, 1, 1, 0, -2}, 0), (Floats{3, 4}));
  EXPECT_EQ(of({2, 2}, {0, 1, 1, 0}, 0), (Floats{2, 3, 4, 5}));
  EXPECT_EQ(of({1, 1}, {-1}, 0), (Floats{4, 5, 6, 7}));
  EXPECT_EQ(of({2, 1}, {1, 0}, 1), (Floats{2, 3, 4, 5}));
}

TEST(ScatterElements, ReplacesOrCombines) {
  const auto by = [](ScatterReduction reduction) {
    return elements([=](GraphBuilder& b) {
      const ValueId data = b.constant({1, 5}, Floats{1, 2, 3, 4, 5});
      const ValueId at = b.constant({1, 3}, Ints{1, -1, 1});
      return scatter_elements(b, data, at, b.constant({1, 3}, Floats{3, 7, -2}), 1, reduction);
    });
  };
  EXPECT_EQ(by(ScatterReduction::kNone), (Floats{1, -2, 3, 4, 7}));
  EXPECT_EQ(by(ScatterReduction::kAdd), (Floats{1, 3, 3, 4, 12}));
  EXPECT_EQ(by(ScatterReduction::kMul), (Floats{1, -12, 3, 4, 35}));
  EXPECT_EQ(by(ScatterReduction::kMax), (Floats{1, 3, 3, 4, 7}));
  EXPECT_EQ(by(ScatterReduction::kMin), (Floats{1, -2, 3, 4, 5}));
}

TEST(ScatterNd, ReplacesSlices) {
  const auto slices = [](GraphBuilder& b) {
    const ValueId data = b.constant({3, 2}, Floats{1, 2, 3, 4, 5, 6});
    const ValueId at = b.constant({2, 1}, Ints{2, 0});
    return scatter_nd(b, data, at, b.constant({2, 2}, Floats{10, 20, 30, 40}));
  };
  EXPECT_EQ(elements(slices), (Floats{30, 40, 3, 4, 10, 20}));
}

struct Given {
  Shape shape;
  Floats elements;
};

// The gradients of the weighted sum of build(builder, inputs) with respect to each input.
template <class F>
std::vector<Floats> gradients(const std::vector<Given>& given, const Floats& weights, F&& build) {
  graph::Graph graph;
  GraphBuilder b(graph);
  std::vector<ValueId> inputs;
  std::map<ValueId, graph::ConstantTensor> values;
  for (const Given& one : given) {
    inputs.push_back(b.input("input", {core::DType::kFloat32, one.shape, Layout::kPlain}));
    values.emplace(inputs.back(), support::tensor(one.shape, one.elements));
  }
  const ValueId y = build(b, inputs);
  const std::vector<autodiff::Seed> seeds = {{y, b.constant(b.type(y).shape, weights)}};
  const std::vector<ValueId> wrt = autodiff::differentiate(b, seeds, inputs);
  const auto found = graph::interpret(graph, values, {.threads = 2, .isa = core::Isa::kNative});
  std::vector<Floats> result;
  for (const ValueId id : wrt) result.push_back(support::elements<float>(found.at(id)));
  return result;
}

const std::vector<Given> kScattered = {{{5}, {1, 2, 3, 4, 5}}, {{4}, {10, 20, 30, 40}}};
const Floats kWeights = {1, 10, 100, 1000, 10000};

std::vector<Floats> of_scatter(ScatterReduction reduction,
                               const Ints& places,
                               const std::vector<Given>& given = kScattered) {
  return gradients(given, kWeights, [&](GraphBuilder& b, const std::vector<ValueId>& in) {
    return scatter_elements(b, in[0], b.constant({4}, places), in[1], 0, reduction);
  });
}

TEST(ScatterGradient, GoesToTheLastUpdateOfAPlace) {
  const auto result = of_scatter(ScatterReduction::kNone, {1, 3, 1, -2});
  EXPECT_EQ(result[0], (Floats{1, 0, 100, 0, 10000}));
  EXPECT_EQ(result[1], (Floats{0, 0, 10, 1000}));
}

TEST(ScatterGradient, GoesToTheLastSliceOfAPlace) {
  const std::vector<Given> given = {{{2, 2}, {1, 2, 3, 4}}, {{3, 2}, {1, 2, 3, 4, 5, 6}}};
  for (const bool constant : {false, true}) {
    const auto result =
        gradients(given, {1, 2, 3, 4}, [&](GraphBuilder& b, const std::vector<ValueId>& in) {
          ValueId places = b.constant({3, 1}, Ints{1, 0, 1});
          // Hidden from what looks at constants beforehand.
          if (!constant) places = unary(b, {.kind = UnaryKind::kAbs}, places);
          return scatter_nd(b, in[0], places, in[1]);
        });
    EXPECT_EQ(result[0], (Floats{0, 0, 0, 0}));
    EXPECT_EQ(result[1], (Floats{0, 0, 1, 2, 3, 4}));
  }
}

TEST(ScatterGradient, OfASumGoesToAll) {
  const auto result = of_scatter(ScatterReduction::kAdd, {1, 3, 1, -2});
  EXPECT_EQ(result[0], kWeights);
  EXPECT_EQ(result[1], (Floats{10, 1000, 10, 1000}));
}

TEST(ScatterGradient, OfAProductIsTheOtherFactorsEvenAtZero) {
  const auto plain = of_scatter(ScatterReduction::kMul, {1, 3, 1, -2});
  EXPECT_EQ(plain[0], (Floats{1, 10 * 10 * 30, 100, 1000.0F * 20 * 40, 10000}));
  EXPECT_EQ(plain[1], (Floats{10 * 2 * 30, 1000 * 4 * 40, 10 * 2 * 10, 1000 * 4 * 20}));
  const std::vector<Given> zeros = {{{5}, {1, 2, 3, 0, 5}}, {{4}, {0, 20, 30, 0}}};
  const auto at_zero = of_scatter(ScatterReduction::kMul, {1, 3, 1, -2}, zeros);
  EXPECT_EQ(at_zero[0], (Floats{1, 0, 100, 0, 10000}));  // place 3 has two zeros
  EXPECT_EQ(at_zero[1], (Floats{10 * 2 * 30, 0, 0, 0}));
}

TEST(ScatterGradient, OfAnExtremeIsSharedByWhatAttainsIt) {
  const std::vector<Given> given = {{{5}, {1, 7, 3, 4, 5}}, {{4}, {7, 9, 2, 9}}};
  const auto most = of_scatter(ScatterReduction::kMax, {1, 3, 1, -2}, given);
  EXPECT_EQ(most[0], (Floats{1, 5, 100, 0, 10000}));
  EXPECT_EQ(most[1], (Floats{5, 500, 0, 500}));
  const auto least = of_scatter(ScatterReduction::kMin, {1, 3, 1, -2}, given);
  EXPECT_EQ(least[0], (Floats{1, 0, 100, 1000, 10000}));
  EXPECT_EQ(least[1], (Floats{0, 0, 10, 0}));
}

// Indices that are computed may lie outside: such updates change nothing and have no gradient.
TEST(ScatterGradient, OfUpdatesOutsideIsZero) {
  for (const ScatterReduction reduction :
       {ScatterReduction::kNone, ScatterReduction::kAdd, ScatterReduction::kMul,
        ScatterReduction::kMax, ScatterReduction::kMin}) {
    const auto result =
        gradients(kScattered, kWeights, [&](GraphBuilder& b, const std::vector<ValueId>& in) {
          const ValueId places =
              unary(b, {.kind = UnaryKind::kAbs}, b.constant({4}, Ints{7, 7, 5, 9}));
          return scatter_elements(b, in[0], places, in[1], 0, reduction);
        });
    EXPECT_EQ(result[0], kWeights);
    EXPECT_EQ(result[1], (Floats{0, 0, 0, 0}));
  }
}

TEST(CumSum, RunsFromEitherEnd) {
  const auto of = [](bool exclusive, bool reverse) {
    return elements([=](GraphBuilder& b) {
      return cum_sum(b, b.constant({2, 3}, Floats{1, 2, 3, 4, 5, 6}), 1, exclusive, reverse);
    });
  };
  EXPECT_EQ(of(false, false), (Floats{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(of(true, false), (Floats{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(of(false, true), (Floats{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(of(true, true), (Floats{5, 3, 0, 11, 6, 0}));
}

}  // namespace
}  // namespace lowtide::ops
