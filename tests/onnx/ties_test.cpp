// Weights that two layers shared before the exporter transposed one of them for good.
#include "onnx/ties.h"

#include <gtest/gtest.h>

#include "onnx/toy.h"

namespace lowtide::onnx {
namespace {

using toy::node;
using toy::value_info;

WireWriter matrix(const std::string& name,
                  const std::vector<std::int64_t>& dims,
                  const std::vector<float>& elements,
                  const std::string& folded_from = "") {
  WireWriter tensor;
  tensor.packed(1, dims).integer(2, 1).text(8, name).text(9, toy::raw(elements));
  if (folded_from.empty()) return tensor;
  return tensor.message(
      16, WireWriter().text(1, "pkg.onnxscript.optimizer.folded_from").text(2, folded_from));
}

// x -> Add(x, table) and Add(x, head): what matters is only that both are read.
ModelFile file_with(const WireWriter& table,
                    const WireWriter& head,
                    const std::string& name = "head") {
  ModelFile file = toy::parse_text(
      toy::model({.nodes = {node("Add", {"x", "table"}, {"a"}), node("Add", {"x", name}, {"b"})},
                  .initializers = {table, head},
                  .inputs = {value_info("x", {"1"})},
                  .outputs = {value_info("a", {"2", "3"}), value_info("b", {"3", "2"})}}));
  restore_ties(file);
  return file;
}

const WireWriter kTable = matrix("table", {2, 3}, {1, 2, 3, 4, 5, 6});
const std::vector<float> kTransposed = {1, 4, 2, 5, 3, 6};

TEST(Ties, ATransposedCopyBecomesATranspose) {
  const ModelFile file = file_with(kTable, matrix("head", {3, 2}, kTransposed, "['table']"));
  ASSERT_EQ(file.ties.size(), 1U);
  EXPECT_EQ(file.ties[0].copy, "head");
  EXPECT_EQ(file.ties[0].original, "table");
  ASSERT_EQ(file.graph.initializers.size(), 1U);
  const FileNode& added = file.graph.nodes.back();
  EXPECT_EQ(added.type, "Transpose");
  EXPECT_EQ(added.inputs, std::vector<std::string>{"table"});
  EXPECT_EQ(added.outputs, std::vector<std::string>{"head"});
}

// TorchScript's exporter says no more than that it made the tensor.
TEST(Ties, ACopyIsTiedByItsElementsWhereTheExporterNamedIt) {
  const std::string name = "onnx::MatMul_77";
  EXPECT_EQ(file_with(kTable, matrix(name, {3, 2}, kTransposed), name).ties.size(), 1U);
  const std::vector<float> ones(6, 1.0F);
  const ModelFile uniform =
      file_with(matrix("table", {2, 3}, ones), matrix(name, {3, 2}, ones), name);
  EXPECT_TRUE(uniform.ties.empty());
}

TEST(Ties, NothingElseIsTied) {
  std::vector<float> trained = kTransposed;
  trained[5] += 1;
  const auto apart = [](const WireWriter& head) {
    const ModelFile file = file_with(kTable, head);
    return file.ties.empty() && file.graph.initializers.size() == 2 && file.graph.nodes.size() == 2;
  };
  EXPECT_TRUE(apart(matrix("head", {3, 2}, kTransposed)));  // equal by chance, for all we know
  EXPECT_TRUE(apart(matrix("head", {3, 2}, trained, "['table']")));
  EXPECT_TRUE(apart(matrix("head", {2, 3}, {1, 2, 3, 4, 5, 6}, "['table']")));
  EXPECT_TRUE(apart(matrix("head", {3, 2}, kTransposed, "['table', 'other']")));
  EXPECT_TRUE(apart(matrix("head", {3, 2}, kTransposed, "['gone']")));
  EXPECT_TRUE(apart(matrix("head", {3, 2}, kTransposed, "['")));
}

TEST(Ties, TheCopyIsWrittenInChunksOfAnySize) {
  const std::string table = toy::raw({1, 2, 3, 4, 5, 6});
  const ByteSource source = transposed_bytes_of(bytes_of(std::as_bytes(std::span(table))), {2, 3});
  for (const std::size_t chunk : {1U, 3U, 4U, 24U}) {
    std::string written(table.size(), '\0');
    for (std::size_t at = 0; at < table.size(); at += chunk) {
      source(static_cast<std::int64_t>(at),
             std::as_writable_bytes(std::span(written)).subspan(at, chunk));
    }
    EXPECT_EQ(written, toy::raw(kTransposed)) << chunk;
  }
}

}  // namespace
}  // namespace lowtide::onnx
