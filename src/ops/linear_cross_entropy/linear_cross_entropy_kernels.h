// Where the op's inputs and outputs are, and its kernels.
#pragma once

#include "graph/op_def.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

namespace lowtide::ops {

// Inputs: hidden, weight, labels, normalizer, then the bias and the class weights, if any. Outputs:
// loss and correct, then the gradients of hidden, weight and bias.
constexpr std::size_t kBiasInput = 4;

constexpr std::size_t class_weights_input(const LinearCrossEntropy& a) {
  return kBiasInput + (a.bias ? 1 : 0);
}

struct HeadSizes {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t classes = 0;
};

inline HeadSizes sizes_of(const LinearCrossEntropy& a, graph::Types in) {
  return {.rows = in[0].shape[0],
          .depth = in[0].shape[1],
          .classes = in[1].shape[a.transposed ? 0 : 1]};
}

std::vector<graph::Kernel<LinearCrossEntropy>> linear_cross_entropy_kernels();

}  // namespace lowtide::ops
