#include "ops/catalog.h"

#include <array>

#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/constant/constant.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/dropout/dropout.h"
#include "ops/gather/gather.h"
#include "ops/gradient_norm/gradient_norm.h"
#include "ops/layout/layout.h"
#include "ops/pad/pad.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/split/split.h"
#include "ops/squared_error/squared_error.h"
#include "ops/transpose/transpose.h"
#include "ops/trilu/trilu.h"
#include "ops/update/update.h"

namespace lowtide::ops {

std::span<const graph::OpDef* const> catalog() {
  static const std::array kOps = {
      &convert_layout_op(),
      &reshape_op(),
      &softmax_op(),
      &softmax_gradient_op(),
      &cross_entropy_op(),
      &cross_entropy_gradient_op(),
      &sum_squares_op(),
      &combine_norm_op(),
      &pair_loss_op(),
      &pair_loss_gradient_op(),
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
      &cast_op(),
      &fill_op(),
      &dropout_op(),
      &dropout_mask_op(),
      &trilu_op(),
  };
  return kOps;
}

}  // namespace lowtide::ops
