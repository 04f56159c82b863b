// The importer: values, names, folding, and errors that name the culprit.
#include "onnx/read.h"

#include <functional>

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "onnx/toy.h"

namespace lowtide::onnx {
namespace {

using toy::node;
using toy::Parts;
using toy::value_info;

ReadOptions batch_of(std::int64_t batch) { return {.batch = batch, .catalog = toy::catalog()}; }

Model import(const Parts& parts, const ReadOptions& options) {
  return build(toy::parse_text(toy::model(parts)), options);
}

std::string refusal(const Parts& parts, ErrorCode code, const ReadOptions& options = batch_of(2)) {
  return toy::message_of([&] { import(parts, options); }, code);
}

::testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << message << "' lacks '" << part << "'";
}

std::vector<float> run(const Model& model, const std::vector<std::vector<float>>& inputs) {
  std::map<graph::ValueId, graph::ConstantTensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const graph::ValueId id = model.graph.inputs()[i];
    const auto* first = reinterpret_cast<const std::byte*>(inputs[i].data());
    given[id] = {model.graph.type(id), std::make_shared<const std::vector<std::byte>>(
                                           first, first + inputs[i].size() * sizeof(float))};
  }
  const auto all =
      graph::interpret(model.graph, given, {.threads = 1, .isa = core::Isa::kReference});
  const graph::ConstantTensor& output = all.at(model.graph.outputs().front());
  return {output.data<float>(), output.data<float>() + output.type.shape.elements()};
}

TEST(Read, BuildsAndComputes) {
  const toy::Folder folder;
  toy::write_file(folder / "m.onnx", toy::model(toy::small_network()));
  const Model model = read(folder / "m.onnx", batch_of(2));
  EXPECT_EQ(graph::verify(model.graph), std::vector<std::string>());
  EXPECT_EQ(model.input_names, std::vector<std::string>{"x"});
  EXPECT_EQ(model.output_names, std::vector<std::string>{"y"});
  EXPECT_EQ(model.opset, 17);
  EXPECT_EQ(model.producer, "hand");
  EXPECT_EQ(model.graph.type(model.values.at("h")).shape, (core::Shape{2, 2}));
  EXPECT_EQ(model.graph.value(model.values.at("h")).name, "h");
  ASSERT_EQ(model.initializers.size(), 1U);
  EXPECT_EQ(model.initializers[0].name, "w");
  const graph::Value& weight = model.graph.value(model.initializers[0].value);
  EXPECT_FALSE(weight.content.tensor.has_value());  // it stays in the file
  EXPECT_EQ(weight.content.file, (folder / "m.onnx").string());
  EXPECT_EQ(run(model, {{1, 1, -5, 4}}), (std::vector<float>{2, 0, 0, 2}));
}

TEST(Read, RecordsUsesThroughIdentity) {
  Parts parts = toy::small_network();
  parts.nodes = {node("Identity", {"w"}, {"w2"}), node("Add", {"x", "w2"}, {"h"}),
                 node("Add", {"h", "w"}, {"y"})};
  const Model model = import(parts, batch_of(1));
  ASSERT_EQ(model.uses.size(), 2U);
  EXPECT_EQ(model.uses[0].node_output, "h");
  EXPECT_EQ(model.uses[1].node_output, "y");
  EXPECT_EQ(model.uses[0].input, 1U);
  EXPECT_EQ(model.uses[0].value, model.uses[1].value);
  EXPECT_EQ(model.uses[0].end, model.uses[1].begin);
  EXPECT_EQ(model.graph.node_count(), 2U);
}

TEST(Read, InitializersThatAreInputsAreNotFed) {
  for (const std::int64_t ir : {3, 8}) {
    Parts parts = toy::small_network();
    parts.inputs.push_back(value_info("w", {"2"}));
    parts.ir_version = ir;
    const Model model = import(parts, batch_of(1));
    EXPECT_EQ(model.input_names, std::vector<std::string>{"x"});
    EXPECT_EQ(model.initializers.size(), 1U);
  }
}

TEST(Read, KindsComeFromTheMetadata) {
  Parts parts = toy::small_network();
  WireWriter info = value_info("w", {"2"});
  info.message(
      4,
      WireWriter().text(1, "pkg.torch.export.graph_signature.InputSpec.kind").text(2, "PARAMETER"));
  parts.value_info = {info};
  EXPECT_EQ(import(parts, batch_of(1)).initializers.at(0).kind, "PARAMETER");
}

TEST(Read, SortsNodesThatStandInTheWrongOrder) {
  Parts parts = toy::small_network();
  std::swap(parts.nodes[0], parts.nodes[1]);
  EXPECT_EQ(import(parts, batch_of(1)).graph.node_count(), 2U);
}

TEST(Read, NamesWhatIsWrongWithTheGraph) {
  Parts cycle = toy::small_network();
  cycle.nodes = {node("Add", {"x", "b"}, {"a"}, {}, "first"), node("Relu", {"a"}, {"b"}),
                 node("Relu", {"b"}, {"y"})};
  EXPECT_TRUE(
      says(refusal(cycle, ErrorCode::kInvalidFile), "model: node 'first' (Add) is on a cycle"));

  Parts undefined = toy::small_network();
  undefined.nodes[0] = node("Add", {"x", "nowhere"}, {"h"}, {}, "add");
  EXPECT_TRUE(says(refusal(undefined, ErrorCode::kInvalidFile),
                   "node 'add' (Add) reads 'nowhere', which nothing writes"));

  Parts twice = toy::small_network();
  twice.nodes.push_back(node("Relu", {"x"}, {"h"}, {}, "again"));
  EXPECT_TRUE(says(refusal(twice, ErrorCode::kInvalidFile), "node 'again' (Relu) writes 'h'"));

  Parts over_input = toy::small_network();
  over_input.nodes.push_back(node("Relu", {"h"}, {"x"}));
  EXPECT_TRUE(says(refusal(over_input, ErrorCode::kInvalidFile), "writes 'x'"));

  Parts no_output = toy::small_network();
  no_output.outputs = {value_info("z", {"2"})};
  EXPECT_TRUE(says(refusal(no_output, ErrorCode::kInvalidFile), "output 'z'"));

  Parts two_weights = toy::small_network();
  two_weights.initializers.push_back(toy::tensor("w", {1}));
  EXPECT_TRUE(
      says(refusal(two_weights, ErrorCode::kInvalidFile), "initializer 'w' is given twice"));
}

TEST(Read, ListsAllUnsupportedOperators) {
  Parts parts = toy::small_network();
  parts.nodes = {node("Foo", {"x"}, {"a"}, {}, "foo1"), node("Foo", {"a"}, {"b"}, {}, "foo2"),
                 node("Bar", {"b"}, {"y"}), node("Dead", {"b"}, {"unused"})};
  const std::string message = refusal(parts, ErrorCode::kUnsupported);
  EXPECT_TRUE(says(message, "unsupported operators: Bar (node 'y'), Foo (node 'foo1')"));
  EXPECT_FALSE(says(message, "Dead"));
  Parts foreign = toy::small_network();
  foreign.nodes[1] = node("Relu", {"h"}, {"y"}).text(7, "com.example");
  EXPECT_TRUE(says(refusal(foreign, ErrorCode::kUnsupported), "com.example::Relu"));
}

TEST(Read, AttributesOfTheWrongKindAreNamed) {
  Parts parts = toy::small_network();
  parts.nodes[1] =
      node("Ramp", {"h"}, {"y"}, {WireWriter().text(1, "times").real(2, 1).integer(20, 1)});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kInvalidFile),
                   "node 'y' (Ramp): attribute 'times' has the wrong type"));
}

// What no rule reads would look as if it were obeyed.
TEST(Read, AttributesThatONNXDoesNotGiveAnOperatorAreRefused) {
  Parts parts = toy::small_network();
  parts.nodes[1] = node("Relu", {"h"}, {"y"}, {toy::int_attribute("inplace", 1)});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kInvalidFile),
                   "node 'y' (Relu): ONNX gives Relu no attribute 'inplace'"));
  parts.nodes[1] = node("Dropout", {"h"}, {"y"}, {toy::int_attribute("sed", 1)});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kInvalidFile),
                   "ONNX gives Dropout no attribute 'sed', but ratio seed"));
  parts.nodes[1] = node("Dropout", {"h"}, {"y"}, {toy::int_attribute("seed", 1)});
  EXPECT_EQ(import(parts, batch_of(1)).output_names.front(), "y");
  // Of other domains ONNX says nothing.
  parts.nodes[1] = node("ToPlain", {"h"}, {"y"}, {toy::int_attribute("inplace", 1)}).text(7, "toy");
  EXPECT_EQ(import(parts, batch_of(1)).output_names.front(), "y");
}

TEST(Read, InputsThatONNXDoesNotGiveAnOperatorAreRefused) {
  Parts parts = toy::small_network();
  parts.nodes[1] = node("Relu", {"h", "", "w"}, {"y"});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kInvalidFile),
                   "node 'y' (Relu): input 2 ('w') is one too many: ONNX gives Relu 1"));
  parts.nodes[1] = node("Relu", {"h", "", ""}, {"y"});
  EXPECT_EQ(import(parts, batch_of(1)).graph.node_count(), 2U);
}

TEST(Read, MalformedAttributesAreNamed) {
  const std::vector<std::pair<WireWriter, std::string>> cases = {
      {WireWriter().text(1, "times").integer(3, 1).real(2, 1).integer(20, 2), "has two values"},
      {WireWriter().text(1, "times").integer(3, 1).integer(3, 1).integer(20, 2), "has two values"},
      {WireWriter().text(1, "times").integer(3, 1).integer(20, 1), "declared as type 1"},
      {WireWriter().text(1, "times").integer(20, 4), "has no value"},
      {WireWriter().text(1, "times").text(21, "outer"), "refers to a function's"},
  };
  for (const auto& [attribute, expected] : cases) {
    Parts parts = toy::small_network();
    parts.nodes[1] = node("Ramp", {"h"}, {"y"}, {attribute});
    const std::string message = refusal(parts, ErrorCode::kInvalidFile);
    EXPECT_TRUE(says(message, expected));
    EXPECT_TRUE(says(message, "node 'y' (Ramp)"));
  }
  Parts repeated = toy::small_network();
  const WireWriter times = toy::int_attribute("times", 1);
  repeated.nodes[1] = node("Relu", {"h"}, {"y"}, {times, times});
  EXPECT_TRUE(says(refusal(repeated, ErrorCode::kInvalidFile), "'times' is given twice"));
}

TEST(Read, ComputedShapesAreRefusedByName) {
  Parts parts = toy::small_network();
  parts.nodes[1] = node("Ramp", {"h", "x"}, {"y"});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported),
                   "node 'y' (Ramp): input 1 ('x') must be constant"));
}

// Floats that could be weights are not folded, but a rule that asks for their value gets it.
TEST(Read, ValuesOfFloatConstantsAreComputedForRules) {
  Parts parts = toy::small_network();
  parts.initializers.push_back(toy::tensor("s", {0.5F, 4}));
  parts.nodes = {node("Add", {"s", "w"}, {"s2"}), node("Add", {"x", "w"}, {"h"}),
                 node("Ramp", {"h", "", "s2"}, {"y"})};
  const toy::Folder folder;
  toy::write_file(folder / "m.onnx", toy::model(parts));
  const Model model = read(folder / "m.onnx", batch_of(1));
  EXPECT_EQ(model.graph.value(model.values.at("s2")).role, graph::Role::kActivation);
  parts.initializers.back() = toy::tensor("s", {1.5F, 0.5F});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kInvalidFile), "[2.5, -1.5] must ascend"));
  parts.nodes[0] = node("Add", {"s", "x"}, {"s2"});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported), "input 2 ('s2') must be constant"));
}

TEST(Read, FoldsIntegersAndSingleFloatsButNoWeights) {
  Parts parts = toy::small_network();
  parts.initializers.push_back(toy::integers("i", {1, 2}));
  parts.initializers.push_back(toy::tensor("s", {3}));
  parts.nodes = {node("Add", {"i", "i"}, {"i2"}), node("Add", {"s", "s"}, {"s2"}),
                 node("Add", {"w", "s2"}, {"w2"}), node("Add", {"x", "w2"}, {"h"}),
                 node("Ramp", {"h", "i2"}, {"y"})};
  const toy::Folder folder;
  toy::write_file(folder / "m.onnx", toy::model(parts));
  const Model model = read(folder / "m.onnx", batch_of(1));
  EXPECT_EQ(model.graph.value(model.values.at("i2")).role, graph::Role::kConstant);
  EXPECT_EQ(model.graph.value(model.values.at("s2")).role, graph::Role::kConstant);
  EXPECT_EQ(model.graph.value(model.values.at("w2")).role, graph::Role::kActivation);
  EXPECT_EQ(run(model, {{1, 1}}), (std::vector<float>{8, 5}));
}

TEST(Read, FoldingHasALimit) {
  Parts parts = toy::small_network();
  parts.initializers.push_back(toy::integers("i", {1, 2}));
  parts.nodes.push_back(node("Add", {"i", "i"}, {"i2"}));
  parts.outputs.push_back(value_info("i2", {"2"}, 7));
  ReadOptions options = batch_of(1);
  options.fold_limit = Bytes(15);
  const Model model = import(parts, options);
  EXPECT_EQ(model.graph.value(model.values.at("i2")).role, graph::Role::kActivation);
}

TEST(Read, ConstantNodesOfEveryKind) {
  const std::vector<std::pair<WireWriter, core::TensorType>> cases = {
      {WireWriter().text(1, "value_float").real(2, 2).integer(20, 1), {core::DType::kFloat32, {}}},
      {WireWriter().text(1, "value_int").integer(3, 2).integer(20, 2), {core::DType::kInt64, {}}},
      {WireWriter().text(1, "value_ints").integer(8, 2).integer(8, 3).integer(20, 7),
       {core::DType::kInt64, {2}}},
      {WireWriter().text(1, "value_floats").real(7, 2).integer(20, 6),
       {core::DType::kFloat32, {1}}},
      {toy::tensor_attribute("value", toy::tensor("", {1, 2})), {core::DType::kFloat32, {2}}},
  };
  for (const auto& [attribute, type] : cases) {
    Parts parts = toy::small_network();
    parts.nodes.push_back(node("Constant", {}, {"c"}, {attribute}));
    parts.outputs.push_back(value_info("c", {}));
    const Model model = import(parts, batch_of(1));
    EXPECT_EQ(model.graph.type(model.values.at("c")), type);
    EXPECT_EQ(model.graph.value(model.values.at("c")).name, "c");
  }
  Parts parts = toy::small_network();
  parts.nodes[0] = node("Constant", {}, {"h"}, {WireWriter().text(1, "value_string").text(4, "s")});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported), "value_string"));
}

TEST(Read, WeightsInConstantNodesAreListed) {
  Parts parts = toy::small_network();
  parts.initializers.clear();
  parts.nodes.push_back(
      node("Constant", {}, {"w"}, {toy::tensor_attribute("value", toy::tensor("", {1, 2}))}));
  const Model model = import(parts, batch_of(1));
  ASSERT_EQ(model.initializers.size(), 1U);
  EXPECT_EQ(model.initializers[0].name, "w");
  EXPECT_TRUE(model.initializers[0].from_constant_node);
}

Parts conditional(const WireWriter& condition) {
  const WireWriter then_branch =
      toy::graph({.nodes = {node("Relu", {"h"}, {"r"})}, .outputs = {value_info("r", {"2"})}});
  const WireWriter else_branch =
      toy::graph({.nodes = {node("Add", {"h", "w"}, {"r"})}, .outputs = {value_info("r", {"2"})}});
  Parts parts = toy::small_network();
  parts.initializers.push_back(condition);
  parts.nodes[1] = node("If", {"c"}, {"y"},
                        {toy::graph_attribute("then_branch", then_branch),
                         toy::graph_attribute("else_branch", else_branch)});
  return parts;
}

WireWriter boolean(std::int64_t value) {
  return WireWriter().integer(2, 9).integer(5, value).text(8, "c");
}

TEST(Read, TakesTheBranchOfAConstantIf) {
  EXPECT_EQ(run(import(conditional(boolean(1)), batch_of(1)), {{1, 1}}),
            (std::vector<float>{2, 0}));
  EXPECT_EQ(run(import(conditional(boolean(0)), batch_of(1)), {{1, 1}}),
            (std::vector<float>{3, -3}));
}

// Relu stands in for SplitToSequence here: a sequence of one.
Parts sequence_network(std::int64_t place) {
  Parts parts = toy::small_network();
  parts.initializers.push_back(
      WireWriter().integer(2, 7).text(8, "place").packed(7, std::vector<std::int64_t>{place}));
  parts.nodes = {node("SplitToSequence", {"x"}, {"pieces"}, {}, "cut"),
                 node("SequenceAt", {"pieces", "place"}, {"y"}, {}, "pick")};
  return parts;
}

TEST(Read, TakesElementsOfASequence) {
  for (const std::int64_t place : {0, -1}) {
    EXPECT_EQ(run(import(sequence_network(place), batch_of(1)), {{1, -1}}),
              (std::vector<float>{1, 0}));
  }
  EXPECT_TRUE(says(refusal(sequence_network(1), ErrorCode::kInvalidFile),
                   "node 'pick' (SequenceAt): place 1 of a sequence of 1"));
  Parts parts = sequence_network(0);
  parts.nodes[0] = node("Relu", {"x"}, {"pieces"});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported), "other than by SplitToSequence"));
}

TEST(Read, RefusesOtherControlFlow) {
  Parts parts = conditional(boolean(1));
  parts.initializers.pop_back();
  parts.inputs.push_back(value_info("c", {}, 9));
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported), "(If): its condition 'c' is computed"));
  parts = toy::small_network();
  parts.nodes[1] = node("Loop", {"h"}, {"y"});
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported), "Loop (node 'y')"));
  EXPECT_TRUE(says(refusal(conditional(boolean(2)), ErrorCode::kInvalidFile), "bool"));
}

TEST(Read, OutputsThatARuleLeavesOutMatterOnlyWhenRead) {
  Parts parts = toy::small_network();
  parts.nodes[1] = node("Dropout", {"h"}, {"y", "mask"}, {}, "drop");
  EXPECT_NO_THROW(import(parts, batch_of(1)));
  parts.outputs.push_back(value_info("mask", {"2"}));
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported),
                   "node 'drop' (Dropout): its output 'mask' is not available"));
}

TEST(Read, ChecksTheOpset) {
  Parts parts = toy::small_network();
  parts.opset = 6;
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported), "opset 6"));
  parts.opset = 1000;
  EXPECT_TRUE(says(refusal(parts, ErrorCode::kUnsupported), "opset 1000"));
}

}  // namespace
}  // namespace lowtide::onnx
