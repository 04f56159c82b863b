// WindowAxis: how windows slide along one spatial axis, for convolution and pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lowtide::kernels {

// A tap is one place of a window; it meets the input at `position`, or padding outside [0, in).
struct WindowAxis {
  std::int64_t in = 1;   // size of the input
  std::int64_t out = 1;  // number of windows
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;

  [[nodiscard]] std::int64_t position(std::int64_t window, std::int64_t tap) const {
    return window * stride - pad_begin + tap * dilation;
  }

  [[nodiscard]] bool inside(std::int64_t position) const { return position >= 0 && position < in; }

  // How many taps of a window lie before a position.
  [[nodiscard]] std::int64_t taps_before(std::int64_t window, std::int64_t end) const {
    const std::int64_t room = end - position(window, 0);
    return room <= 0 ? 0 : std::min((room + dilation - 1) / dilation, kernel);
  }

  // The taps of a window that meet the input are [first_tap, end_tap).
  [[nodiscard]] std::int64_t first_tap(std::int64_t window) const { return taps_before(window, 0); }
  [[nodiscard]] std::int64_t end_tap(std::int64_t window) const { return taps_before(window, in); }

  // Taps that meet the input or its padding: all but those that rounding up lets stick out.
  [[nodiscard]] std::int64_t taps_in_padded(std::int64_t window) const {
    return taps_before(window, in + pad_end);
  }

  // The window whose given tap meets this place of the input; -1 if there is none.
  [[nodiscard]] std::int64_t window_at(std::int64_t place, std::int64_t tap) const {
    const std::int64_t from = place + pad_begin - tap * dilation;
    return from >= 0 && from % stride == 0 && from / stride < out ? from / stride : -1;
  }

  // Calls f(window, tap) for every window that meets this place of the input, in order.
  template <class F>
  void for_each_window(std::int64_t place, F&& f) const {
    const std::int64_t reach = place + pad_begin;
    if (reach < 0) return;
    const std::int64_t last = std::min(reach / stride, out - 1);
    const std::int64_t beyond = reach - (kernel - 1) * dilation;
    const std::int64_t first = beyond <= 0 ? 0 : (beyond + stride - 1) / stride;
    for (std::int64_t window = first; window <= last; ++window) {
      const std::int64_t from = reach - window * stride;
      if (dilation == 1) {
        f(window, from);
      } else if (from % dilation == 0) {
        f(window, from / dilation);
      }
    }
  }
};

// Always three; missing ones stand in front, with size 1.
using WindowAxes = std::array<WindowAxis, 3>;
using Place3 = std::array<std::int64_t, 3>;

}  // namespace lowtide::kernels
