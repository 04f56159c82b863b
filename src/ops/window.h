// Windows that slide over spatial axes: what convolution and pooling share. Attribute structs of
// such ops have the members kernel, strides, dilations, pads_begin and pads_end, one entry for each
// spatial axis.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/tensor_type.h"
#include "graph/onnx_rule.h"
#include "kernels/window_axis.h"

namespace lowtide::ops {

// How many windows fit: kDown drops a last one that reaches beyond the padded input, kUp keeps it
// as long as it begins inside the input or the padding before it.
enum class Rounding : std::uint8_t { kDown, kUp };

// The window part of an op's attributes, without owning it.
struct Window {
  std::span<const std::int64_t> kernel;
  std::span<const std::int64_t> strides;
  std::span<const std::int64_t> dilations;
  std::span<const std::int64_t> pads_begin;
  std::span<const std::int64_t> pads_end;
};

template <class A>
Window window_of(const A& a) {
  return {a.kernel, a.strides, a.dilations, a.pads_begin, a.pads_end};
}

// The attributes with stride 1, dilation 1 and no padding where these were left empty.
template <class A>
A with_window_defaults(A a) {
  const std::size_t axes = a.kernel.size();
  if (a.strides.empty()) a.strides.assign(axes, 1);
  if (a.dilations.empty()) a.dilations.assign(axes, 1);
  if (a.pads_begin.empty()) a.pads_begin.assign(axes, 0);
  if (a.pads_end.empty()) a.pads_end.assign(axes, 0);
  return a;
}

// The number of windows along each spatial axis of x, which is (N, C, spatial...). Throws
// Error(kInvalidArgument) where an attribute has the wrong length or sign, or no window fits.
std::vector<std::int64_t> window_counts(const Window& window,
                                        const core::Shape& x,
                                        Rounding rounding);

struct Padding {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
};

// The padding an ONNX node asks for, by `pads` ([all begins, all ends]) or by `auto_pad`.
Padding read_padding(const graph::OnnxNode& node, const Window& window, const core::Shape& x);

// The attributes an ONNX node gives for windows of a.kernel over x.
template <class A>
A read_window(const graph::OnnxNode& node, A a, const core::Shape& x) {
  a.strides = node.integers("strides");
  a.dilations = node.integers("dilations");
  a = with_window_defaults(std::move(a));
  Padding padding = read_padding(node, window_of(a), x);
  a.pads_begin = std::move(padding.begin);
  a.pads_end = std::move(padding.end);
  return a;
}

// The ONNX attributes kernel_shape, strides, dilations and pads.
std::vector<std::pair<std::string, graph::OnnxAttribute>> window_attributes(const Window& window);

using kernels::Place3;
using kernels::WindowAxes;
using kernels::WindowAxis;

WindowAxes window_axes(const Window& window, const core::Shape& x, const core::Shape& y);

// Strides of a tensor with one to three spatial axes, lifted to three.
struct SpatialStrides {
  std::int64_t sample = 0;
  std::int64_t channel = 0;
  Place3 spatial = {0, 0, 0};

  [[nodiscard]] std::int64_t at(const Place3& place) const {
    return place[0] * spatial[0] + place[1] * spatial[1] + place[2] * spatial[2];
  }
};

SpatialStrides spatial_strides(const core::TensorType& type);

// Calls f(place) for all places below `sizes`, in row-major order.
template <class F>
void for_each_place(const Place3& sizes, F&& f) {
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    for (std::int64_t j = 0; j < sizes[1]; ++j) {
      for (std::int64_t k = 0; k < sizes[2]; ++k) f(Place3{i, j, k});
    }
  }
}

inline Place3 in_sizes(const WindowAxes& axes) { return {axes[0].in, axes[1].in, axes[2].in}; }
inline Place3 out_sizes(const WindowAxes& axes) { return {axes[0].out, axes[1].out, axes[2].out}; }
inline Place3 kernel_sizes(const WindowAxes& axes) {
  return {axes[0].kernel, axes[1].kernel, axes[2].kernel};
}

// Calls f(tap, place in the input) for the taps of a window that meet the input.
template <class F>
void for_each_tap(const WindowAxes& axes, const Place3& window, F&& f) {
  for_each_place(kernel_sizes(axes), [&](const Place3& tap) {
    const Place3 at = {axes[0].position(window[0], tap[0]), axes[1].position(window[1], tap[1]),
                       axes[2].position(window[2], tap[2])};
    if (axes[0].inside(at[0]) && axes[1].inside(at[1]) && axes[2].inside(at[2])) f(tap, at);
  });
}

// Calls f(tap, window) for the windows that meet a place of the input.
template <class F>
void for_each_window(const WindowAxes& axes, const Place3& place, F&& f) {
  for_each_place(kernel_sizes(axes), [&](const Place3& tap) {
    const Place3 window = {axes[0].window_at(place[0], tap[0]), axes[1].window_at(place[1], tap[1]),
                           axes[2].window_at(place[2], tap[2])};
    if (window[0] >= 0 && window[1] >= 0 && window[2] >= 0) f(tap, window);
  });
}

}  // namespace lowtide::ops
