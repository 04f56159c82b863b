// Free dimensions: what binds them, and what is said of those that stay free.
#include "onnx/input_shapes.h"

#include <gtest/gtest.h>

#include "onnx/toy.h"

namespace lowtide::onnx {
namespace {

using Shapes = std::map<std::string, core::Shape>;

ModelFile with_inputs(const std::vector<WireWriter>& inputs) {
  toy::Parts parts = toy::small_network();
  parts.inputs = inputs;
  return toy::parse_text(toy::model(parts));
}

std::string refusal(const ModelFile& file, const ReadOptions& options) {
  return toy::message_of([&] { static_cast<void>(bind_inputs(file, options)); },
                         ErrorCode::kInvalidArgument);
}

TEST(InputShapes, BatchBindsFirstDimensionsAndTheirSymbol) {
  const ModelFile file = with_inputs({toy::value_info("a", {"N", "3"}),
                                      toy::value_info("b", {"4", "N"}), toy::value_info("c", {})});
  EXPECT_EQ(bind_inputs(file, {.batch = 7}), (Shapes{{"a", {7, 3}}, {"b", {4, 7}}, {"c", {}}}));
}

TEST(InputShapes, BatchReplacesAFixedSizeThatAllInputsShare) {
  const ModelFile same =
      with_inputs({toy::value_info("a", {"8", "3"}), toy::value_info("b", {"8"})});
  EXPECT_EQ(bind_inputs(same, {.batch = 2}), (Shapes{{"a", {2, 3}}, {"b", {2}}}));
  EXPECT_EQ(bind_inputs(same, {}), (Shapes{{"a", {8, 3}}, {"b", {8}}}));
  const ModelFile other =
      with_inputs({toy::value_info("a", {"8", "3"}), toy::value_info("b", {"1"})});
  EXPECT_NE(refusal(other, {.batch = 2}).find("first dimensions are fixed and differ"),
            std::string::npos);
}

TEST(InputShapes, DimsAndShapesBindSymbolsEverywhere) {
  const ModelFile file =
      with_inputs({toy::value_info("ids", {"N", "T"}), toy::value_info("mask", {"N", "T"})});
  const Shapes expected = {{"ids", {2, 5}}, {"mask", {2, 5}}};
  EXPECT_EQ(bind_inputs(file, {.dims = {{"T", 5}}, .batch = 2}), expected);
  EXPECT_EQ(bind_inputs(file, {.shapes = {{"ids", {2, 5}}}}), expected);
  EXPECT_NE(refusal(file, {.dims = {{"T", 6}}, .shapes = {{"ids", {2, 5}}}})
                .find("'T' is bound to both 6 and 5"),
            std::string::npos);
}

// Paddle's exporter writes a question mark for every free dimension.
TEST(InputShapes, QuestionMarksAreNoSymbol) {
  const ModelFile file = with_inputs({toy::value_info("x", {"?", "3", "?", "?"})});
  EXPECT_EQ(bind_inputs(file, {.shapes = {{"x", {2, 3, 48, 192}}}}),
            (Shapes{{"x", {2, 3, 48, 192}}}));
}

TEST(InputShapes, FreeDimensionsAreNamedWithTheRemedy) {
  const ModelFile file = with_inputs({toy::value_info("ids", {"N", "T"})});
  const std::string first = refusal(file, {});
  EXPECT_NE(first.find("input 'ids' has shape [N, T]: dimension 0 ('N') is free; bind it with "
                       "--shape ids=D,D,... or --batch N"),
            std::string::npos)
      << first;
  EXPECT_NE(refusal(file, {.batch = 1}).find("dimension 1 ('T') is free"), std::string::npos);
  const ModelFile nameless = with_inputs({toy::value_info("ids", {"2", ""})});
  EXPECT_NE(refusal(nameless, {}).find("dimension 1 ('') is free"), std::string::npos);
}

TEST(InputShapes, UnknownNamesAreRefused) {
  const ModelFile file = with_inputs({toy::value_info("ids", {"N"})});
  EXPECT_NE(refusal(file, {.dims = {{"M", 1}}}).find("no input has a dimension 'M'"),
            std::string::npos);
  EXPECT_NE(refusal(file, {.shapes = {{"id", {1}}}}).find("inputs: 'ids' [N]"), std::string::npos);
  EXPECT_NE(refusal(file, {.shapes = {{"ids", {1, 1}}}}).find("[1, 1] was given"),
            std::string::npos);
  EXPECT_NE(refusal(file, {.batch = 0}).find("batch size is 0"), std::string::npos);
}

TEST(InputShapes, InspectionNeedsNoShapes) {
  const toy::Folder folder;
  toy::write_file(folder / "m.onnx", toy::model(toy::small_network()));
  const std::vector<ValueInfo> inputs = inspect_inputs(folder / "m.onnx");
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(describe(inputs[0]), "[batch, 2]");
}

}  // namespace
}  // namespace lowtide::onnx
