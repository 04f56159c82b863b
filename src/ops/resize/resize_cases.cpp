#include <array>
#include <cmath>
#include <utility>

#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/resize/resize.h"

namespace lowtide::ops {
namespace {

using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;
using Inputs = std::vector<ValueId>;

OpCase resizing(std::string name, CaseInput x, Resize attributes) {
  return {.name = "resize/" + std::move(name),
          .inputs = {std::move(x)},
          .build = [attributes = std::move(attributes)](GraphBuilder& b, const Inputs& in) {
            return Inputs{resize(b, in[0], attributes)};
          }};
}

// Axis i, of `length` places, to `size`.
ResizeAxis to(std::size_t axis, std::int64_t length, std::int64_t size) {
  return {
      .axis = axis, .size = size, .scale = static_cast<double>(size) / static_cast<double>(length)};
}

ResizeAxis by(std::size_t axis, std::int64_t length, double scale) {
  return {.axis = axis,
          .size = static_cast<std::int64_t>(std::floor(static_cast<double>(length) * scale)),
          .scale = scale};
}

// Every mode with every way of finding coordinates, up on one axis and down on the other.
void add_modes(std::vector<OpCase>& cases) {
  constexpr std::array kModes = {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic};
  constexpr std::array kModeNames = {"nearest", "linear", "cubic"};
  constexpr std::array kWays = {Coordinates::kHalfPixel,        Coordinates::kHalfPixelSymmetric,
                                Coordinates::kPytorchHalfPixel, Coordinates::kAlignCorners,
                                Coordinates::kAsymmetric,       Coordinates::kTfCropAndResize,
                                Coordinates::kTfHalfPixelForNn};
  constexpr std::array kWayNames = {"half_pixel", "symmetric", "pytorch", "align_corners",
                                    "asymmetric", "crop",      "tf_nn"};
  for (std::size_t m = 0; m < kModes.size(); ++m) {
    for (std::size_t w = 0; w < kWays.size(); ++w) {
      Resize a{.mode = kModes[m], .coordinates = kWays[w], .axes = {to(2, 5, 8), by(3, 7, 0.6)}};
      if (kWays[w] == Coordinates::kTfCropAndResize) {
        a.axes[0].begin = 0.3;
        a.axes[0].end = 1.2;
        a.extrapolation = 2.5;
      }
      cases.push_back(resizing(std::string(kModeNames[m]) + "/" + kWayNames[w],
                               {.shape = {2, 3, 5, 7}}, std::move(a)));
    }
  }
}

void add_roundings(std::vector<OpCase>& cases) {
  constexpr std::array kRoundings = {NearestRounding::kPreferFloor, NearestRounding::kPreferCeil,
                                     NearestRounding::kFloor, NearestRounding::kCeil};
  constexpr std::array kNames = {"prefer_floor", "prefer_ceil", "floor", "ceil"};
  for (std::size_t i = 0; i < kRoundings.size(); ++i) {
    cases.push_back(resizing(std::string("nearest/") + kNames[i], {.shape = {3, 7}},
                             {.rounding = kRoundings[i], .axes = {to(1, 7, 10)}}));
  }
}

void add_kernels(std::vector<OpCase>& cases) {
  for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic}) {
    const std::string name = mode == ResizeMode::kLinear ? "linear" : "cubic";
    const std::vector<ResizeAxis> axes = {by(2, 9, 0.4), to(3, 8, 11)};
    const CaseInput x{.shape = {1, 2, 9, 8}};
    cases.push_back(
        resizing(name + "/antialias", x, {.mode = mode, .antialias = true, .axes = axes}));
    cases.push_back(resizing(name + "/exclude_outside", x,
                             {.mode = mode, .exclude_outside = true, .axes = axes}));
    cases.push_back(
        resizing(name + "/antialias_inside", x,
                 {.mode = mode, .exclude_outside = true, .antialias = true, .axes = axes}));
  }
  cases.push_back(resizing("cubic/half", {.shape = {2, 9}},
                           {.mode = ResizeMode::kCubic, .cubic = -0.5, .axes = {to(1, 9, 13)}}));
}

void add_shapes(std::vector<OpCase>& cases) {
  const Resize linear{.mode = ResizeMode::kLinear};
  const auto add = [&](std::string name, Shape x, Resize a, std::vector<ResizeAxis> axes) {
    a.axes = std::move(axes);
    cases.push_back(resizing("shapes/" + std::move(name), {.shape = std::move(x)}, std::move(a)));
  };
  add("doubled", {2, 19, 5, 4}, {}, {to(2, 5, 10), to(3, 4, 8)});
  add("doubled_linear", {2, 16, 5, 4}, linear, {to(2, 5, 10), to(3, 4, 8)});
  add("over_the_grain", {2, 24, 30, 20}, linear, {to(2, 30, 45), to(3, 20, 40)});
  add("signal", {2, 3, 7}, linear, {to(2, 7, 12)});
  add("volume", {1, 2, 3, 4, 3}, linear, {to(2, 3, 5), to(3, 4, 3), to(4, 3, 6)});
  add("line", {9}, linear, {to(0, 9, 4)});
  add("channels", {2, 3, 4, 3}, linear, {to(1, 3, 5)});
  add("batch_and_columns", {3, 2, 3, 4}, linear, {to(0, 3, 2), to(3, 4, 7)});
  add("from_one", {2, 3, 1, 1}, linear, {to(2, 1, 4), to(3, 1, 3)});
  add("to_one", {2, 3, 4, 5}, linear, {to(2, 4, 1), to(3, 5, 1)});
  add("to_none", {2, 3, 4, 5}, {}, {to(2, 4, 0)});
  add("no_samples", {0, 3, 4, 5}, linear, {to(2, 4, 8)});
  add("as_it_is", {2, 3, 4, 5}, linear, {to(2, 4, 4)});
  cases.push_back(resizing("shapes/int64",
                           {.shape = {2, 5}, .low = -9, .high = 9, .dtype = core::DType::kInt64},
                           {.axes = {to(1, 5, 8)}}));
  cases.push_back({.name = "resize/shapes/channels_last_channels",
                   .inputs = {{.shape = {2, 5, 3, 4}}},
                   .build = [linear](GraphBuilder& b, const Inputs& in) {
                     Resize a = linear;
                     a.axes = {to(1, 5, 7), to(3, 4, 6)};
                     return Inputs{resize(b, to_channels_last(b, in[0]), a)};
                   }});
}

}  // namespace

std::vector<OpCase> resize_cases() {
  std::vector<OpCase> cases;
  add_modes(cases);
  add_roundings(cases);
  add_kernels(cases);
  add_shapes(cases);
  return cases;
}

}  // namespace lowtide::ops
