// Functions of a model: calls are replaced by the functions' nodes.
#include "onnx/functions.h"

#include <gtest/gtest.h>

#include "onnx/toy.h"

namespace lowtide::onnx {
namespace {

using toy::node;
using toy::Parts;
using toy::value_info;

WireWriter local_node(const std::string& type,
                      const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs,
                      const std::vector<WireWriter>& attributes = {}) {
  return node(type, inputs, outputs, attributes).text(7, "local");
}

WireWriter referring(const std::string& attribute, const std::string& meant) {
  return WireWriter().text(1, attribute).text(21, meant).integer(20, 2);
}

// A function of the domain "local" that imports opset 13.
WireWriter function(const std::string& name,
                    const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<WireWriter>& nodes) {
  WireWriter result;
  result.text(1, name).text(10, "local");
  for (const std::string& input : inputs) result.text(4, input);
  for (const std::string& output : outputs) result.text(5, output);
  for (const WireWriter& one : nodes) result.message(7, one);
  return result.message(9, WireWriter().integer(2, 13));
}

// x [2] -> the nodes -> y [2].
ModelFile parse_with(const std::vector<WireWriter>& nodes,
                     const std::vector<WireWriter>& functions) {
  const Parts parts{
      .nodes = nodes, .inputs = {value_info("x", {"2"})}, .outputs = {value_info("y", {"2"})}};
  WireWriter tail;
  for (const WireWriter& one : functions) tail.message(25, one);
  return toy::parse_text(toy::model(parts) + tail.bytes());
}

std::string refusal(const std::vector<WireWriter>& nodes,
                    const std::vector<WireWriter>& functions) {
  return toy::message_of([&] { parse_with(nodes, functions); }, ErrorCode::kInvalidFile);
}

TEST(Functions, ACallBecomesTheBody) {
  const WireWriter twice =
      function("Twice", {"a"}, {"c"}, {node("Add", {"a", "a"}, {"b"}), node("Relu", {"b"}, {"c"})});
  const ModelFile file = parse_with({local_node("Twice", {"x"}, {"y"})}, {twice});
  ASSERT_EQ(file.graph.nodes.size(), 2U);
  const FileNode& add = file.graph.nodes[0];
  EXPECT_EQ(add.type, "Add");
  EXPECT_EQ(add.domain, "");
  EXPECT_EQ(add.inputs, (std::vector<std::string>{"x", "x"}));
  EXPECT_EQ(add.outputs, std::vector<std::string>{"y/b"});
  EXPECT_EQ(add.opset, 13);
  EXPECT_EQ(file.graph.nodes[1].outputs, std::vector<std::string>{"y"});
  const Model model = build(file, {.catalog = toy::catalog()});
  EXPECT_EQ(model.graph.node_count(), 2U);
}

TEST(Functions, CallsNestAndNamesStayApart) {
  const WireWriter inner = function("Inner", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})});
  const WireWriter outer =
      function("Outer", {"a"}, {"c"},
               {local_node("Inner", {"a"}, {"b"}), local_node("Inner", {"b"}, {"c"})});
  const ModelFile file = parse_with(
      {local_node("Outer", {"x"}, {"h"}), local_node("Outer", {"h"}, {"y"})}, {outer, inner});
  std::vector<std::string> outputs;
  for (const FileNode& one : file.graph.nodes) outputs.push_back(one.outputs.at(0));
  EXPECT_EQ(outputs, (std::vector<std::string>{"h/b", "h", "y/b", "y"}));
}

TEST(Functions, AttributesComeFromTheCallOrTheDefaultsOrNowhere) {
  WireWriter relu =
      function("MyRelu", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"}, {referring("times", "n")})});
  const auto times = [&](const std::vector<WireWriter>& attributes) {
    const ModelFile file = parse_with({local_node("MyRelu", {"x"}, {"y"}, attributes)}, {relu});
    const Attribute* const found = file.graph.nodes.at(0).attribute("times");
    return found == nullptr ? -1 : std::get<std::int64_t>(found->value);
  };
  EXPECT_EQ(times({toy::int_attribute("n", 3)}), 3);
  EXPECT_EQ(times({}), -1);
  relu.message(11, toy::int_attribute("n", 7));
  EXPECT_EQ(times({}), 7);
  EXPECT_EQ(times({toy::int_attribute("n", 3)}), 3);
}

TEST(Functions, BranchesReadTheCallersNames) {
  const WireWriter branch =
      toy::graph({.nodes = {node("Relu", {"a"}, {"r"})}, .outputs = {value_info("r", {"2"})}});
  const WireWriter chosen = function("Chosen", {"c", "a"}, {"b"},
                                     {node("If", {"c"}, {"b"},
                                           {toy::graph_attribute("then_branch", branch),
                                            toy::graph_attribute("else_branch", branch)})});
  const ModelFile file = parse_with({local_node("Chosen", {"x", "x"}, {"y"})}, {chosen});
  const Attribute* const then = file.graph.nodes.at(0).attribute("then_branch");
  ASSERT_NE(then, nullptr);
  const auto& inner = std::get<std::shared_ptr<const FileGraph>>(then->value);
  EXPECT_EQ(inner->nodes.at(0).inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(inner->nodes.at(0).outputs, std::vector<std::string>{"y/r"});
  EXPECT_EQ(inner->outputs.at(0).name, "y/r");
}

TEST(Functions, AnOutputMayBeAnInput) {
  const WireWriter same = function("Same", {"a"}, {"a"}, {});
  const ModelFile file = parse_with({local_node("Same", {"x"}, {"y"})}, {same});
  ASSERT_EQ(file.graph.nodes.size(), 1U);
  EXPECT_EQ(file.graph.nodes[0].type, "Identity");
  EXPECT_EQ(file.graph.nodes[0].inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(file.graph.nodes[0].outputs, std::vector<std::string>{"y"});
}

TEST(Functions, HostileOnesAreRefused) {
  const WireWriter loop = function("Loop", {"a"}, {"b"}, {local_node("Loop", {"a"}, {"b"})});
  EXPECT_NE(refusal({local_node("Loop", {"x"}, {"y"})}, {loop}).find("grow too deep"),
            std::string::npos);
  const WireWriter one = function("One", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})});
  EXPECT_NE(refusal({local_node("One", {"x", "x"}, {"y"})}, {one}).find("1 inputs or outputs"),
            std::string::npos);
  EXPECT_NE(refusal({local_node("One", {"x"}, {"y"})}, {one, one}).find("is given twice"),
            std::string::npos);
  // Forty functions, each calling the next one twice.
  std::vector<WireWriter> chain;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    chain.push_back(function("F" + std::to_string(i), {"a"}, {"c"},
                             {local_node(next, {"a"}, {"b"}), local_node(next, {"b"}, {"c"})}));
  }
  EXPECT_NE(refusal({local_node("F0", {"x"}, {"y"})}, chain).find("grow too large"),
            std::string::npos);
}

}  // namespace
}  // namespace lowtide::onnx
