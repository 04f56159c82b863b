#include "ops/catalog.h"

#include <array>

#include "ops/layout/layout.h"
#include "ops/reshape/reshape.h"
#include "ops/softmax/softmax.h"

namespace lowtide::ops {

std::span<const graph::OpDef* const> catalog() {
  static const std::array kOps = {
      &convert_layout_op(),
      &reshape_op(),
      &softmax_op(),
      &softmax_gradient_op(),
  };
  return kOps;
}

}  // namespace lowtide::ops
