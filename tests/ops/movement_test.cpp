// Literal results of the ops that move elements, worked out by hand or with numpy.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "autodiff/differentiate.h"
#include "graph/evaluate.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/constant/constant.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/layout/layout.h"
#include "ops/pad/pad.h"
#include "ops/slice/slice.h"
#include "ops/split/split.h"
#include "ops/tile/tile.h"
#include "ops/transpose/transpose.h"
#include "ops/trilu/trilu.h"
#include "ops/where/where.h"

namespace lowtide::ops {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using Integers = std::vector<std::int64_t>;

constexpr core::Machine kNative{.threads = 2, .isa = core::Isa::kNative};

Integers iota(std::int64_t count) {
  Integers result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(i);
  return result;
}

template <class T>
std::vector<T> elements(const graph::ConstantTensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.type.shape.elements()};
}

// Evaluates what `build` makes of 0, 1, 2, ... in `shape`: by the fast kernels, and by folding.
Integers of_iota(const core::Shape& shape,
                 const std::function<ValueId(GraphBuilder&, ValueId)>& build) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.constant(shape, iota(shape.elements()));
  const ValueId y = build(b, x);
  const Integers run = elements<std::int64_t>(graph::interpret(graph, {}, kNative).at(y));

  Graph folded;
  GraphBuilder folding(folded);
  folding.fold_up_to(Bytes(1 << 20));
  const ValueId z = build(folding, folding.constant(shape, iota(shape.elements())));
  EXPECT_EQ(folded.node_count(), 0U);
  EXPECT_EQ(elements<std::int64_t>(*folding.constant_value(z)), run);
  return run;
}

TEST(Movement, Transpose) {
  EXPECT_EQ(of_iota({2, 3},
                    [](auto& b, auto x) {
                      return transpose(b, x, {1, 0});
                    }),
            (Integers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(of_iota({2, 1, 2, 2},
                    [](auto& b, auto x) {
                      return transpose(b, x, {3, 0, 1, 2});
                    }),
            (Integers{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(Movement, TransposeBetweenLayoutsIsAView) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId nhwc = b.input("x", {core::DType::kFloat32, {2, 5, 6, 3}, core::Layout::kPlain});
  const ValueId nchw = transpose(b, nhwc, {0, 3, 1, 2});
  const ValueId back = transpose(b, nchw, {0, 2, 3, 1});
  EXPECT_EQ(b.type(nchw),
            (core::TensorType{core::DType::kFloat32, {2, 3, 5, 6}, core::Layout::kChannelsLast}));
  EXPECT_EQ(b.type(back), b.type(nhwc));
  for (const ValueId id : {nchw, back}) {
    const graph::Node& node = graph.node(graph.value(id).producer);
    const std::vector<core::TensorType> in = graph.types(node.inputs);
    const std::vector<core::TensorType> out = graph.types(node.outputs);
    const auto aliases = node.op->aliases(node.attrs, {in, out});
    ASSERT_EQ(aliases.size(), 1U);
    EXPECT_EQ(aliases[0].sharing, graph::Sharing::kView);
  }
}

TEST(Movement, TransposeRefusesWhatIsNoPermutation) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.constant({2, 3}, iota(6));
  EXPECT_THROW(transpose(b, x, {0, 0}), Error);
  EXPECT_THROW(transpose(b, x, {0}), Error);
  EXPECT_THROW(transpose(b, x, {0, 2}), Error);
  EXPECT_EQ(transpose(b, x, {0, 1}), x);
}

TEST(Movement, ConcatAndSplit) {
  EXPECT_EQ(of_iota({2, 2},
                    [](auto& b, auto x) {
                      return concat(b, {x, x}, 1);
                    }),
            (Integers{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(of_iota({2, 3},
                    [](auto& b, auto x) {
                      return split(b, x, 1, {1, 2})[1];
                    }),
            (Integers{1, 2, 4, 5}));
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.constant({2, 3}, iota(6));
  EXPECT_THROW(split(b, x, 1, {1, 1}), Error);
  EXPECT_THROW(split(b, x, 1, {4, -1}), Error);
  EXPECT_THROW(concat(b, {x, b.constant({3, 3}, iota(9))}, 1), Error);
}

TEST(Movement, SliceCutsItsEnds) {
  const auto sliced = [](Slice slice_of) {
    return of_iota({6}, [&](auto& b, auto x) { return slice(b, x, slice_of); });
  };
  EXPECT_EQ(sliced({.starts = {1}, .ends = {100}}), (Integers{1, 2, 3, 4, 5}));
  EXPECT_EQ(sliced({.starts = {-100}, .ends = {-4}}), (Integers{0, 1}));
  EXPECT_EQ(sliced({.starts = {4}, .ends = {2}}), Integers{});
  EXPECT_EQ(sliced({.starts = {1}, .ends = {6}, .axes = {0}, .steps = {3}}), (Integers{1, 4}));
  EXPECT_EQ(sliced({.starts = {100}, .ends = {-100}, .axes = {0}, .steps = {-2}}),
            (Integers{5, 3, 1}));
  EXPECT_EQ(sliced({.starts = {4}, .ends = {1}, .axes = {-1}, .steps = {-1}}), (Integers{4, 3, 2}));
  EXPECT_EQ(sliced({.starts = {0}, .ends = {6}, .axes = {0}, .steps = {INT64_MAX}}), Integers{0});
  EXPECT_EQ(sliced({.starts = {5}, .ends = {0}, .axes = {0}, .steps = {INT64_MIN}}), Integers{5});
}

TEST(Movement, SliceRefusesWhatMakesNoSense) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.constant({2, 3}, iota(6));
  EXPECT_THROW(slice(b, x, {.starts = {0}, .ends = {1, 2}}), Error);
  EXPECT_THROW(slice(b, x, {.starts = {0}, .ends = {1}, .axes = {2}}), Error);
  EXPECT_THROW(slice(b, x, {.starts = {0, 0}, .ends = {1, 1}, .axes = {1, -1}}), Error);
  EXPECT_THROW(slice(b, x, {.starts = {0}, .ends = {1}, .axes = {0}, .steps = {0}}), Error);
  EXPECT_EQ(slice(b, x, {.starts = {0}, .ends = {9}}), x);
}

TEST(Movement, PadModes) {
  const auto padded = [](PadMode mode, std::int64_t before, std::int64_t after) {
    return of_iota({3}, [&](auto& b, auto x) {
      return pad(b, x, {.mode = mode, .before = {before}, .after = {after}, .value = 9});
    });
  };
  EXPECT_EQ(padded(PadMode::kConstant, 2, 1), (Integers{9, 9, 0, 1, 2, 9}));
  EXPECT_EQ(padded(PadMode::kReflect, 2, 2), (Integers{2, 1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(padded(PadMode::kEdge, 2, 1), (Integers{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(padded(PadMode::kWrap, 4, 2), (Integers{2, 0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(padded(PadMode::kConstant, -1, 2), (Integers{1, 2, 9, 9}));
  EXPECT_EQ(padded(PadMode::kReflect, -1, 2), (Integers{1, 2, 1, 0}));
  EXPECT_EQ(of_iota({2, 2},
                    [](auto& b, auto x) {
                      return pad(b, x, {.before = {0, 1}, .after = {1, 0}, .value = 7});
                    }),
            (Integers{7, 0, 1, 7, 2, 3, 7, 7, 7}));
}

TEST(Movement, PadRefusesWhatDoesNotFit) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.constant({2, 3}, iota(6));
  EXPECT_THROW(pad(b, x, {.before = {1}, .after = {1}}), Error);
  EXPECT_THROW(pad(b, x, {.before = {-3, 0}, .after = {0, 0}}), Error);
  EXPECT_THROW(pad(b, x, {.before = {INT64_MIN, 0}, .after = {0, 0}}), Error);
  const ValueId empty = b.constant({0, 3}, Integers{});
  EXPECT_THROW(pad(b, empty, {.mode = PadMode::kEdge, .before = {1, 0}, .after = {0, 0}}), Error);
  EXPECT_EQ(pad(b, x, {.before = {0, 0}, .after = {0, 0}}), x);
}

TEST(Movement, ExpandAndTile) {
  EXPECT_EQ(of_iota({2, 1},
                    [](auto& b, auto x) {
                      return expand(b, x, {2, 3});
                    }),
            (Integers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(of_iota({2},
                    [](auto& b, auto x) {
                      return expand(b, x, {2, 1});
                    }),
            (Integers{0, 1, 0, 1}));
  EXPECT_EQ(of_iota({2, 2},
                    [](auto& b, auto x) {
                      return tile(b, x, {2, 2});
                    }),
            (Integers{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(Movement, Trilu) {
  EXPECT_EQ(of_iota({3, 3}, [](auto& b, auto x) { return trilu(b, x, {.diagonal = 1}); }),
            (Integers{0, 1, 2, 0, 0, 5, 0, 0, 0}));
  EXPECT_EQ(
      of_iota({2, 3}, [](auto& b, auto x) { return trilu(b, x, {.keep = Triangle::kLower}); }),
      (Integers{0, 0, 0, 3, 4, 0}));
}

TEST(Movement, WhereBroadcasts) {
  EXPECT_EQ(
      of_iota({2, 2},
              [](auto& b, auto x) {
                const ValueId row = cast(b, b.constant({2}, Integers{0, 1}), core::DType::kBool);
                return where(b, row, x, b.constant({}, Integers{-1}));
              }),
      (Integers{-1, 1, -1, 3}));
}

TEST(Movement, FillHoldsItsValueInEveryDtype) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = fill(b, {core::DType::kInt16, {3}, core::Layout::kPlain}, -2);
  EXPECT_EQ(elements<std::int16_t>(graph::interpret(graph, {}, kNative).at(x)),
            (std::vector<std::int16_t>{-2, -2, -2}));
}

TEST(Movement, GatherCountsFromTheBack) {
  EXPECT_EQ(of_iota({3, 2},
                    [](auto& b, auto x) {
                      return gather(b, x, b.constant({2}, Integers{-1, 0}), 0);
                    }),
            (Integers{4, 5, 0, 1}));
  EXPECT_EQ(
      of_iota({4}, [](auto& b, auto x) { return gather(b, x, b.constant({}, Integers{2}), 0); }),
      (Integers{2}));
}

TEST(Movement, GatherRefusesConstantIndicesOutside) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.constant({3, 2}, iota(6));
  EXPECT_THROW(gather(b, x, b.constant({1}, Integers{3}), 0), Error);
  EXPECT_THROW(gather(b, x, b.constant({1}, Integers{-4}), 0), Error);
}

TEST(Movement, GatherMarksIndicesOutsideAndLeavesThemOutOfTheGradient) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId table = b.constant({2, 1}, std::vector<float>{10, 20});
  const ValueId ids = b.input("ids", {core::DType::kInt64, {4}, core::Layout::kPlain});
  const ValueId y = gather(b, table, ids, 0);
  const ValueId ones = b.constant({4, 1}, std::vector<float>{1, 1, 1, 1});
  const std::vector<autodiff::Seed> seeds = {{y, ones}};
  const std::vector<ValueId> wrt = {table};
  const ValueId gradient = autodiff::differentiate(b, seeds, wrt).at(0);
  Graph holder;
  const ValueId indices = GraphBuilder(holder).constant({4}, Integers{1, 2, -2, 1});
  const auto values =
      graph::interpret(graph, {{ids, graph::load_content(holder.value(indices))}}, kNative);
  const std::vector<float> rows = elements<float>(values.at(y));
  EXPECT_EQ(rows[0], 20);
  EXPECT_TRUE(std::isnan(rows[1]));
  EXPECT_EQ(rows[2], 10);
  EXPECT_EQ(elements<float>(values.at(gradient)), (std::vector<float>{1, 2}));
}

TEST(Movement, RowsPickedByAnInputAreFoundBehindAGather) {
  Graph graph;
  GraphBuilder b(graph);
  const auto integers = [&](const char* name, const core::Shape& shape) {
    return b.input(name, {core::DType::kInt64, shape, core::Layout::kPlain});
  };
  const ValueId table = b.constant({50, 4}, iota(200));
  const ValueId ids = b.input("ids", {core::DType::kInt32, {2, 3}, core::Layout::kPlain});
  const ValueId both = integers("both", {2});
  const ValueId columns = integers("columns", {2, 3});
  const ValueId other = integers("other", {2});
  gather(b, table, cast(b, transpose(b, ids, {1, 0}), core::DType::kInt64), 0);
  gather(b, table, both, 0);
  gather(b, table, both, 1);
  gather(b, table, slice(b, columns, {.starts = {0}, .ends = {1}, .axes = {1}}),
         0);  // what the other columns are is unknown
  gather(b, table, b.constant({1}, Integers{0}), 0);
  EXPECT_EQ(rows_picked_by(graph, ids), 50);
  EXPECT_EQ(rows_picked_by(graph, both), 4);
  EXPECT_EQ(rows_picked_by(graph, columns), std::nullopt);
  EXPECT_EQ(rows_picked_by(graph, other), std::nullopt);
}

TEST(Movement, CastOfFloatsThatIntegersDoNotHold) {
  Graph graph;
  GraphBuilder b(graph);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const ValueId x = b.constant(
      {6}, std::vector<float>{2.9F, -2.9F, 1e20F, -kInfinity, std::nanf(""), 2147483648.0F});
  const ValueId y = cast(b, x, core::DType::kInt32);
  const ValueId truth = cast(b, x, core::DType::kBool);
  const auto values = graph::interpret(graph, {}, kNative);
  EXPECT_EQ(elements<std::int32_t>(values.at(y)),
            (std::vector<std::int32_t>{2, -2, INT32_MAX, INT32_MIN, 0, INT32_MAX}));
  EXPECT_EQ(elements<std::uint8_t>(values.at(truth)), std::vector<std::uint8_t>(6, 1));
}

}  // namespace
}  // namespace lowtide::ops
