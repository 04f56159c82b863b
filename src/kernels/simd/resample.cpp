#include "kernels/simd/resample.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/resample.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// The rows that one row of the result is made of, summed up a handful at a time.
class RowSum {
 public:
  RowSum(const float* x, float* y, std::int64_t row) : x_(x), y_(y), row_(row) {}

  void add(std::int64_t offset, double weight) {
    if (count_ == kMost) flush();
    rows_[count_] = x_ + offset;
    weights_[count_] = static_cast<float>(weight);
    ++count_;
  }

  void finish(float empty) {
    if (count_ > 0) {
      flush();
    } else if (fresh_) {
      std::fill_n(y_, row_, empty);
    }
  }

 private:
  static constexpr std::size_t kMost = 16;

  void flush() {
    if (fresh_ && count_ == 1 && weights_[0] == 1.0F) {
      std::copy_n(rows_[0], row_, y_);
    } else {
      for_each_tag(0, row_, [this](auto d, std::int64_t i) HWY_ATTR {
        auto sum = fresh_ ? hn::Zero(d) : hn::LoadU(d, y_ + i);
        for (std::size_t k = 0; k < count_; ++k) {
          sum = hn::MulAdd(hn::Set(d, weights_[k]), hn::LoadU(d, rows_[k] + i), sum);
        }
        hn::StoreU(sum, d, y_ + i);
      });
    }
    fresh_ = false;
    count_ = 0;
  }

  const float* x_;
  float* y_;
  std::int64_t row_;
  bool fresh_ = true;
  std::size_t count_ = 0;
  std::array<const float*, kMost> rows_;
  std::array<float, kMost> weights_;
};

// Adds the rows behind place `unit` of all axes; axes are counted from the innermost.
void AddTaps(RowSum& sum,
             std::span<const ResampleAxis> axes,
             std::int64_t unit,
             std::int64_t offset,
             double weight) {
  if (axes.empty()) {
    sum.add(offset, weight);
    return;
  }
  const ResampleAxis& axis = axes.back();
  const std::span<const ResampleAxis> rest = axes.first(axes.size() - 1);
  const std::int64_t place = unit % axis.length;
  const std::int64_t left = unit / axis.length;
  if (axis.first == nullptr) {
    AddTaps(sum, rest, left, offset + place * axis.stride, weight);
    return;
  }
  for (std::int64_t k = axis.first[place]; k < axis.first[place + 1]; ++k) {
    AddTaps(sum, rest, left, offset + axis.offset[k], weight * axis.weight[k]);
  }
}

void RunResample(std::span<const ResampleAxis> axes,
                 std::int64_t row,
                 float empty,
                 const float* x,
                 float* y,
                 std::int64_t begin,
                 std::int64_t end) {
  for (std::int64_t unit = begin; unit < end; ++unit) {
    RowSum sum(x, y + unit * row, row);
    AddTaps(sum, axes, unit, 0, 1.0);
    sum.finish(empty);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(RunResample);

void resample(
    std::span<const ResampleAxis> axes, std::int64_t row, float empty, const float* x, float* y) {
  constexpr std::int64_t kElementsPerThread = 16384;
  std::int64_t units = 1;
  for (const ResampleAxis& axis : axes) units *= axis.length;
  if (row == 0) return;
  core::parallel_for(units, kElementsPerThread / row + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       HWY_DYNAMIC_DISPATCH(RunResample)(axes, row, empty, x, y, begin, end);
                     });
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
