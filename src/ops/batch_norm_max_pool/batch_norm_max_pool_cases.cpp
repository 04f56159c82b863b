#include <utility>

#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/batch_norm_max_pool/batch_norm_max_pool.h"
#include "ops/cases.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {

std::vector<OpCase> batch_norm_max_pool_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, const core::Shape& x, const Unary& f, const Pool& pool) {
    cases.push_back(
        {.name = "batch_norm_max_pool/" + std::move(name),
         .inputs = {{.shape = x, .apart = 1e-3}, {.shape = {x[1]}, .low = 0.5}, {.shape = {x[1]}}},
         .build =
             [f, pool](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
               const graph::ValueId last = to_channels_last(b, in[0]);
               const std::vector<graph::ValueId> statistics =
                   b.add(batch_statistics_op(), graph::Attrs::of(BatchStatistics{.epsilon = 1e-3}),
                         {last});
               const NormInputs norm{.x = last,
                                     .mean = statistics[0],
                                     .inverse_deviation = statistics[1],
                                     .scale = in[1],
                                     .bias = in[2]};
               return std::vector<graph::ValueId>{
                   batch_norm_max_pool(b, norm, {.activation = f, .pool = pool})};
             },
         .gradient_tolerance = 1e-5});
  };
  constexpr Unary kRelu{.kind = UnaryKind::kRelu};
  constexpr Unary kSilu{.kind = UnaryKind::kSilu};
  const Pool halves{.kernel = {2, 2}, .strides = {2, 2}};
  add("relu", {3, 5, 6, 8}, kRelu, halves);
  add("overlapping", {2, 17, 7, 6}, kRelu,
      {.kernel = {3, 3}, .strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
  add("silu_ceil", {2, 4, 7, 5}, kSilu, {.kernel = {2, 2}, .strides = {2, 2}, .ceil = true});
  add("one_axis", {4, 3, 9}, kRelu, {.kernel = {2}, .strides = {3}});
  add("one_sample", {1, 64, 4, 4}, kRelu, halves);
  return cases;
}

}  // namespace lowtide::ops
