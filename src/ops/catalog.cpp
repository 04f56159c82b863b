#include "ops/catalog.h"

#include <array>

#include "ops/arg_max/arg_max.h"
#include "ops/attention/attention.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_activate/batch_norm_activate.h"
#include "ops/batch_norm_max_pool/batch_norm_max_pool.h"
#include "ops/binary/binary.h"
#include "ops/bit_cast/bit_cast.h"
#include "ops/broadcast/broadcast.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/constant/constant.h"
#include "ops/conv/conv.h"
#include "ops/conv_max_pool/conv_max_pool.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/cum_sum/cum_sum.h"
#include "ops/determinant/determinant.h"
#include "ops/dropout/dropout.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/gradient_norm/gradient_norm.h"
#include "ops/group_norm/group_norm.h"
#include "ops/indexing/indexing.h"
#include "ops/joined_conv_gradient/joined_conv_gradient.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/layout/layout.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul_update/matmul_update.h"
#include "ops/normed_conv_gradient/normed_conv_gradient.h"
#include "ops/pad/pad.h"
#include "ops/pair_loss/pair_loss.h"
#include "ops/pool/pool.h"
#include "ops/predicate/predicate.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/split/split.h"
#include "ops/split_conv_transpose/split_conv_transpose.h"
#include "ops/tile/tile.h"
#include "ops/top_hits/top_hits.h"
#include "ops/top_k/top_k.h"
#include "ops/transpose/transpose.h"
#include "ops/trilu/trilu.h"
#include "ops/unary/unary.h"
#include "ops/update/update.h"
#include "ops/where/where.h"

namespace lowtide::ops {

std::span<const graph::OpDef* const> catalog() {
  static const std::array kOps = {
      &convert_layout_op(),
      &reshape_op(),
      &matmul_op(),
      &conv_op(),
      &conv_weight_gradient_op(),
      &batch_norm_max_pool_op(),
      &batch_norm_max_pool_reduce_op(),
      &batch_norm_max_pool_input_gradient_op(),
      &conv_max_pool_op(),
      &conv_max_pool_weight_gradient_op(),
      &conv_max_pool_input_gradient_op(),
      &conv_transpose_op(),
      &split_conv_transpose_op(),
      &normed_conv_gradient_op(),
      &joined_conv_gradient_op(),
      &max_pool_op(),
      &max_pool_index_op(),
      &max_pool_gradient_op(),
      &max_pool_places_op(),
      &average_pool_op(),
      &average_pool_gradient_op(),
      &softmax_op(),
      &softmax_gradient_op(),
      &attention_op(),
      &attention_gradient_op(),
      &cross_entropy_op(),
      &cross_entropy_gradient_op(),
      &linear_cross_entropy_op(),
      &sum_squares_op(),
      &combine_norm_op(),
      &pair_loss_op(),
      &top_hits_op(),
      &pair_loss_gradient_op(),
      &matmul_update_op(),
      &sgd_update_op(),
      &adam_update_op(),
      &accumulate_op(),
      &moving_average_op(),
      &transpose_op(),
      &concat_op(),
      &split_op(),
      &slice_op(),
      &slice_gradient_op(),
      &pad_op(),
      &pad_gradient_op(),
      &gather_op(),
      &gather_gradient_op(),
      &gather_elements_op(),
      &gather_nd_op(),
      &scatter_elements_op(),
      &scatter_nd_op(),
      &cum_sum_op(),
      &determinant_op(),
      &cofactors_op(),
      &top_k_op(),
      &resize_op(),
      &resize_gradient_op(),
      &bit_cast_op(),
      &cast_op(),
      &fill_op(),
      &dropout_op(),
      &dropout_mask_op(),
      &trilu_op(),
      &arg_max_op(),
      &predicate_op(PredicateKind::kNot),
      &predicate_op(PredicateKind::kIsNaN),
      &predicate_op(PredicateKind::kIsInf),
      &binary_op(BinaryKind::kAdd),
      &binary_op(BinaryKind::kSub),
      &binary_op(BinaryKind::kMul),
      &binary_op(BinaryKind::kDiv),
      &binary_op(BinaryKind::kPow),
      &binary_op(BinaryKind::kMod),
      &binary_op(BinaryKind::kFmod),
      &binary_op(BinaryKind::kMin),
      &binary_op(BinaryKind::kMax),
      &binary_op(BinaryKind::kPRelu),
      &binary_op(BinaryKind::kBitAnd),
      &binary_op(BinaryKind::kBitOr),
      &binary_op(BinaryKind::kBitXor),
      &binary_op(BinaryKind::kShiftLeft),
      &binary_op(BinaryKind::kShiftRight),
      &binary_op(BinaryKind::kEqual),
      &binary_op(BinaryKind::kLess),
      &binary_op(BinaryKind::kLessOrEqual),
      &binary_op(BinaryKind::kGreater),
      &binary_op(BinaryKind::kGreaterOrEqual),
      &binary_op(BinaryKind::kAnd),
      &binary_op(BinaryKind::kOr),
      &binary_op(BinaryKind::kXor),
      &binary_op(BinaryKind::kPReluSlope),
      &binary_op(BinaryKind::kShare),
      &binary_op(BinaryKind::kSame),
      &binary_op(BinaryKind::kPowBase),
      &binary_op(BinaryKind::kPowExponent),
      &broadcast_op(),
      &reduce_op(ReduceKind::kSum),
      &reduce_op(ReduceKind::kMean),
      &reduce_op(ReduceKind::kMax),
      &reduce_op(ReduceKind::kMin),
      &reduce_op(ReduceKind::kProd),
      &unary_op(UnaryKind::kAbs),
      &unary_op(UnaryKind::kAcos),
      &unary_op(UnaryKind::kAcosh),
      &unary_op(UnaryKind::kAsin),
      &unary_op(UnaryKind::kAsinh),
      &unary_op(UnaryKind::kAtan),
      &unary_op(UnaryKind::kAtanh),
      &unary_op(UnaryKind::kCeil),
      &unary_op(UnaryKind::kCelu),
      &unary_op(UnaryKind::kClip),
      &unary_op(UnaryKind::kCos),
      &unary_op(UnaryKind::kCosh),
      &unary_op(UnaryKind::kElu),
      &unary_op(UnaryKind::kErf),
      &unary_op(UnaryKind::kExp),
      &unary_op(UnaryKind::kFloor),
      &unary_op(UnaryKind::kGelu),
      &unary_op(UnaryKind::kGeluTanh),
      &unary_op(UnaryKind::kHardSigmoid),
      &unary_op(UnaryKind::kHardSwish),
      &unary_op(UnaryKind::kLeakyRelu),
      &unary_op(UnaryKind::kLog),
      &unary_op(UnaryKind::kMish),
      &unary_op(UnaryKind::kNeg),
      &unary_op(UnaryKind::kReciprocal),
      &unary_op(UnaryKind::kRelu),
      &unary_op(UnaryKind::kRound),
      &unary_op(UnaryKind::kScale),
      &unary_op(UnaryKind::kSelu),
      &unary_op(UnaryKind::kSigmoid),
      &unary_op(UnaryKind::kSign),
      &unary_op(UnaryKind::kSilu),
      &unary_op(UnaryKind::kSin),
      &unary_op(UnaryKind::kSinh),
      &unary_op(UnaryKind::kSoftplus),
      &unary_op(UnaryKind::kSoftsign),
      &unary_op(UnaryKind::kSqrt),
      &unary_op(UnaryKind::kTan),
      &unary_op(UnaryKind::kTanh),
      &unary_gradient_op(UnaryKind::kAbs),
      &unary_gradient_op(UnaryKind::kAcos),
      &unary_gradient_op(UnaryKind::kAcosh),
      &unary_gradient_op(UnaryKind::kAsin),
      &unary_gradient_op(UnaryKind::kAsinh),
      &unary_gradient_op(UnaryKind::kAtan),
      &unary_gradient_op(UnaryKind::kAtanh),
      &unary_gradient_op(UnaryKind::kCelu),
      &unary_gradient_op(UnaryKind::kClip),
      &unary_gradient_op(UnaryKind::kElu),
      &unary_gradient_op(UnaryKind::kErf),
      &unary_gradient_op(UnaryKind::kExp),
      &unary_gradient_op(UnaryKind::kGelu),
      &unary_gradient_op(UnaryKind::kGeluTanh),
      &unary_gradient_op(UnaryKind::kHardSigmoid),
      &unary_gradient_op(UnaryKind::kHardSwish),
      &unary_gradient_op(UnaryKind::kLeakyRelu),
      &unary_gradient_op(UnaryKind::kLog),
      &unary_gradient_op(UnaryKind::kMish),
      &unary_gradient_op(UnaryKind::kReciprocal),
      &unary_gradient_op(UnaryKind::kRelu),
      &unary_gradient_op(UnaryKind::kSelu),
      &unary_gradient_op(UnaryKind::kSigmoid),
      &unary_gradient_op(UnaryKind::kSilu),
      &unary_gradient_op(UnaryKind::kSoftplus),
      &unary_gradient_op(UnaryKind::kSoftsign),
      &unary_gradient_op(UnaryKind::kSqrt),
      &unary_gradient_op(UnaryKind::kTan),
      &unary_gradient_op(UnaryKind::kTanh),
      &range_mask_op(),
      &mask_gradient_op(),
      &expand_op(),
      &tile_op(),
      &where_op(),
      &batch_norm_op(),
      &batch_statistics_op(),
      &batch_norm_apply_op(),
      &inverse_deviation_op(),
      &batch_norm_reduce_op(),
      &batch_norm_input_gradient_op(),
      &batch_norm_activate_op(),
      &batch_norm_activate_reduce_op(),
      &batch_norm_activate_input_gradient_op(),
      &batch_norm_add_relu_op(),
      &batch_norm_masked_reduce_op(),
      &layer_norm_op(),
      &layer_norm_reduce_op(),
      &layer_norm_input_gradient_op(),
      &group_norm_op(),
      &group_norm_reduce_op(),
      &group_norm_input_gradient_op(),
  };
  return kOps;
}

}  // namespace lowtide::ops
