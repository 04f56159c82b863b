// Gathering, scattering and running sums against numbers worked out by hand.
#include "ops/indexing/indexing.h"

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/evaluate.h"
#include "ops/cum_sum/cum_sum.h"

namespace lowtide::ops {
namespace {

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
