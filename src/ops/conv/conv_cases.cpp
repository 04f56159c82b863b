#include <algorithm>
#include <iterator>

#include "ops/cases.h"
#include "ops/conv/conv.h"
#include "ops/conv/lrn.h"

namespace lowtide::ops {

namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Values = std::vector<ValueId>;

const Conv kSame{.pads_begin = {1, 1}, .pads_end = {1, 1}};

OpCase plain(std::string name, core::Shape x, core::Shape w, Conv attributes) {
  return {.name = "conv/" + std::move(name),
          .inputs = {{.shape = std::move(x)}, {.shape = std::move(w)}},
          .build = [attributes](GraphBuilder& b, const Values& in) {
            return Values{conv(b, in[0], in[1], ValueId(), attributes)};
          }};
}

OpCase biased(std::string name, core::Shape x, core::Shape w, Conv attributes) {
  const core::Shape bias{w[0]};
  return {.name = "conv/" + std::move(name),
          .inputs = {{.shape = std::move(x)}, {.shape = std::move(w)}, {.shape = bias}},
          .build = [attributes](GraphBuilder& b, const Values& in) {
            return Values{conv(b, in[0], in[1], in[2], attributes)};
          }};
}

// Large enough for the weight gradient by tiles, in every way that windows can lie.
std::vector<OpCase> tiled_cases() {
  return {
      plain("tiles", {3, 9, 9, 7}, {37, 9, 3, 3}, kSame),
      plain("tiles_stem", {1, 3, 29, 31}, {32, 3, 7, 7},
            {.strides = {2, 2}, .pads_begin = {3, 3}, .pads_end = {3, 3}}),
      plain("tiles_strided", {2, 16, 9, 10}, {33, 16, 3, 2},
            {.strides = {2, 3}, .pads_begin = {1, 0}, .pads_end = {0, 1}}),
      plain("tiles_dilated", {1, 9, 11, 12}, {32, 9, 3, 3},
            {.dilations = {2, 3}, .pads_begin = {2, 3}, .pads_end = {2, 3}}),
      plain("tiles_cut", {2, 11, 8, 9}, {34, 11, 3, 3},
            {.pads_begin = {-1, 0}, .pads_end = {0, -2}}),
      plain("tiles_grouped", {2, 18, 6, 7}, {70, 9, 3, 3},
            {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 2}),
      plain("tiles_over_input", {2, 5, 2, 3}, {32, 5, 5, 5},
            {.pads_begin = {2, 2}, .pads_end = {2, 2}}),
      plain("tiles_signal", {5, 20, 33}, {40, 20, 4},
            {.strides = {2}, .pads_begin = {2}, .pads_end = {1}}),
      plain("tiles_volume", {1, 8, 4, 5, 6}, {32, 8, 2, 3, 2},
            {.strides = {1, 2, 1}, .pads_begin = {1, 1, 0}, .pads_end = {0, 1, 1}}),
      plain("tiles_of_pixels", {3, 130, 7, 9}, {129, 130, 1, 1}, {}),
  };
}

// Enough 3 x 3 windows for Winograd's filtering, on images that tiles of four do not divide.
std::vector<OpCase> winograd_cases() {
  return {
      plain("winograd", {2, 16, 16, 16}, {16, 16, 3, 3}, kSame),
      plain("winograd_odd", {3, 19, 11, 13}, {21, 19, 3, 3}, kSame),
      plain("winograd_no_padding", {2, 35, 13, 10}, {17, 35, 3, 3}, {}),
      plain("winograd_wide_padding", {1, 18, 9, 12}, {40, 18, 3, 3},
            {.pads_begin = {2, 3}, .pads_end = {4, 0}}),
      plain("winograd_cut", {2, 16, 15, 14}, {33, 16, 3, 3},
            {.pads_begin = {-1, 0}, .pads_end = {1, -2}}),
      biased("winograd_biased", {2, 20, 8, 9}, {43, 20, 3, 3}, kSame),
  };
}

void add_lrns(std::vector<OpCase>& cases) {
  for (const std::int64_t size : {1, 3, 4, 9}) {
    cases.push_back({.name = "lrn/size_" + std::to_string(size),
                     .inputs = {{.shape = {2, 5, 3, 4}}},
                     .build = [size](GraphBuilder& b, const Values& in) {
                       return Values{lrn(b, in[0], {.size = size, .alpha = 0.5, .bias = 1.5})};
                     }});
  }
}

}  // namespace

std::vector<OpCase> conv_cases() {
  std::vector<OpCase> cases = tiled_cases();
  std::ranges::move(winograd_cases(), std::back_inserter(cases));
  const auto add = [&](std::string name, core::Shape x, core::Shape w, Conv attributes) {
    cases.push_back(plain(std::move(name), std::move(x), std::move(w), std::move(attributes)));
  };
  add("image", {2, 4, 6, 5}, {8, 4, 3, 3}, kSame);
  add("no_padding", {2, 4, 6, 5}, {8, 4, 3, 3}, {});
  add("one_by_one", {2, 16, 5, 4}, {32, 16, 1, 1}, {});
  add("one_by_one_strided", {2, 16, 5, 4}, {32, 16, 1, 1}, {.strides = {2, 2}});
  add("odd_channels", {2, 3, 7, 6}, {17, 3, 3, 3}, kSame);
  add("odd_channels_in", {1, 17, 5, 6}, {3, 17, 3, 3}, kSame);
  add("one_channel", {2, 1, 6, 6}, {1, 1, 3, 3}, kSame);
  add("stem", {1, 3, 17, 19}, {16, 3, 7, 7},
      {.strides = {2, 2}, .pads_begin = {3, 3}, .pads_end = {3, 3}});
  add("over_the_grain", {4, 32, 14, 14}, {48, 32, 3, 3}, kSame);
  add("strided", {2, 4, 9, 8}, {6, 4, 3, 3},
      {.strides = {2, 3}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
  add("stride_over_kernel", {1, 2, 9, 9}, {4, 2, 2, 2}, {.strides = {3, 3}});
  add("dilated", {1, 4, 9, 10}, {6, 4, 3, 3},
      {.dilations = {2, 3}, .pads_begin = {2, 3}, .pads_end = {2, 3}});
  add("unequal_padding", {1, 3, 5, 6}, {4, 3, 3, 2}, {.pads_begin = {1, 0}, .pads_end = {0, 2}});
  add("wide_padding", {1, 2, 3, 3}, {4, 2, 2, 2}, {.pads_begin = {3, 2}, .pads_end = {2, 3}});
  add("negative_padding", {1, 2, 7, 6}, {4, 2, 3, 3}, {.pads_begin = {-1, 0}, .pads_end = {0, -2}});
  add("kernel_over_input", {2, 3, 2, 2}, {4, 3, 5, 5}, {.pads_begin = {2, 2}, .pads_end = {2, 2}});
  add("grouped", {2, 8, 6, 5}, {12, 4, 3, 3},
      {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 2});
  add("grouped_by_16", {1, 32, 5, 5}, {32, 16, 3, 3},
      {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 2});
  add("depthwise", {2, 18, 6, 5}, {18, 1, 3, 3},
      {.strides = {2, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 18});
  add("depthwise_multiplied", {2, 3, 6, 5}, {6, 1, 3, 3},
      {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 3});
  add("signal", {2, 3, 11}, {5, 3, 4}, {.strides = {2}, .pads_begin = {2}, .pads_end = {1}});
  add("volume", {1, 2, 4, 5, 3}, {3, 2, 2, 3, 2},
      {.strides = {1, 2, 1}, .pads_begin = {1, 1, 0}, .pads_end = {0, 1, 1}});
  add("no_samples", {0, 3, 5, 5}, {4, 3, 3, 3}, kSame);
  cases.push_back(biased("biased", {2, 4, 6, 5}, {8, 4, 3, 3}, kSame));
  cases.push_back(biased("biased_odd_channels", {2, 3, 5, 5}, {17, 3, 3, 3}, kSame));
  cases.push_back(biased("biased_depthwise", {2, 16, 6, 5}, {16, 1, 3, 3},
                         {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 16}));
  cases.push_back(biased("biased_signal", {2, 3, 9}, {4, 3, 3}, {}));
  cases.push_back(biased("biased_volume", {1, 2, 3, 4, 4}, {4, 2, 2, 2, 2}, {}));
  add_lrns(cases);
  return cases;
}

}  // namespace lowtide::ops
