#include "ops/cases.h"
#include "ops/matmul/matmul.h"

namespace lowtide::ops {

namespace {

OpCase product(std::string name, core::Shape a, core::Shape c, MatMul attributes) {
  return {.name = "matmul/" + std::move(name),
          .inputs = {{.shape = std::move(a)}, {.shape = std::move(c)}},
          .build = [attributes](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
            return std::vector<graph::ValueId>{matmul(b, in[0], in[1], attributes)};
          }};
}

OpCase biased(std::string name, core::Shape a, core::Shape c, core::Shape bias, MatMul attributes) {
  return {.name = "gemm/" + std::move(name),
          .inputs = {{.shape = std::move(a)}, {.shape = std::move(c)}, {.shape = std::move(bias)}},
          .build = [attributes](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
            return std::vector<graph::ValueId>{gemm(b, in[0], in[1], in[2], attributes)};
          }};
}

}  // namespace

std::vector<OpCase> matmul_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](const char* name, core::Shape a, core::Shape c, MatMul attributes = {}) {
    cases.push_back(product(name, std::move(a), std::move(c), attributes));
  };
  const auto add_gemm = [&](const char* name, core::Shape a, core::Shape c, core::Shape bias,
                            MatMul attributes = {}) {
    cases.push_back(biased(name, std::move(a), std::move(c), std::move(bias), attributes));
  };
  constexpr MatMul kLeft{.transpose_a = true};
  constexpr MatMul kRight{.transpose_b = true};
  constexpr MatMul kBoth{.transpose_a = true, .transpose_b = true};

  add("matrices", {5, 7}, {7, 3});
  add("transposed_left", {7, 5}, {7, 3}, kLeft);
  add("transposed_right", {5, 7}, {3, 7}, kRight);
  add("transposed_both", {7, 5}, {3, 7}, kBoth);
  add("of_16", {16, 32}, {32, 48});
  add("over_the_grain", {65, 130}, {130, 67});
  add("over_the_blocks", {100, 260}, {260, 270});
  add("over_the_blocks_transposed_left", {260, 100}, {260, 270}, kLeft);
  add("over_the_blocks_transposed_right", {100, 260}, {270, 260}, kRight);
  add("over_the_blocks_transposed_both", {260, 100}, {270, 260}, kBoth);
  add("tall_transposed_left", {9, 131}, {9, 66}, kLeft);
  add("one_row", {1, 9}, {9, 17});
  add("one_column", {6, 9}, {9, 1});
  add("depth_1", {6, 1}, {1, 5});
  add("one_element", {1, 1}, {1, 1});
  add("vector_by_vector", {9}, {9});
  add("vector_by_matrix", {9}, {9, 4});
  add("matrix_by_vector", {4, 9}, {9});
  add("batch_by_vector", {2, 3, 4, 9}, {9});
  add("vector_by_batch", {9}, {2, 9, 4});
  add("no_rows", {0, 4}, {4, 3});
  add("no_columns", {3, 4}, {4, 0});
  add("depth_0", {3, 0}, {0, 5});
  add("empty_batch", {0, 3, 4}, {4, 5});

  add("batch", {3, 4, 5}, {3, 5, 6});
  add("batch_transposed_left", {3, 5, 4}, {3, 5, 6}, kLeft);
  add("batch_transposed_right", {3, 4, 5}, {3, 6, 5}, kRight);
  add("batch_transposed_both", {3, 5, 4}, {3, 6, 5}, kBoth);
  add("heads", {2, 3, 4, 5}, {2, 3, 5, 4});
  add("batch_by_weights", {2, 3, 4, 5}, {5, 6});
  add("batch_by_weights_transposed", {3, 4, 5}, {6, 5}, kRight);
  add("transposed_batch_by_weights", {3, 5, 4}, {5, 6}, kLeft);
  add("weights_by_batch", {4, 5}, {3, 5, 6});
  add("broadcast_left", {2, 1, 4, 5}, {2, 3, 5, 6});
  add("broadcast_right", {2, 3, 4, 5}, {3, 5, 6});
  add("broadcast_crosswise", {2, 1, 4, 5}, {1, 3, 5, 6});

  add_gemm("row", {5, 7}, {7, 3}, {3});
  add_gemm("row_of_rank_2", {5, 7}, {3, 7}, {1, 3}, kRight);
  add_gemm("transposed_both", {7, 5}, {3, 7}, {3}, kBoth);
  add_gemm("batch", {2, 5, 7}, {7, 18}, {18});
  add_gemm("batched_both", {2, 5, 7}, {2, 7, 6}, {6});
  add_gemm("one_column", {5, 7}, {7, 1}, {1});
  add_gemm("full", {5, 7}, {7, 3}, {5, 3});
  add_gemm("column", {5, 7}, {7, 3}, {5, 1});
  add_gemm("scalar", {5, 7}, {7, 3}, {});
  add_gemm("depth_0", {3, 0}, {0, 5}, {5});
  return cases;
}

}  // namespace lowtide::ops
