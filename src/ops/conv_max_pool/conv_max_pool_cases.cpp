#include <utility>

#include "ops/cases.h"
#include "ops/conv_max_pool/conv_max_pool.h"

namespace lowtide::ops {

std::vector<OpCase> conv_max_pool_cases() {
  std::vector<OpCase> cases;
  // Inputs far enough apart, and weights far enough from 0, that no two places of a window tie.
  const auto add = [&](std::string name, const core::Shape& x, const core::Shape& w,
                       const ConvMaxPool& a, bool bias = true) {
    OpCase result{.name = "conv_max_pool/" + std::move(name),
                  .inputs = {{.shape = x, .apart = 1e-3}, {.shape = w, .apart = 1e-2}},
                  .build = [a](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                    const graph::ValueId offset = in.size() > 2 ? in[2] : graph::ValueId();
                    return std::vector<graph::ValueId>{conv_max_pool(b, in[0], in[1], offset, a)};
                  }};
    if (bias) result.inputs.push_back({.shape = {w[0]}});
    cases.push_back(std::move(result));
  };
  const Pool halves{.kernel = {2, 2}, .strides = {2, 2}};
  const Conv same{.pads_begin = {1, 1}, .pads_end = {1, 1}};
  add("halves", {3, 3, 6, 8}, {5, 3, 3, 3}, {.conv = same, .pool = halves});
  add("winograd", {2, 16, 13, 12}, {16, 16, 3, 3}, {.conv = same, .pool = halves});
  add("overlapping", {2, 4, 11, 9}, {6, 4, 3, 3},
      {.conv = {.strides = {2, 1}},
       .pool = {.kernel = {3, 3}, .strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}}},
      false);
  add("ceil_in_groups", {2, 4, 7, 7}, {6, 2, 2, 2},
      {.conv = {.groups = 2}, .pool = {.kernel = {2, 2}, .strides = {2, 2}, .ceil = true}});
  add("one_axis", {3, 2, 9}, {3, 2, 3}, {.conv = {}, .pool = {.kernel = {2}, .strides = {3}}});
  add("volumes", {1, 2, 4, 5, 4}, {3, 2, 2, 2, 2},
      {.conv = {}, .pool = {.kernel = {2, 2, 2}, .strides = {1, 2, 1}}});
  add("no_samples", {0, 3, 6, 8}, {5, 3, 3, 3}, {.conv = same, .pool = halves});
  return cases;
}

}  // namespace lowtide::ops
