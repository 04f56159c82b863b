#include "ops/window.h"

#include <algorithm>

#include "core/text.h"

namespace lowtide::ops {
namespace {

using core::fail;

std::int64_t extent(const Window& window, std::size_t axis) {
  return (window.kernel[axis] - 1) * window.dilations[axis] + 1;
}

void check(const Window& window, const core::Shape& x) {
  const std::size_t axes = window.kernel.size();
  if (axes < 1 || axes > 3 || x.rank() != axes + 2) {
    throw fail(ErrorCode::kInvalidArgument, "windows of {} axes do not slide over {}", axes,
               x.str());
  }
  if (window.strides.size() != axes || window.dilations.size() != axes ||
      window.pads_begin.size() != axes || window.pads_end.size() != axes) {
    throw fail(ErrorCode::kInvalidArgument,
               "strides, dilations and pads need one entry for each of {} axes", axes);
  }
  const auto positive = [](std::int64_t size) { return size >= 1; };
  if (!std::all_of(window.kernel.begin(), window.kernel.end(), positive) ||
      !std::all_of(window.strides.begin(), window.strides.end(), positive) ||
      !std::all_of(window.dilations.begin(), window.dilations.end(), positive)) {
    throw fail(ErrorCode::kInvalidArgument,
               "kernel sizes {}, strides {} and dilations {} must be at least 1", window.kernel,
               window.strides, window.dilations);
  }
}

}  // namespace

std::vector<std::int64_t> window_counts(const Window& window,
                                        const core::Shape& x,
                                        Rounding rounding) {
  check(window, x);
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const std::int64_t stride = window.strides[i];
    const std::int64_t padded = x[i + 2] + window.pads_begin[i] + window.pads_end[i];
    const std::int64_t room = padded - extent(window, i);
    const std::int64_t up = rounding == Rounding::kUp ? stride - 1 : 0;
    if (room + up < 0) {
      throw fail(ErrorCode::kInvalidArgument,
                 "a window of extent {} does not fit axis {} of {} with padding {} and {}",
                 extent(window, i), i + 2, x.str(), window.pads_begin[i], window.pads_end[i]);
    }
    std::int64_t count = (room + up) / stride + 1;
    if (rounding == Rounding::kUp && (count - 1) * stride >= x[i + 2] + window.pads_begin[i]) {
      --count;
    }
    counts.push_back(count);
  }
  return counts;
}

Padding read_padding(const graph::OnnxNode& node, const Window& window, const core::Shape& x) {
  check(window, x);
  const std::size_t axes = window.kernel.size();
  Padding padding{std::vector<std::int64_t>(axes, 0), std::vector<std::int64_t>(axes, 0)};
  const std::string mode = node.string("auto_pad", "NOTSET");
  if (mode == "VALID") return padding;
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t size = x[i + 2];
      const std::int64_t stride = window.strides[i];
      const std::int64_t count = (size + stride - 1) / stride;
      const std::int64_t total =
          std::max<std::int64_t>((count - 1) * stride + extent(window, i) - size, 0);
      padding.begin[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      padding.end[i] = total - padding.begin[i];
    }
    return padding;
  }
  if (mode != "NOTSET") {
    throw fail(ErrorCode::kInvalidFile,
               "auto_pad is '{}', not NOTSET, VALID, SAME_UPPER or "
               "SAME_LOWER",
               mode);
  }
  const std::vector<std::int64_t> pads = node.integers("pads");
  if (pads.empty()) return padding;
  if (pads.size() != 2 * axes) {
    throw fail(ErrorCode::kInvalidFile, "pads has {} entries; {} axes need {}", pads.size(), axes,
               2 * axes);
  }
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  std::copy(pads.begin(), middle, padding.begin.begin());
  std::copy(middle, pads.end(), padding.end.begin());
  return padding;
}

std::vector<std::pair<std::string, graph::OnnxAttribute>> window_attributes(const Window& window) {
  const auto list = [](std::span<const std::int64_t> items) {
    return std::vector<std::int64_t>(items.begin(), items.end());
  };
  std::vector<std::int64_t> pads = list(window.pads_begin);
  pads.insert(pads.end(), window.pads_end.begin(), window.pads_end.end());
  return {{"kernel_shape", list(window.kernel)},
          {"strides", list(window.strides)},
          {"dilations", list(window.dilations)},
          {"pads", std::move(pads)}};
}

WindowAxes window_axes(const Window& window, const core::Shape& x, const core::Shape& y) {
  WindowAxes axes;
  const std::size_t count = window.kernel.size();
  for (std::size_t i = 0; i < count; ++i) {
    axes[3 - count + i] = {.in = x[i + 2],
                           .out = y[i + 2],
                           .kernel = window.kernel[i],
                           .stride = window.strides[i],
                           .dilation = window.dilations[i],
                           .pad_begin = window.pads_begin[i],
                           .pad_end = window.pads_end[i]};
  }
  return axes;
}

SpatialStrides spatial_strides(const core::TensorType& type) {
  const core::Shape& shape = type.shape;
  const bool last = type.layout == core::Layout::kChannelsLast;
  SpatialStrides strides;
  std::int64_t stride = last ? shape[1] : 1;
  for (std::size_t i = shape.rank(); i-- > 2;) {
    strides.spatial[i + 3 - shape.rank()] = stride;
    stride *= shape[i];
  }
  strides.channel = last ? 1 : stride;
  strides.sample = last ? stride : stride * shape[1];
  return strides;
}

}  // namespace lowtide::ops
