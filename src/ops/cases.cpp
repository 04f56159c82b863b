#include "ops/cases.h"

#include <iterator>

namespace lowtide::ops {

std::vector<OpCase> all_cases() {
  std::vector<OpCase> all;
  for (const auto& cases : {
           arg_max_cases(),
           attention_cases(),
           batch_norm_cases(),
           batch_norm_activate_cases(),
           batch_norm_max_pool_cases(),
           bit_cast_cases(),
           binary_cases(),
           broadcast_cases(),
           cast_cases(),
           concat_cases(),
           constant_cases(),
           conv_cases(),
           conv_max_pool_cases(),
           conv_transpose_cases(),
           cross_entropy_cases(),
           cum_sum_cases(),
           determinant_cases(),
           dropout_cases(),
           einsum_cases(),
           expand_cases(),
           gather_cases(),
           gradient_norm_cases(),
           group_norm_cases(),
           indexing_cases(),
           joined_conv_gradient_cases(),
           layer_norm_cases(),
           layout_cases(),
           linear_cross_entropy_cases(),
           matmul_cases(),
           matmul_update_cases(),
           normed_conv_gradient_cases(),
           pad_cases(),
           pool_cases(),
           predicate_cases(),
           reduce_cases(),
           reshape_cases(),
           resize_cases(),
           slice_cases(),
           softmax_cases(),
           split_cases(),
           split_conv_transpose_cases(),
           pair_loss_cases(),
           top_hits_cases(),
           tile_cases(),
           top_k_cases(),
           transpose_cases(),
           trilu_cases(),
           unary_cases(),
           update_cases(),
           where_cases(),
       }) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace lowtide::ops
