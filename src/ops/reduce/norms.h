// Normalisations made of sums and means: LpNormalization, MeanVarianceNormalization,
// RMSNormalization; and the p-norm over all positions, GlobalLpPool.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::ops {

// |x|^p and x^(1 / p), for p > 0.
graph::ValueId power_of_size(graph::GraphBuilder& b, graph::ValueId x, std::int64_t p);
graph::ValueId root(graph::GraphBuilder& b, graph::ValueId x, std::int64_t p);

// x / sqrt(mean of x^2 + epsilon) times `scale` over the axes from `axis` on.
graph::ValueId rms_norm(graph::GraphBuilder& b,
                        graph::ValueId x,
                        graph::ValueId scale,
                        std::int64_t axis,
                        double epsilon);

std::vector<graph::ValueId> read_lp_norm(graph::OnnxNode& node);
std::vector<graph::ValueId> read_mean_variance_norm(graph::OnnxNode& node);
std::vector<graph::ValueId> read_rms_norm(graph::OnnxNode& node);
std::vector<graph::ValueId> read_global_lp_pool(graph::OnnxNode& node);

}  // namespace lowtide::ops
