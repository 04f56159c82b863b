// The table of contents of test cases: one line per op folder. Linked into tests and benchmarks.
#pragma once

#include <vector>

#include "ops/op_case.h"

namespace lowtide::ops {

std::vector<OpCase> arg_max_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> batch_norm_cases();
std::vector<OpCase> bit_cast_cases();
std::vector<OpCase> batch_norm_activate_cases();
std::vector<OpCase> batch_norm_max_pool_cases();
std::vector<OpCase> binary_cases();
std::vector<OpCase> broadcast_cases();
std::vector<OpCase> cast_cases();
std::vector<OpCase> concat_cases();
std::vector<OpCase> constant_cases();
std::vector<OpCase> conv_cases();
std::vector<OpCase> conv_max_pool_cases();
std::vector<OpCase> conv_transpose_cases();
std::vector<OpCase> cross_entropy_cases();
std::vector<OpCase> cum_sum_cases();
std::vector<OpCase> determinant_cases();
std::vector<OpCase> dropout_cases();
std::vector<OpCase> einsum_cases();
std::vector<OpCase> expand_cases();
std::vector<OpCase> gather_cases();
std::vector<OpCase> gradient_norm_cases();
std::vector<OpCase> group_norm_cases();
std::vector<OpCase> indexing_cases();
std::vector<OpCase> joined_conv_gradient_cases();
std::vector<OpCase> layer_norm_cases();
std::vector<OpCase> layout_cases();
std::vector<OpCase> linear_cross_entropy_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> matmul_update_cases();
std::vector<OpCase> normed_conv_gradient_cases();
std::vector<OpCase> pad_cases();
std::vector<OpCase> pool_cases();
std::vector<OpCase> predicate_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> reshape_cases();
std::vector<OpCase> resize_cases();
std::vector<OpCase> slice_cases();
std::vector<OpCase> softmax_cases();
std::vector<OpCase> split_cases();
std::vector<OpCase> split_conv_transpose_cases();
std::vector<OpCase> pair_loss_cases();
std::vector<OpCase> top_hits_cases();
std::vector<OpCase> tile_cases();
std::vector<OpCase> top_k_cases();
std::vector<OpCase> transpose_cases();
std::vector<OpCase> trilu_cases();
std::vector<OpCase> unary_cases();
std::vector<OpCase> update_cases();
std::vector<OpCase> where_cases();

std::vector<OpCase> all_cases();

}  // namespace lowtide::ops
