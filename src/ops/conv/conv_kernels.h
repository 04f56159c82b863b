// The reference kernels of convolution: plain loops over any layout, summing in double.
#pragma once

#include "graph/kernel.h"
#include "ops/conv/conv.h"

namespace lowtide::ops {

void run_conv_reference(const Conv& a, const graph::Signature& types, const graph::Run& run);
void run_conv_weight_gradient_reference(const Conv& a,
                                        const graph::Signature& types,
                                        const graph::Run& run);
void run_conv_input_gradient_reference(const ConvInputGradient& a,
                                       const graph::Signature& types,
                                       const graph::Run& run);

}  // namespace lowtide::ops
