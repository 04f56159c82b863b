// Which tensors of a file are trained, and how merged ones come apart.
#include "passes/parameters.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/builder.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/binary/binary.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/matmul/matmul.h"
#include "ops/transpose/transpose.h"

namespace lowtide::passes {
namespace {

using core::DType;
using core::Shape;
using graph::GraphBuilder;
using graph::NodeId;
using graph::Role;
using graph::ValueId;

// A graph under construction with the tensors of its file.
class Parameters : public testing::Test {
 protected:
  ValueId tensor(const std::string& name, const Shape& shape, const std::vector<float>& elements) {
    const ValueId value = b.constant(shape, elements, name);
    tensors.push_back({.name = name, .value = value});
    return value;
  }

  ValueId filled(const std::string& name, const Shape& shape, float element) {
    return tensor(name, shape,
                  std::vector<float>(static_cast<std::size_t>(shape.elements()), element));
  }

  // Notes that the file's node, built as the last node so far, reads `value` as that input.
  void use(ValueId value, const std::string& node_output, std::size_t input, bool renamed = false) {
    uses.push_back({.value = value,
                    .node_output = node_output,
                    .input = input,
                    .renamed = renamed,
                    .begin = NodeId(graph.node_count() - 1),
                    .end = NodeId(graph.node_count())});
  }

  std::vector<Parameter> choose(const ParameterRules& rules = {}) {
    return choose_parameters(graph, tensors, uses, rules);
  }

  static const Parameter& named(const std::vector<Parameter>& all, const std::string& name) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Parameter& each) { return each.name == name; });
    if (found == all.end()) throw std::runtime_error(name + " is not among the parameters");
    return *found;
  }

  graph::Graph graph;
  GraphBuilder b{graph};
  std::vector<FileTensor> tensors;
  std::vector<FileTensorUse> uses;
  ValueId x = b.input("x", {DType::kFloat32, Shape{2, 4}});
};

TEST_F(Parameters, WeightsAndBiasesAreTrained) {
  const ValueId w = tensor("w", Shape{4, 4}, std::vector<float>(16, 0.5F));
  const ValueId bias = tensor("bias", Shape{4}, {1, 2, 3, 4});
  ops::gemm(b, x, w, bias);
  const std::vector<Parameter> all = choose();
  for (const char* const name : {"w", "bias"}) {
    EXPECT_TRUE(named(all, name).trained) << named(all, name).reason;
    EXPECT_EQ(graph.value(named(all, name).value).role, Role::kParameter);
  }
}

TEST_F(Parameters, AWeightBehindATransposeIsTrained) {
  const ValueId w = tensor("w", Shape{3, 4}, std::vector<float>(12, 0.5F));
  ops::matmul(b, x, ops::transpose(b, w, {1, 0}));
  EXPECT_TRUE(named(choose(), "w").trained);
}

TEST_F(Parameters, ElementwiseOperandsAreTrainedUnlessScalarsOrMasks) {
  ValueId y = ops::mul(b, x, tensor("gain", Shape{4}, {1, 2, 3, 4}));
  y = ops::mul(b, y, tensor("factor", Shape{}, {0.125F}));
  y = ops::mul(b, y, tensor("one", Shape{1}, {0.125F}));
  y = ops::add(b, y, tensor("large", Shape{4}, {0, -1e9F, 0, 0}));
  ops::add(b, y, tensor("infinite", Shape{4}, {0, 0, -std::numeric_limits<float>::infinity(), 0}));
  const std::vector<Parameter> all = choose();
  EXPECT_TRUE(named(all, "gain").trained);
  for (const char* const name : {"factor", "one", "large", "infinite"}) {
    EXPECT_FALSE(named(all, name).trained) << name;
    EXPECT_EQ(graph.value(named(all, name).value).role, Role::kConstant) << name;
  }
  EXPECT_EQ(named(all, "factor").reason, "a scalar");
  EXPECT_EQ(named(all, "large").reason, "looks like a mask");
}

// A layer with one output, of which exporters write the bias as an addition.
TEST_F(Parameters, TheOneBiasOfALayerIsNoScalar) {
  const ValueId w = tensor("w", Shape{4, 1}, {1, 2, 3, 4});
  const ValueId y = ops::add(b, ops::matmul(b, x, w), tensor("bias", Shape{1}, {0}));
  ops::add(b, tensor("shift", Shape{1}, {1}), y);
  ops::mul(b, y, tensor("factor", Shape{1}, {2}));
  const ValueId wide = ops::matmul(b, x, tensor("wide", Shape{4, 2}, std::vector<float>(8, 1)));
  ops::add(b, wide, tensor("epsilon", Shape{1}, {1}));
  const ValueId image = b.input("image", {DType::kFloat32, Shape{2, 3, 4, 4}});
  const ValueId map = ops::conv(b, image, filled("kernel", Shape{1, 3, 1, 1}, 1), {}, {});
  ops::add(b, map, tensor("channel", Shape{1, 1, 1}, {0}));
  ops::add(b, map, tensor("last", Shape{1}, {0}));
  const std::vector<Parameter> all = choose();
  for (const char* const name : {"bias", "channel"}) EXPECT_TRUE(named(all, name).trained) << name;
  for (const char* const name : {"shift", "factor", "epsilon", "last"}) {
    EXPECT_EQ(named(all, name).reason, "a scalar") << name;
  }
}

// TorchScript's exporter keeps one of several that were equal.
TEST_F(Parameters, MergedLoneBiasesComeApart) {
  const ValueId bias = tensor("bias", Shape{1}, {0});
  for (const char* const name : {"left", "right"}) {
    const ValueId w = tensor(name, Shape{4, 1}, {1, 2, 3, 4});
    ops::add(b, ops::matmul(b, x, w), bias);
    use(bias, std::string(name) + "/sum", 1, true);
  }
  const std::vector<Parameter> all = choose();
  EXPECT_TRUE(named(all, "left/sum/operand").trained);
  EXPECT_TRUE(named(all, "right/sum/operand").trained);
}

TEST_F(Parameters, ConstantsThatOnlyMeetConstantsStay) {
  const ValueId a = tensor("a", Shape{4}, {1, 2, 3, 4});
  ops::add(b, x, ops::mul(b, a, tensor("c", Shape{4}, {4, 3, 2, 1})));
  const std::vector<Parameter> all = choose();
  EXPECT_FALSE(named(all, "a").trained);
  EXPECT_FALSE(named(all, "c").trained);
}

TEST_F(Parameters, RunningStatisticsMoveButAreNotTrained) {
  ops::batch_norm(b, x, tensor("scale", Shape{4}, {1, 2, 3, 4}),
                  tensor("bias", Shape{4}, {1, 2, 3, 4}), tensor("mean", Shape{4}, {1, 2, 3, 4}),
                  tensor("var", Shape{4}, {1, 2, 3, 4}), {});
  const std::vector<Parameter> all = choose({.freeze = {"*"}});
  for (const char* const name : {"mean", "var"}) {
    EXPECT_TRUE(named(all, name).statistic);
    EXPECT_FALSE(named(all, name).trained);
    EXPECT_EQ(graph.value(named(all, name).value).role, Role::kStatistic);
  }
  EXPECT_FALSE(named(all, "scale").trained);
}

TEST_F(Parameters, GlobsReplaceAndTakeAway) {
  ValueId y = ops::matmul(b, x, tensor("a.weight", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  y = ops::matmul(b, y, tensor("b.weight", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  ops::mul(b, y, tensor("scale", Shape{}, {2}));
  std::vector<Parameter> all = choose({.freeze = {"a.*"}});
  EXPECT_FALSE(named(all, "a.weight").trained);
  EXPECT_EQ(named(all, "a.weight").reason, "frozen by --freeze");
  EXPECT_TRUE(named(all, "b.weight").trained);
  EXPECT_FALSE(named(all, "scale").trained);
  all = choose({.train = {"scale", "b.*"}});
  EXPECT_FALSE(named(all, "a.weight").trained);
  EXPECT_TRUE(named(all, "b.weight").trained);
  EXPECT_TRUE(named(all, "scale").trained);
}

TEST_F(Parameters, AGlobThatMatchesNothingIsAnError) {
  ops::matmul(b, x, tensor("w", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  for (const ParameterRules& rules :
       {ParameterRules{.train = {"v*"}}, ParameterRules{.freeze = {"w", "v*"}}}) {
    try {
      choose(rules);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find("'v*'"), std::string::npos) << error.what();
    }
  }
}

TEST_F(Parameters, WhereTheFileSaysWhatIsAParameterThatDecides) {
  ValueId y = ops::matmul(b, x, tensor("weight", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  y = ops::mul(b, y, tensor("buffer", Shape{4}, {1, 2, 3, 4}));
  y = ops::mul(b, y, tensor("temperature", Shape{}, {2}));
  ops::matmul(b, y, tensor("folded", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  tensors[0].kind = "PARAMETER";
  tensors[1].kind = "BUFFER";
  tensors[2].kind = "PARAMETER";
  tensors[3].folded_from = "head.weight";
  const std::vector<Parameter> all = choose();
  EXPECT_TRUE(named(all, "weight").trained);
  EXPECT_FALSE(named(all, "buffer").trained);
  EXPECT_TRUE(named(all, "temperature").trained);
  EXPECT_TRUE(named(all, "folded").trained);
}

TEST_F(Parameters, ConstantNodesHoldConstantsWhereThereAreInitializers) {
  ValueId y = ops::matmul(b, x, tensor("w", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  ops::matmul(b, y, tensor("node", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  tensors[1].constant_node = true;
  std::vector<Parameter> all = choose();
  EXPECT_TRUE(named(all, "w").trained);
  EXPECT_FALSE(named(all, "node").trained);
  // A file that writes everything as Constant nodes says nothing by it.
  graph.value(tensors[0].value).role = Role::kConstant;
  tensors[0].constant_node = true;
  all = choose();
  EXPECT_TRUE(named(all, "w").trained);
  EXPECT_TRUE(named(all, "node").trained);
}

TEST_F(Parameters, MergedVectorsComeApart) {
  const ValueId ones = filled("ones", Shape{4}, 1);
  const ValueId zeros = filled("zeros", Shape{4}, 0);
  ValueId y = x;
  for (const char* const name : {"y1", "y2"}) {
    y = ops::batch_norm(b, y, ones, zeros, zeros, ones, {});
    for (const std::size_t input : {1U, 2U, 3U, 4U}) {
      use(input == 1 || input == 4 ? ones : zeros, name, input);
    }
  }
  const std::vector<Parameter> all = choose();
  ASSERT_EQ(all.size(), 8U);
  std::vector<ValueId> values;
  for (const char* const name : {"y1", "y2"}) {
    for (const char* const part : {"scale", "bias", "mean", "var"}) {
      const Parameter& own = named(all, std::string(name) + "/" + part);
      const bool statistic = std::string(part) == "mean" || std::string(part) == "var";
      EXPECT_EQ(own.statistic, statistic) << own.name;
      EXPECT_EQ(own.trained, !statistic) << own.name;
      EXPECT_EQ(own.node_output, name);
      values.push_back(own.value);
    }
  }
  EXPECT_EQ(named(all, "y2/var").split_from, "ones");
  EXPECT_EQ(named(all, "y2/var").input, 4U);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
  EXPECT_EQ(graph.node(NodeId(1)).inputs[1], named(all, "y2/scale").value);
  EXPECT_EQ(verify(graph), std::vector<std::string>());
}

// Zero biases of two layers, written once. One use has the name of the other layer's bias.
TEST_F(Parameters, MergedOperandsComeApartWhereNamesOrKindsShowIt) {
  const ValueId zeros = filled("zeros", Shape{4}, 0);
  ValueId y = ops::add(b, x, zeros);
  use(zeros, "y1", 1);
  y = ops::add(b, y, zeros);
  use(zeros, "y2", 1);
  EXPECT_EQ(choose().size(), 1U);
  graph.value(zeros).role = Role::kConstant;
  std::vector<FileTensorUse> direct = uses;
  uses[1].renamed = true;
  const graph::Graph before = graph;
  std::vector<Parameter> all = choose();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(named(all, "y1/operand").trained);
  EXPECT_TRUE(named(all, "y2/operand").trained);
  EXPECT_NE(graph.node(NodeId(0)).inputs[1], graph.node(NodeId(1)).inputs[1]);
  graph = before;
  uses = direct;
  tensors[0].kind = "PARAMETER";
  EXPECT_EQ(choose().size(), 2U);
}

// The layer scale of a convolutional network is brought into another layout first.
TEST_F(Parameters, MergedOperandsComeApartBehindAChangeOfLayout) {
  ValueId y = b.input("image", {DType::kFloat32, Shape{2, 4, 3, 3}, core::Layout::kChannelsLast});
  const ValueId scale = filled("scale", Shape{4, 1, 1}, 0.5F);
  for (const char* const name : {"y1", "y2"}) {
    const NodeId begin(graph.node_count());
    y = ops::mul(b, y, scale);
    use(scale, name, 1, true);
    uses.back().begin = begin;
  }
  const std::vector<Parameter> all = choose();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_NE(named(all, "y1/operand").value, named(all, "y2/operand").value);
  EXPECT_TRUE(graph::readers(graph)[scale].empty());
  EXPECT_EQ(verify(graph), std::vector<std::string>());
}

TEST_F(Parameters, AClassTokenIsTrainedUnlessItIsCopiedForEachSample) {
  const ValueId token = filled("token", Shape{1, 4}, 0);
  const ValueId copies = tensor("copies", Shape{2, 4}, {1, 2, 3, 4, 1, 2, 3, 4});
  const ValueId rows = tensor("rows", Shape{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  ops::concat(b, {token, x, copies, rows}, 0);
  EXPECT_TRUE(named(choose(), "token").trained);
  for (FileTensor& each : tensors) {
    each.folded_from = "['token']";
    graph.value(each.value).role = Role::kConstant;
  }
  tensors[0].kind = "PARAMETER";
  const std::vector<Parameter> all = choose();
  EXPECT_TRUE(named(all, "token").trained);
  EXPECT_TRUE(named(all, "rows").trained);
  EXPECT_FALSE(named(all, "copies").trained);
  EXPECT_NE(named(all, "copies").reason.find("once for each sample"), std::string::npos);
}

// The causal mask, which the exporter computes for a fixed length.
TEST_F(Parameters, AFoldedMaskIsNoParameter) {
  ValueId y = ops::matmul(b, x, tensor("weight", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  const float none = -std::numeric_limits<float>::infinity();
  y = ops::add(b, y, tensor("mask", Shape{2, 4}, {0, none, 0, 0, 0, none, 0, 1}));
  ops::add(b, y, tensor("bias", Shape{2, 4}, {0, 1, 0, 0, 0, 2, 0, 1}));
  tensors[0].kind = "PARAMETER";
  tensors[1].folded_from = "['val_1']";
  tensors[2].folded_from = "['table']";
  const std::vector<Parameter> all = choose();
  EXPECT_FALSE(named(all, "mask").trained);
  EXPECT_TRUE(named(all, "bias").trained);
}

// PyTorch's optimizer puts a convolution weight with batch norm folded in where the parameter was.
TEST_F(Parameters, WhatStandsInThePlaceOfAParameterIsTrained) {
  ValueId y = ops::matmul(b, x, tensor("conv.weight", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  y = ops::add(b, y, tensor("constant", Shape{4}, {1, 2, 3, 4}));
  ops::matmul(b, y, tensor("fc.weight", Shape{4, 4}, std::vector<float>(16, 0.5F)));
  tensors[2].kind = "PARAMETER";
  const std::vector<Parameter> all = choose();
  EXPECT_TRUE(named(all, "conv.weight").trained);
  EXPECT_FALSE(named(all, "constant").trained);
}

TEST_F(Parameters, TiedTensorsStayTied) {
  const ValueId tied = tensor("tied", Shape{4}, {1, 2, 3, 4});
  const ValueId mean = tensor("mean", Shape{4}, {1, 2, 3, 4});
  const ValueId var = tensor("var", Shape{4}, {1, 2, 3, 5});
  ValueId y = ops::batch_norm(b, x, tied, tied, mean, var, {});
  use(tied, "y", 1);
  use(tied, "y", 2);
  const ValueId w = filled("w", Shape{4, 4}, 1);
  y = ops::matmul(b, y, w);
  use(w, "z1", 1);
  ops::matmul(b, y, w);
  use(w, "z2", 1);
  const std::vector<Parameter> all = choose();
  EXPECT_EQ(all.size(), 4U);
  EXPECT_TRUE(named(all, "tied").trained);
  EXPECT_TRUE(named(all, "w").trained);
}

}  // namespace
}  // namespace lowtide::passes
