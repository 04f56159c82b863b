// Every case of every op, written as ONNX and read back: the same values. Attributes are float32 in
// a file and double in a case, so floats may differ in their last bits.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "onnx/read.h"
#include "onnx/write.h"
#include "ops/case_graph.h"
#include "ops/cases.h"
#include "ops/catalog.h"
#include "ops/layout/layout.h"
#include "support/folder.h"

namespace lowtide::ops {
namespace {

using graph::ConstantTensor;
using graph::NodeId;
using graph::ValueId;

constexpr core::Machine kReference{.threads = 1, .isa = core::Isa::kReference};

// The case's forward pass alone.
CaseGraph build_forward(const OpCase& op_case) {
  CaseGraph built;
  graph::GraphBuilder builder(built.graph);
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const CaseInput& input = op_case.inputs[i];
    built.inputs.push_back(
        builder.input("x" + std::to_string(i), {input.dtype, input.shape, core::Layout::kPlain}));
  }
  built.outputs = op_case.build(builder, built.inputs);
  built.graph.outputs() = built.outputs;
  return built;
}

bool has_onnx_form(const graph::Graph& graph) {
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(NodeId(i));
    const auto in = graph.types(node.inputs);
    const auto out = graph.types(node.outputs);
    if (!node.op->onnx_form(node.attrs, {in, out})) return false;
  }
  return true;
}

// Elements in the order of the shape, whatever the layout.
std::vector<std::byte> in_order(const ConstantTensor& tensor) {
  if (tensor.type.layout == core::Layout::kPlain) return *tensor.bytes;
  graph::Graph graph;
  graph::GraphBuilder builder(graph);
  const ValueId x = builder.input("x", tensor.type);
  const ValueId y = to_plain(builder, x);
  return *graph::interpret(graph, {{x, tensor}}, kReference).at(y).bytes;
}

void expect_same(const ConstantTensor& actual, const ConstantTensor& expected) {
  ASSERT_EQ(actual.type.shape, expected.type.shape);
  ASSERT_EQ(actual.type.dtype, expected.type.dtype);
  const std::vector<std::byte> a = in_order(actual);
  const std::vector<std::byte> e = in_order(expected);
  if (expected.type.dtype != core::DType::kFloat32) {
    EXPECT_TRUE(a == e);
    return;
  }
  const auto* const values = reinterpret_cast<const float*>(a.data());
  const auto* const wanted = reinterpret_cast<const float*>(e.data());
  const auto count = static_cast<std::size_t>(expected.type.shape.elements());
  float largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(wanted[i]));
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(wanted[i]) && std::isnan(values[i])) continue;
    if (wanted[i] == values[i]) continue;  // infinities too
    ASSERT_NEAR(values[i], wanted[i], 1e-6F * largest) << "element " << i;
  }
}

class RoundTrip : public testing::TestWithParam<OpCase> {};

TEST_P(RoundTrip, ThroughOnnxKeepsTheMeaning) {
  const OpCase& op_case = GetParam();
  const CaseGraph built = build_forward(op_case);
  const support::Folder folder;
  const std::string path = folder / "case.onnx";
  if (!has_onnx_form(built.graph)) {
    // What opset 20 cannot say is refused, not written wrongly.
    EXPECT_THROW(onnx::write_graph(built.graph, path, {.batch_name = ""}), Error);
    return;
  }
  onnx::write_graph(built.graph, path, {.batch_name = ""});
  const onnx::Model read = onnx::read(path, {.catalog = catalog()});
  ASSERT_EQ(read.graph.outputs().size(), built.outputs.size());

  std::map<ValueId, ConstantTensor> given = draw_inputs(op_case, built);
  std::map<ValueId, ConstantTensor> given_again;
  for (std::size_t i = 0; i < read.input_names.size(); ++i) {
    for (const ValueId input : built.inputs) {
      if (built.graph.value(input).name == read.input_names[i]) {
        given_again.emplace(read.graph.inputs()[i], given.at(input));
      }
    }
  }
  const auto before = graph::interpret(built.graph, given, kReference);
  const auto after = graph::interpret(read.graph, given_again, kReference);
  for (std::size_t k = 0; k < built.outputs.size(); ++k) {
    SCOPED_TRACE(k);
    expect_same(after.at(read.graph.outputs()[k]), before.at(built.outputs[k]));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         RoundTrip,
                         testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<OpCase>& one) {
                           return case_test_name(one.param);
                         });

// The refusal above must stay the exception.
TEST(RoundTrips, MostCasesHaveAnOnnxForm) {
  std::size_t with_form = 0;
  const std::vector<OpCase> cases = all_cases();
  for (const OpCase& op_case : cases) {
    if (has_onnx_form(build_forward(op_case).graph)) ++with_form;
  }
  EXPECT_GT(with_form, cases.size() * 6 / 10) << "of " << cases.size();
}

}  // namespace
}  // namespace lowtide::ops
