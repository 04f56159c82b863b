#include "kernels/simd/product/weight_gradient.h"

#include <algorithm>
#include <array>

#include "core/parallel.h"
#include "kernels/simd/product/block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/product/weight_gradient.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/norm/normalized_input-inl.h"
#include "kernels/simd/product/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// Tile after tile: `a` holds, for each, `count` times its rows.
void AddTiles(const float* a,
              const float* b,
              std::int64_t count,
              std::int64_t tiles,
              float* acc,
              bool first) {
  for (std::int64_t i = 0; i < tiles; ++i, acc += kTileRows * panel_width()) {
    const Tile t = tile_sums(a + i * tile_stride(count), 1, kTileRows, b, count);
    store_tile(t, acc, panel_width(), !first);
  }
}

// Copies `count` runs of `length` floats, those at `from` `step` apart, those at `to` a panel's
// width apart.
HWY_ATTR void CopyRuns(
    const float* from, std::int64_t step, float* to, std::int64_t count, std::int64_t length) {
  const D d;
  const std::int64_t width = 2 * lanes();
  if (length == width) {
    for (std::int64_t k = 0; k < count; ++k, from += step, to += width) {
      hn::StoreU(hn::LoadU(d, from), d, to);
      hn::StoreU(hn::LoadU(d, from + lanes()), d, to + lanes());
    }
    return;
  }
  for (std::int64_t k = 0; k < count; ++k, from += step, to += width) {
    for (std::int64_t i = 0; i < length; ++i) to[i] = from[i];
  }
}

// The same of what is made of x; the runs begin at `channel`.
HWY_ATTR void NormalizeRuns(const NormalizedInput& normalize,
                            const float* x,
                            const float* from,
                            std::int64_t step,
                            float* to,
                            std::int64_t count,
                            std::int64_t length,
                            std::int64_t channel) {
  const std::int64_t width = 2 * lanes();
  with_normalized(normalize, x, [&](auto value) HWY_ATTR {
    for (std::int64_t k = 0; k < count; ++k) {
      for_each_tag(0, length, [&](auto d, std::int64_t i) HWY_ATTR {
        hn::StoreU(value(d, from + k * step + i, channel + i), d, to + k * width + i);
      });
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(AddTiles);
HWY_EXPORT(CopyRuns);
HWY_EXPORT(NormalizeRuns);

namespace {

constexpr std::int64_t kWindowsTogether = 128;  // of a packed panel: half of a small first cache

// Columns are ordered by kernel place, then by channel, so that those of one row of the kernel lie
// side by side in x. A run is a stretch of them that is contiguous in x for every window.
struct Run {
  Place3 tap = {0, 0, 0};
  std::int64_t shift = 0;  // elements of x after the tap's own place
  std::int64_t length = 0;
};

// Windows of one sample that differ in their last place only.
struct WindowRow {
  std::int64_t sample = 0;
  Place3 first = {0, 0, 0};
  std::int64_t count = 0;
};

// Where windows are and what their columns read.
class Columns {
 public:
  // Of x, or of what `normalize` makes of it.
  Columns(const WeightGradientShape& shape,
          std::int64_t width,
          const float* x,
          const NormalizedInput* normalize)
      : shape_(shape),
        x_(x),
        normalize_(normalize),
        width_(width),
        channels_(shape.groups * shape.in_each) {
    const bool rows_run_on = shape.groups == 1 && shape.axes[2].dilation == 1;
    run_taps_ = rows_run_on ? shape.axes[2].kernel : 1;
  }

  // Packs the columns from `begin` on, a panel's width of them, of group g for the windows
  // [from, to) of the batch; zero where they lie in the padding or past the last column.
  void pack(
      std::int64_t g, std::int64_t begin, std::int64_t from, std::int64_t to, float* panel) const {
    std::array<Run, kWidestPanel> runs;
    const std::size_t count = runs_of(begin, std::min(begin + width_, shape_.columns()), runs);
    std::int64_t filled = 0;
    for (std::size_t i = 0; i < count; ++i) filled += runs[i].length;
    while (from < to) {
      const WindowRow row = row_at(from, to);
      float* at = panel;
      for (std::size_t i = 0; i < count; ++i) {
        pack_run(g * shape_.in_each, row, runs[i], at);
        at += runs[i].length;
      }
      if (filled < width_) fill(at, row.count, width_ - filled);
      from += row.count;
      panel += row.count * width_;
    }
  }

 private:
  std::size_t runs_of(std::int64_t begin,
                      std::int64_t end,
                      std::array<Run, kWidestPanel>& runs) const {
    const std::int64_t longest = run_taps_ * shape_.in_each;
    const std::int64_t kernel1 = shape_.axes[1].kernel;
    const std::int64_t kernel2 = shape_.axes[2].kernel;
    std::size_t count = 0;
    while (begin < end) {
      const std::int64_t number = begin / longest;
      const std::int64_t length = std::min(end, (number + 1) * longest) - begin;
      const std::int64_t place = number * run_taps_;
      runs[count++] = {
          .tap = {place / (kernel1 * kernel2), place / kernel2 % kernel1, place % kernel2},
          .shift = begin - number * longest,
          .length = length};
      begin += length;
    }
    return count;
  }

  [[nodiscard]] WindowRow row_at(std::int64_t k, std::int64_t end) const {
    const std::int64_t out1 = shape_.axes[1].out;
    const std::int64_t out2 = shape_.axes[2].out;
    const std::int64_t rows = k / out2;
    return {.sample = rows / (shape_.axes[0].out * out1),
            .first = {rows / out1 % shape_.axes[0].out, rows % out1, k % out2},
            .count = std::min(out2 - k % out2, end - k)};
  }

  void fill(float* to, std::int64_t count, std::int64_t length) const {
    for (std::int64_t k = 0; k < count; ++k, to += width_) std::fill_n(to, length, 0.0F);
  }

  // Of the group whose channels begin at `group`.
  void pack_run(std::int64_t group, const WindowRow& row, const Run& run, float* to) const {
    const WindowAxes& axes = shape_.axes;
    const std::int64_t at0 = axes[0].position(row.first[0], run.tap[0]);
    const std::int64_t at1 = axes[1].position(row.first[1], run.tap[1]);
    if (!axes[0].inside(at0) || !axes[1].inside(at1)) return fill(to, row.count, run.length);
    const std::int64_t in_row = axes[2].in * channels_;
    const float* const x =
        x_ + ((row.sample * axes[0].in + at0) * axes[1].in + at1) * in_row + group;
    const std::int64_t step = axes[2].stride * channels_;
    const std::int64_t first = axes[2].position(row.first[2], run.tap[2]) * channels_ + run.shift;
    const std::int64_t channel = group + run.shift % shape_.in_each;
    // Windows [whole, end) read the whole run inside the row; those around it stick out.
    const std::int64_t room = in_row - run.length - first;
    const std::int64_t end = room < 0 ? 0 : std::min(room / step + 1, row.count);
    const std::int64_t whole = std::min(first >= 0 ? 0 : (-first + step - 1) / step, end);
    const auto pack_edge = [&](std::int64_t k) {
      const std::int64_t at = first + k * step;
      const std::int64_t begin = std::clamp<std::int64_t>(-at, 0, run.length);
      const std::int64_t stop = std::clamp<std::int64_t>(in_row - at, begin, run.length);
      float* const window = to + k * width_;
      std::fill_n(window, begin, 0.0F);
      copy(x + at + begin, 0, window + begin, 1, stop - begin, channel + begin);
      std::fill(window + stop, window + run.length, 0.0F);
    };
    for (std::int64_t k = 0; k < whole; ++k) pack_edge(k);
    copy(x + first + whole * step, step, to + whole * width_, end - whole, run.length, channel);
    for (std::int64_t k = end; k < row.count; ++k) pack_edge(k);
  }

  // Runs that are inside, the first element being of `channel`.
  void copy(const float* from,
            std::int64_t step,
            float* to,
            std::int64_t count,
            std::int64_t length,
            std::int64_t channel) const {
    if (normalize_ == nullptr) {
      HWY_DYNAMIC_DISPATCH(CopyRuns)(from, step, to, count, length);
    } else {
      HWY_DYNAMIC_DISPATCH(NormalizeRuns)
      (*normalize_, x_, from, step, to, count, length, channel);
    }
  }

  const WeightGradientShape& shape_;
  const float* x_;
  const NormalizedInput* normalize_;  // or null
  std::int64_t width_;                // of a panel
  std::int64_t channels_;             // of x
  std::int64_t run_taps_;  // kernel places along the last axis that lie side by side in x
};

// How the result is cut into panels of columns, and the panels into parts for threads.
struct Panels {
  std::int64_t width;
  std::int64_t count;
  std::int64_t tiles;  // of rows, in a panel

  explicit Panels(const WeightGradientShape& shape)
      : width(packed_panel_width()),
        count((shape.columns() + width - 1) / width),
        tiles((shape.out_each + kTileRows - 1) / kTileRows) {}

  [[nodiscard]] std::int64_t tile_floats() const { return width * kTileRows; }
  // Scratch of one thread: a packed panel of x and all packed rows of dy.
  [[nodiscard]] std::int64_t packed_floats() const {
    return kWindowsTogether * width + tiles * tile_stride(kWindowsTogether);
  }
};

std::int64_t windows_of(const WeightGradientShape& shape) {
  return shape.samples * shape.axes[0].out * shape.axes[1].out * shape.axes[2].out;
}

// What one thread sums: some panels of one group, and some of the tiles in each.
struct Part {
  std::int64_t g = 0;
  std::int64_t panel = 0;
  std::int64_t panels_end = 0;
  std::int64_t tile = 0;
  std::int64_t tiles_end = 0;
};

// Sums over all windows into the accumulators, which hold panel after panel of tiles.
void sum_windows(const WeightGradientShape& shape,
                 const Columns& columns,
                 const float* dy,
                 const Part& part,
                 float* packed,
                 float* accumulators) {
  const Panels panels(shape);
  const std::int64_t stride = shape.groups * shape.out_each;
  const std::int64_t row = part.tile * kTileRows;
  const std::int64_t rows_end = std::min(part.tiles_end * kTileRows, shape.out_each);
  float* const packed_rows = packed + kWindowsTogether * panels.width;
  const std::int64_t all = windows_of(shape);
  for (std::int64_t from = 0; from < all; from += kWindowsTogether) {
    const std::int64_t count = std::min(kWindowsTogether, all - from);
    pack_tiles(dy + from * stride + part.g * shape.out_each + row, stride, count, rows_end - row,
               packed_rows);
    for (std::int64_t panel = part.panel; panel < part.panels_end; ++panel) {
      columns.pack(part.g, panel * panels.width, from, from + count, packed);
      HWY_DYNAMIC_DISPATCH(AddTiles)
      (packed_rows, packed, count, part.tiles_end - part.tile,
       accumulators + (panel * panels.tiles + part.tile) * panels.tile_floats(), from == 0);
    }
  }
}

// From panels to the order of dw, for the rows [begin, end) of a group.
void unpack(const WeightGradientShape& shape,
            const float* accumulators,
            std::int64_t begin,
            std::int64_t end,
            float* dw) {
  const Panels panels(shape);
  const std::int64_t width = panels.width;
  const std::int64_t panel_floats = panels.tiles * panels.tile_floats();
  const std::int64_t places = shape.columns() / shape.in_each;
  for (std::int64_t o = begin; o < end; ++o) {
    float* const row = dw + o * shape.columns();
    std::int64_t place = 0;
    std::int64_t channel = 0;
    for (std::int64_t panel = 0; panel < panels.count; ++panel) {
      const float* const sums = accumulators + panel * panel_floats + o * width;
      const std::int64_t filled = std::min(width, shape.columns() - panel * width);
      if (places == 1) {
        std::copy_n(sums, filled, row + panel * width);
        continue;
      }
      for (std::int64_t i = 0; i < filled; ++i) {
        row[channel * places + place] = sums[i];
        if (++channel == shape.in_each) {
          channel = 0;
          ++place;
        }
      }
    }
  }
}

// Threads share the panels of a group where there are enough for all to get as many, else its
// tiles.
Part part_of(const WeightGradientShape& shape, std::int64_t g, std::int64_t i, std::int64_t parts) {
  const Panels panels(shape);
  Part part{.g = g, .panels_end = panels.count, .tiles_end = panels.tiles};
  if (shape.columns() >= shape.out_each) {
    part.panel = panels.count * i / parts;
    part.panels_end = panels.count * (i + 1) / parts;
  } else {
    part.tile = panels.tiles * i / parts;
    part.tiles_end = panels.tiles * (i + 1) / parts;
  }
  return part;
}

}  // namespace

bool suits_tiles(const WeightGradientShape& shape) {
  constexpr std::int64_t kFewestRows = 32;
  constexpr std::int64_t kFewestColumns = 64;
  constexpr std::int64_t kLargeSide = 128;
  const bool single_pixels =
      std::all_of(shape.axes.begin(), shape.axes.end(),
                  [](const WindowAxis& axis) { return axis.kernel == 1 && axis.stride == 1; });
  if (single_pixels) return std::min(shape.out_each, shape.in_each) >= kLargeSide;
  return shape.out_each >= kFewestRows && shape.columns() >= kFewestColumns;
}

std::int64_t weight_gradient_scratch(const WeightGradientShape& shape) {
  const Panels panels(shape);
  return panels.count * panels.tiles * panels.tile_floats() +
         core::parallel_parts() * panels.packed_floats();
}

void weight_gradient(const WeightGradientShape& shape,
                     const float* x,
                     const float* dy,
                     float* dw,
                     float* scratch,
                     const NormalizedInput* normalize) {
  const Columns columns(shape, packed_panel_width(), x, normalize);
  const std::int64_t parts = core::parallel_parts();
  const std::int64_t packed = Panels(shape).packed_floats();
  float* const accumulators = scratch + parts * packed;
  for (std::int64_t g = 0; g < shape.groups; ++g) {
    core::parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        sum_windows(shape, columns, dy, part_of(shape, g, i, parts), scratch + i * packed,
                    accumulators);
      }
    });
    float* const dw_of_group = dw + g * shape.out_each * shape.columns();
    core::parallel_for(shape.out_each, 1 + 16384 / shape.columns(),
                       [&](std::int64_t begin, std::int64_t end) {
                         unpack(shape, accumulators, begin, end, dw_of_group);
                       });
  }
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
