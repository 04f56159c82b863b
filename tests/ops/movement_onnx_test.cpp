// How the ops that move elements are read from the forms that ONNX's versions gave them.
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/evaluate.h"
#include "ops/catalog.h"
#include "ops/dropout/dropout.h"
#include "support/onnx_node.h"

namespace lowtide::ops {
namespace {

using graph::ValueId;
using support::NodeContent;
using Integers = std::vector<std::int64_t>;

// A graph in which nodes on constants are evaluated as they are read.
class Reading : public testing::Test {
 protected:
  Reading() : b(graph) { b.fold_up_to(Bytes(1 << 20)); }

  std::vector<ValueId> read(NodeContent content) {
    support::GivenNode node(b, content);
    for (const graph::OpDef* const op : catalog()) {
      for (const graph::OnnxRule& rule : op->onnx_rules()) {
        if (rule.type == content.type && rule.domain.empty()) return rule.read(node);
      }
    }
    ADD_FAILURE() << "no rule for " << content.type;
    return {};
  }

  ValueId numbers(core::Shape shape, const Integers& elements) {
    return b.constant(std::move(shape), elements);
  }
  ValueId list(const Integers& elements) {
    return numbers({static_cast<std::int64_t>(elements.size())}, elements);
  }
  Integers elements(ValueId id) {
    const auto tensor = b.constant_value(id);
    const auto* const first = tensor->data<std::int64_t>();
    return {first, first + tensor->type.shape.elements()};
  }
  Integers dims(ValueId id) { return b.type(id).shape.dims(); }

  graph::Graph graph;
  graph::GraphBuilder b;
  const ValueId no_input{};
};

TEST_F(Reading, TransposeReversesTheAxesByDefault) {
  const ValueId x = numbers({1, 2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(dims(read({.type = "Transpose", .inputs = {x}}).at(0)), (Integers{3, 2, 1}));
  EXPECT_EQ(
      dims(read({.type = "Transpose", .inputs = {x}, .attributes = {{"perm", Integers{2, 0, 1}}}})
               .at(0)),
      (Integers{3, 1, 2}));
}

TEST_F(Reading, ConcatNeedsItsAxis) {
  const ValueId x = list({1, 2});
  EXPECT_EQ(
      elements(
          read({.type = "Concat", .inputs = {x, x}, .attributes = {{"axis", std::int64_t{-1}}}})
              .at(0)),
      (Integers{1, 2, 1, 2}));
  EXPECT_THROW(read({.type = "Concat", .inputs = {x, x}}), Error);
}

TEST_F(Reading, SplitToSequenceInAllItsForms) {
  const ValueId x = numbers({5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto shapes = [&](const std::vector<ValueId>& inputs, std::int64_t keep_dims) {
    std::vector<Integers> result;
    for (const ValueId piece : read({.type = "SplitToSequence",
                               .inputs = inputs,
                               .attributes = {{"keepdims", keep_dims}}})) {
      result.push_back(dims(piece));
    }
    return result;
  };
  EXPECT_EQ(shapes({x, list({1, 4})}, 1), (std::vector<Integers>{{1, 2}, {4, 2}}));
  EXPECT_EQ(shapes({x, numbers({}, {2})}, 0), (std::vector<Integers>{{2, 2}, {2, 2}, {1, 2}}));
  EXPECT_EQ(shapes({x}, 1), std::vector<Integers>(5, {1, 2}));
  EXPECT_EQ(shapes({x}, 0), std::vector<Integers>(5, {2}));
  EXPECT_THROW(shapes({x, numbers({}, {0})}, 1), Error);
  EXPECT_EQ(shapes({numbers({0, 2}, {})}, 1), std::vector<Integers>{});
  const ValueId endless = b.input("x", {core::DType::kFloat32, {std::int64_t{1} << 40, 2}});
  EXPECT_THROW(shapes({endless}, 1), Error);
}

TEST_F(Reading, SplitInAllItsForms) {
  const ValueId x = list({0, 1, 2, 3, 4});
  const Integers lengths{1, 4};
  const auto attribute = read({.type = "Split",
                               .opset = 11,
                               .inputs = {x},
                               .attributes = {{"split", lengths}},
                               .outputs = 2});
  EXPECT_EQ(elements(attribute.at(1)), (Integers{1, 2, 3, 4}));
  const auto input =
      read({.type = "Split", .opset = 13, .inputs = {x, list(lengths)}, .outputs = 2});
  EXPECT_EQ(elements(input.at(0)), Integers{0});
  const auto equal =
      read({.type = "Split", .opset = 13, .inputs = {list({0, 1, 2, 3})}, .outputs = 2});
  EXPECT_EQ(elements(equal.at(1)), (Integers{2, 3}));
  const auto uneven = read({.type = "Split",
                            .opset = 18,
                            .inputs = {x},
                            .attributes = {{"num_outputs", std::int64_t{2}}},
                            .outputs = 2});
  EXPECT_EQ(elements(uneven.at(1)), (Integers{3, 4}));
  EXPECT_THROW(read({.type = "Split", .opset = 13, .inputs = {x}, .outputs = 2}), Error);
  EXPECT_THROW(read({.type = "Split",
                     .opset = 18,
                     .inputs = {x},
                     .attributes = {{"num_outputs", std::int64_t{1} << 50}},
                     .outputs = 2}),
               Error);
}

TEST_F(Reading, SliceByAttributesAndByInputs) {
  const ValueId x = numbers({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(elements(read({.type = "Slice",
                           .opset = 9,
                           .inputs = {x},
                           .attributes = {{"starts", Integers{1}},
                                          {"ends", Integers{3}},
                                          {"axes", Integers{1}}}})
                         .at(0)),
            (Integers{1, 2, 5, 6}));
  EXPECT_EQ(elements(read({.type = "Slice",
                           .inputs = {x, list({-1}), list({-9}), list({-1}), list({-2})}})
                         .at(0)),
            (Integers{3, 1, 7, 5}));
  EXPECT_EQ(elements(read({.type = "Slice", .inputs = {x, list({1}), list({9})}}).at(0)),
            (Integers{4, 5, 6, 7}));
  EXPECT_THROW(read({.type = "Slice", .inputs = {x, list({1})}}), Error);
}

TEST_F(Reading, PadByAttributesInputsAndAxes) {
  const ValueId x = numbers({1, 2}, {1, 2});
  EXPECT_EQ(elements(read({.type = "Pad",
                           .opset = 2,
                           .inputs = {x},
                           .attributes = {{"pads", Integers{0, 1, 0, 0}}, {"value", 7.0F}}})
                         .at(0)),
            (Integers{7, 1, 2}));
  EXPECT_EQ(elements(read({.type = "Pad",
                           .inputs = {x, list({0, 1, 0, 1}), no_input},
                           .attributes = {{"mode", std::string("reflect")}}})
                         .at(0)),
            (Integers{2, 1, 2, 1}));
  EXPECT_EQ(elements(read({.type = "Pad",
                           .opset = 18,
                           .inputs = {x, list({1, 0}), numbers({}, {9}), list({-1})}})
                         .at(0)),
            (Integers{9, 1, 2}));
  EXPECT_THROW(read({.type = "Pad", .inputs = {x, list({0, 1})}}), Error);
  EXPECT_THROW(read({.type = "Pad",
                     .inputs = {x, list({0, 1, 0, 1})},
                     .attributes = {{"mode", std::string("mirror")}}}),
               Error);
}

TEST_F(Reading, ShapeAndSizeAreConstants) {
  const ValueId x = b.input("x", {core::DType::kFloat32, {2, 3, 4}, core::Layout::kPlain});
  EXPECT_EQ(elements(read({.type = "Shape", .inputs = {x}}).at(0)), (Integers{2, 3, 4}));
  EXPECT_EQ(elements(read({.type = "Shape",
                           .opset = 15,
                           .inputs = {x},
                           .attributes = {{"start", std::int64_t{-2}}, {"end", std::int64_t{9}}}})
                         .at(0)),
            (Integers{3, 4}));
  EXPECT_EQ(elements(read({.type = "Shape",
                           .opset = 15,
                           .inputs = {x},
                           .attributes = {{"start", std::int64_t{2}}, {"end", std::int64_t{1}}}})
                         .at(0)),
            Integers{});
  EXPECT_EQ(elements(read({.type = "Size", .inputs = {x}}).at(0)), Integers{24});
}

TEST_F(Reading, Range) {
  const auto range = [&](std::int64_t start, std::int64_t limit, std::int64_t delta) {
    return elements(
        read({.type = "Range",
              .inputs = {numbers({}, {start}), numbers({}, {limit}), numbers({}, {delta})}})
            .at(0));
  };
  EXPECT_EQ(range(1, 8, 3), (Integers{1, 4, 7}));
  EXPECT_EQ(range(3, 0, -2), (Integers{3, 1}));
  EXPECT_EQ(range(3, 0, 1), Integers{});
  EXPECT_THROW(range(0, 5, 0), Error);
  EXPECT_THROW(range(0, INT64_MAX, 1), Error);
}

TEST_F(Reading, ConstantOfShapeIsZeroByDefault) {
  const ValueId y = read({.type = "ConstantOfShape", .inputs = {list({2, 2})}}).at(0);
  EXPECT_EQ(b.type(y), (core::TensorType{core::DType::kFloat32, {2, 2}, core::Layout::kPlain}));
  EXPECT_EQ(b.constant_value(y)->data<float>()[3], 0.0F);
}

TEST_F(Reading, ExpandTileGatherTriluCast) {
  const ValueId x = list({5, 6});
  EXPECT_EQ(elements(read({.type = "Expand", .inputs = {x, list({2, 1})}}).at(0)),
            (Integers{5, 6, 5, 6}));
  EXPECT_EQ(elements(read({.type = "Tile", .inputs = {x, list({2})}}).at(0)),
            (Integers{5, 6, 5, 6}));
  EXPECT_EQ(elements(read({.type = "Gather", .inputs = {x, list({-1})}}).at(0)), Integers{6});
  EXPECT_EQ(
      elements(read({.type = "Trilu", .inputs = {numbers({2, 2}, {1, 2, 3, 4}), numbers({}, {1})}})
                   .at(0)),
      (Integers{0, 2, 0, 0}));
  const ValueId y =
      read({.type = "Cast", .inputs = {x}, .attributes = {{"to", std::int64_t{11}}}}).at(0);
  EXPECT_EQ(b.type(y).dtype, core::DType::kFloat64);
  EXPECT_EQ(read({.type = "CastLike", .inputs = {y, x}}).size(), 1U);
  EXPECT_THROW(read({.type = "Cast", .inputs = {x}, .attributes = {{"to", std::int64_t{17}}}}),
               Error);
}

TEST_F(Reading, DropoutTakesItsRatioAndIsInactive) {
  const ValueId x = b.input("x", {core::DType::kFloat32, {2, 3}, core::Layout::kPlain});
  const auto attributes_of = [&](ValueId y) {
    return graph.node(graph.value(y).producer).attrs.as<Dropout>();
  };
  const Dropout old = attributes_of(
      read({.type = "Dropout", .opset = 7, .inputs = {x}, .attributes = {{"ratio", 0.25F}}}).at(0));
  EXPECT_EQ(old.ratio, 0.25);
  EXPECT_FALSE(old.active);
  b.set_scope("drop");
  const ValueId ratio = b.constant({}, std::vector<float>{0.75F});
  const auto outputs =
      read({.type = "Dropout", .inputs = {x, ratio, numbers({}, {1})}, .outputs = 2});
  EXPECT_EQ(attributes_of(outputs.at(0)).ratio, 0.75);
  EXPECT_TRUE(attributes_of(outputs.at(0)).active);
  EXPECT_EQ(attributes_of(outputs.at(0)).stream, dropout_stream("drop"));
  EXPECT_EQ(b.type(outputs.at(1)).dtype, core::DType::kBool);
  EXPECT_EQ(attributes_of(read({.type = "Dropout", .inputs = {x}}).at(0)).ratio, 0.5);
}

}  // namespace
}  // namespace lowtide::ops
