// Windows that slide over spatial axes: what convolution and pooling share. Attribute structs of
// such ops have the members kernel, strides, dilations, pads_begin and pads_end, one entry for each
// spatial axis.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/tensor_type.h"
#include "graph/onnx_rule.h"

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

// One spatial axis as kernels walk it.
struct WindowAxis {
  std::int64_t in = 1;   // size of the input
  std::int64_t out = 1;  // number of windows
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;

  // Where a tap of a window meets the input; outside [0, in) it meets padding.
  [[nodiscard]] std::int64_t position(std::int64_t window, std::int64_t tap) const {
    return window * stride - pad_begin + tap * dilation;
  }

  [[nodiscard]] bool inside(std::int64_t position) const { return position >= 0 && position < in; }

  // Taps of a window that meet the padded input: all but those that rounding up let stick out.
  [[nodiscard]] std::int64_t taps_in_padded(std::int64_t window) const {
    const std::int64_t room = in + pad_end - position(window, 0);
    return std::clamp<std::int64_t>((room + dilation - 1) / dilation, 0, kernel);
  }

  // Taps of a window that meet the input.
  [[nodiscard]] std::int64_t taps_inside(std::int64_t window) const {
    std::int64_t count = 0;
    for (std::int64_t tap = 0; tap < kernel; ++tap) count += inside(position(window, tap)) ? 1 : 0;
    return count;
  }

  // The window whose tap meets this place of the input; -1 if there is none.
  [[nodiscard]] std::int64_t window_at(std::int64_t place, std::int64_t tap) const {
    const std::int64_t from = place + pad_begin - tap * dilation;
    return from >= 0 && from % stride == 0 && from / stride < out ? from / stride : -1;
  }
};

// Always three; missing ones stand in front, with size 1.
using WindowAxes = std::array<WindowAxis, 3>;
using Place3 = std::array<std::int64_t, 3>;

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
