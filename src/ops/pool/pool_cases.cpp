#include <utility>

#include "ops/cases.h"
#include "ops/pool/pool.h"

namespace lowtide::ops {

std::vector<OpCase> pool_cases() {
  std::vector<OpCase> cases;
  const auto add_built = [&](std::string name, core::Shape x, auto build) {
    cases.push_back(
        {.name = std::move(name),
         .inputs = {{.shape = std::move(x), .apart = 1e-3}},
         .build = [build](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{build(b, in[0])};
         }});
  };
  const auto add = [&](const std::string& name, const core::Shape& x, const Pool& a) {
    add_built("max_pool/" + name, x, [a](auto& b, auto in) { return max_pool(b, in, a); });
    add_built("max_pool_places/" + name, x,
              [a](auto& b, auto in) { return max_pool_places(b, in, a, a.pads_end.empty()); });
    add_built("average_pool/" + name, x, [a](auto& b, auto in) { return average_pool(b, in, a); });
    Pool counted = a;
    counted.count_padding = true;
    add_built("average_pool/" + name + "_counting_padding", x,
              [counted](auto& b, auto in) { return average_pool(b, in, counted); });
  };
  add("halves", {2, 4, 6, 8}, {.kernel = {2, 2}, .strides = {2, 2}});
  add("overlapping", {2, 17, 7, 6},
      {.kernel = {3, 3}, .strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
  add("stride_1", {1, 3, 5, 4}, {.kernel = {3, 2}});
  add("unequal_padding", {1, 3, 5, 6},
      {.kernel = {3, 3}, .strides = {2, 1}, .pads_begin = {1, 0}, .pads_end = {0, 2}});
  add("dilated", {1, 5, 8, 9},
      {.kernel = {2, 3},
       .strides = {1, 2},
       .dilations = {3, 2},
       .pads_begin = {1, 2},
       .pads_end = {2, 1}});
  add("ceil", {1, 2, 6, 7},
      {.kernel = {3, 3},
       .strides = {2, 2},
       .pads_begin = {0, 1},
       .pads_end = {0, 1},
       .ceil = true});
  add("ceil_sticking_out", {1, 2, 5, 5},
      {.kernel = {2, 2}, .strides = {3, 3}, .pads_begin = {1, 1}, .ceil = true});
  add("kernel_over_input", {1, 3, 2, 2},
      {.kernel = {4, 4}, .pads_begin = {1, 1}, .pads_end = {1, 2}});
  add("stride_over_kernel", {1, 3, 7, 7}, {.kernel = {2, 2}, .strides = {3, 3}});
  add("window_of_289", {1, 3, 17, 18}, {.kernel = {17, 17}});
  add("signal", {2, 3, 11}, {.kernel = {4}, .strides = {3}, .pads_begin = {2}, .pads_end = {1}});
  add("volume", {1, 2, 4, 5, 3},
      {.kernel = {2, 3, 2}, .strides = {1, 2, 1}, .pads_begin = {1, 1, 0}, .pads_end = {0, 1, 1}});
  add("no_samples", {0, 3, 4, 4}, {.kernel = {2, 2}});
  add("over_the_grain", {2, 16, 20, 20}, {.kernel = {3, 3}, .strides = {2, 2}});
  for (const core::Shape& x : {core::Shape{2, 17, 3, 4}, core::Shape{1, 3, 1, 1},
                               core::Shape{2, 5, 6}, core::Shape{0, 3, 4, 4}}) {
    const std::string name = core::Shape(x).str();
    add_built("global_max_pool/" + name, x,
              [](auto& b, auto in) { return global_max_pool(b, in); });
    add_built("global_average_pool/" + name, x,
              [](auto& b, auto in) { return global_average_pool(b, in); });
  }
  return cases;
}

}  // namespace lowtide::ops
