#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/parallel.h"

namespace lowtide::kernels {
namespace {

constexpr std::int64_t kBytesPerThread = 64 * 1024;
constexpr std::int64_t kTile = 16;
// Outer axes are joined until there are this many units to share out.
constexpr std::int64_t kEnoughUnits = 256;

using Axis = StridedCopy::Axis;

// Sorts the axes in the order of `to` and joins neighbours that both sides walk as one.
std::vector<Axis> simplified(std::vector<Axis> axes) {
  std::erase_if(axes, [](const Axis& axis) { return axis.length == 1; });
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.to > b.to; });
  std::vector<Axis> joined;
  for (const Axis& axis : axes) {
    if (!joined.empty() && joined.back().to == axis.length * axis.to &&
        joined.back().from == axis.length * axis.from) {
      joined.back() = {joined.back().length * axis.length, axis.from, axis.to};
    } else {
      joined.push_back(axis);
    }
  }
  if (joined.empty()) joined.push_back({1, 1, 1});
  return joined;
}

template <class F>
void with_element_type(std::int64_t element_bytes, F&& f) {
  switch (element_bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: LT_CHECK(false, "elements have 1, 2, 4 or 8 bytes");
  }
}

template <class T>
void copy_run(const Axis& axis, std::int64_t count, const T* from, T* to) {
  if (axis.to == 1 && axis.from == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  } else if (axis.to == 1 && axis.from == 0) {
    std::fill_n(to, count, *from);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * axis.to] = from[i * axis.from];
  }
}

}  // namespace

StridedCopy::StridedCopy(std::vector<Axis> axes, std::int64_t element_bytes)
    : element_bytes_(element_bytes) {
  const bool empty =
      std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.length == 0; });
  axes_ = empty ? std::vector<Axis>{{0, 1, 1}} : simplified(std::move(axes));
  // Where the source runs along another axis than the target, that axis goes second to last and
  // both are walked in tiles, so that the lines of either side are used up while in cache.
  if (axes_.size() >= 2 && axes_.back().from != 1 && axes_.back().from != 0) {
    const auto along_source = std::find_if(axes_.begin(), axes_.end() - 1,
                                           [](const Axis& axis) { return axis.from == 1; });
    if (along_source != axes_.end() - 1) {
      std::rotate(along_source, along_source + 1, axes_.end() - 1);
      tiled_ = true;
    }
  }
  const std::size_t splittable = axes_.size() - (tiled_ ? 1 : 0);
  units_ = axes_[0].length;
  while (split_axes_ < splittable && units_ < kEnoughUnits) units_ *= axes_[split_axes_++].length;
  unit_bytes_ = element_bytes;
  for (std::size_t i = split_axes_; i < axes_.size(); ++i) unit_bytes_ *= axes_[i].length;
}

bool StridedCopy::contiguous() const {
  return axes_.size() == 1 && axes_[0].from == 1 && axes_[0].to == 1;
}

void StridedCopy::run(const std::byte* from, std::byte* to) const {
  with_element_type(element_bytes_, [&](auto zero) {
    using T = decltype(zero);
    run_typed(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  });
}

// A range of units is walked as stretches along the innermost of the split axes.
template <class T>
void StridedCopy::run_typed(const T* from, T* to) const {
  const std::size_t last = split_axes_ - 1;
  const Axis& inner = axes_[last];
  const auto share = [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t at = begin % inner.length;
      const std::int64_t count = std::min(end - begin, inner.length - at);
      std::int64_t rest = begin / inner.length;
      std::int64_t from_offset = at * inner.from;
      std::int64_t to_offset = at * inner.to;
      for (std::size_t axis = last; axis-- > 0;) {
        from_offset += rest % axes_[axis].length * axes_[axis].from;
        to_offset += rest % axes_[axis].length * axes_[axis].to;
        rest /= axes_[axis].length;
      }
      copy_axis(last, count, from + from_offset, to + to_offset);
      begin += count;
    }
  };
  core::parallel_for(units_, kBytesPerThread / unit_bytes_ + 1, share);
}

template <class T>
void StridedCopy::copy_axis(std::size_t axis, std::int64_t count, const T* from, T* to) const {
  const Axis& here = axes_[axis];
  if (tiled_ && axis + 2 == axes_.size()) return copy_tiles(count, from, to);
  if (axis + 1 == axes_.size()) return copy_run(here, count, from, to);
  for (std::int64_t i = 0; i < count; ++i) {
    copy_axis(axis + 1, axes_[axis + 1].length, from + i * here.from, to + i * here.to);
  }
}

template <class T>
void StridedCopy::copy_tiles(std::int64_t rows, const T* from, T* to) const {
  const Axis& row = axes_[axes_.size() - 2];
  const Axis& column = axes_.back();
  for (std::int64_t r = 0; r < rows; r += kTile) {
    const std::int64_t r_end = std::min(r + kTile, rows);
    for (std::int64_t c = 0; c < column.length; c += kTile) {
      const std::int64_t c_end = std::min(c + kTile, column.length);
      for (std::int64_t i = r; i < r_end; ++i) {
        for (std::int64_t j = c; j < c_end; ++j) {
          to[i * row.to + j * column.to] = from[i * row.from + j * column.from];
        }
      }
    }
  }
}

void fill(const std::byte* element, std::int64_t element_bytes, std::byte* to, std::int64_t count) {
  with_element_type(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    T value = zero;
    std::memcpy(&value, element, sizeof(T));
    T* const first = reinterpret_cast<T*>(to);
    core::parallel_for(count, kBytesPerThread / element_bytes,
                       [&](std::int64_t begin, std::int64_t end) {
                         std::fill(first + begin, first + end, value);
                       });
  });
}

}  // namespace lowtide::kernels
