#include "ops/pool/pool_kernels.h"

#include <cmath>
#include <limits>

#include "core/parallel.h"
#include "ops/window.h"

namespace lowtide::ops {
namespace {

using core::TensorType;

// What the loops walk over: x (or dx) and y (or dy, or the index).
struct Walk {
  WindowAxes axes;
  SpatialStrides x;
  SpatialStrides y;
  std::int64_t samples = 0;
  std::int64_t channels = 0;

  Walk(const Pool& a, const TensorType& x_type, const TensorType& y_type)
      : axes(window_axes(window_of(a), x_type.shape, y_type.shape)),
        x(spatial_strides(x_type)),
        y(spatial_strides(y_type)),
        samples(x_type.shape[0]),
        channels(x_type.shape[1]) {}

  // Calls f(number of the plane, where it begins in x, and in y) for each sample and channel.
  template <class F>
  void for_each_plane(F&& f) const {
    core::parallel_for(samples * channels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t n = i / channels;
        const std::int64_t c = i % channels;
        f(i, n * x.sample + c * x.channel, n * y.sample + c * y.channel);
      }
    });
  }

  [[nodiscard]] std::int64_t number(const Place3& tap) const {
    return (tap[0] * axes[1].kernel + tap[1]) * axes[2].kernel + tap[2];
  }
};

template <class T>
struct Maximum {
  T value = -std::numeric_limits<T>::infinity();
  std::int64_t tap = -1;
  Place3 place = {0, 0, 0};
};

// x points to the plane's first element.
template <class T>
Maximum<T> maximum(const Walk& at, const T* x, const Place3& window) {
  Maximum<T> best;
  for_each_tap(at.axes, window, [&](const Place3& tap, const Place3& place) {
    const T v = x[at.x.at(place)];
    if (best.tap < 0 || v > best.value || std::isnan(v)) best = {v, at.number(tap), place};
  });
  return best;
}

double divisor(const Walk& at, const Place3& window, bool count_padding) {
  std::int64_t taps = 0;
  for_each_place(kernel_sizes(at.axes), [&](const Place3& tap) {
    bool counts = true;
    for (std::size_t k = 0; k < 3; ++k) {
      const WindowAxis& axis = at.axes[k];
      const std::int64_t position = axis.position(window[k], tap[k]);
      counts &= count_padding ? position < axis.in + axis.pad_end : axis.inside(position);
    }
    taps += counts ? 1 : 0;
  });
  return taps == 0 ? 1.0 : static_cast<double>(taps);
}

}  // namespace

void run_max_pool_reference(const Pool& a, const graph::Signature& types, const graph::Run& run) {
  const Walk at(a, types.in[0], types.out[0]);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    at.for_each_plane([&](std::int64_t, std::int64_t x, std::int64_t y) {
      for_each_place(out_sizes(at.axes), [&](const Place3& window) {
        run.output<T>(0)[y + at.y.at(window)] = maximum(at, run.input<T>(0) + x, window).value;
      });
    });
  });
}

void run_max_pool_index_reference(const Pool& a,
                                  const graph::Signature& types,
                                  const graph::Run& run) {
  const Walk at(a, types.in[0], types.out[0]);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    core::visit(types.out[0].dtype, [&](auto index_tag) {
      using Index = typename decltype(index_tag)::type;
      at.for_each_plane([&](std::int64_t, std::int64_t x, std::int64_t y) {
        for_each_place(out_sizes(at.axes), [&](const Place3& window) {
          const std::int64_t tap = maximum(at, run.input<T>(0) + x, window).tap;
          run.output<Index>(0)[y + at.y.at(window)] =
              static_cast<Index>(std::max<std::int64_t>(tap, 0));
        });
      });
    });
  });
}

void run_max_pool_places(const PoolPlaces& a,
                         const graph::Signature& types,
                         const graph::Run& run) {
  const Walk at(a.pool, types.in[0], types.out[0]);
  const Place3 sizes = in_sizes(at.axes);
  const std::int64_t plane = sizes[0] * sizes[1] * sizes[2];
  const auto number = [&](const Place3& place) {
    return a.column_major ? place[0] + sizes[0] * (place[1] + sizes[1] * place[2])
                          : (place[0] * sizes[1] + place[1]) * sizes[2] + place[2];
  };
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    at.for_each_plane([&](std::int64_t i, std::int64_t x, std::int64_t y) {
      for_each_place(out_sizes(at.axes), [&](const Place3& window) {
        const Place3 place = maximum(at, run.input<T>(0) + x, window).place;
        run.output<std::int64_t>(0)[y + at.y.at(window)] = i * plane + number(place);
      });
    });
  });
}

void run_max_pool_gradient_reference(const PoolGradient& a,
                                     const graph::Signature& types,
                                     const graph::Run& run) {
  const Walk at(a.pool, types.out[0], types.in[1]);
  core::visit_float(types.out[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    core::visit(types.in[0].dtype, [&](auto index_tag) {
      using Index = typename decltype(index_tag)::type;
      at.for_each_plane([&](std::int64_t, std::int64_t x, std::int64_t y) {
        for_each_place(in_sizes(at.axes), [&](const Place3& place) {
          double sum = 0;
          for_each_window(at.axes, place, [&](const Place3& tap, const Place3& window) {
            const std::int64_t from = y + at.y.at(window);
            if (static_cast<std::int64_t>(run.input<Index>(0)[from]) == at.number(tap)) {
              sum += double(run.input<T>(1)[from]);
            }
          });
          run.output<T>(0)[x + at.x.at(place)] = static_cast<T>(sum);
        });
      });
    });
  });
}

void run_average_pool_reference(const Pool& a,
                                const graph::Signature& types,
                                const graph::Run& run) {
  const Walk at(a, types.in[0], types.out[0]);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    at.for_each_plane([&](std::int64_t, std::int64_t x, std::int64_t y) {
      for_each_place(out_sizes(at.axes), [&](const Place3& window) {
        double sum = 0;
        for_each_tap(at.axes, window, [&](const Place3&, const Place3& place) {
          sum += double(run.input<T>(0)[x + at.x.at(place)]);
        });
        run.output<T>(0)[y + at.y.at(window)] =
            static_cast<T>(sum / divisor(at, window, a.count_padding));
      });
    });
  });
}

void run_average_pool_gradient_reference(const PoolGradient& a,
                                         const graph::Signature& types,
                                         const graph::Run& run) {
  const Walk at(a.pool, types.out[0], types.in[0]);
  core::visit_float(types.out[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    at.for_each_plane([&](std::int64_t, std::int64_t x, std::int64_t y) {
      for_each_place(in_sizes(at.axes), [&](const Place3& place) {
        double sum = 0;
        for_each_window(at.axes, place, [&](const Place3&, const Place3& window) {
          sum += double(run.input<T>(0)[y + at.y.at(window)]) /
                 divisor(at, window, a.pool.count_padding);
        });
        run.output<T>(0)[x + at.x.at(place)] = static_cast<T>(sum);
      });
    });
  });
}

}  // namespace lowtide::ops
