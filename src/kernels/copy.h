// Copies between strided views of equal shape: what transpose, slice, concat, pad, expand and tile
// come down to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lowtide::kernels {

// to[sum i_k * to_stride_k] = from[sum i_k * from_stride_k] for every index i below `dims`,
// prepared once and run any number of times. Strides count elements of 1, 2, 4 or 8 bytes. A
// from-stride may be 0 (repeat) or negative (reverse); no two indices may share a place in `to`.
// The views must not overlap.
class StridedCopy {
 public:
  struct Axis {
    std::int64_t length = 0;
    std::int64_t from = 0;  // strides
    std::int64_t to = 0;
  };

  StridedCopy(std::vector<Axis> axes, std::int64_t element_bytes);

  // `from` and `to` point at the elements of index 0.
  void run(const std::byte* from, std::byte* to) const;

  // Whether the copy is one contiguous stretch on both sides.
  [[nodiscard]] bool contiguous() const;

 private:
  template <class T>
  void run_typed(const T* from, T* to) const;
  template <class T>
  void copy_axis(std::size_t axis, std::int64_t count, const T* from, T* to) const;
  template <class T>
  void copy_tiles(std::int64_t rows, const T* from, T* to) const;

  std::vector<Axis> axes_;  // outermost first, in the order of `to`; none of length 1
  std::int64_t element_bytes_;
  bool tiled_ = false;           // the last two axes are a matrix to be transposed
  std::size_t split_axes_ = 1;   // how many outer axes are shared out between threads
  std::int64_t units_ = 1;       // their product
  std::int64_t unit_bytes_ = 1;  // of what is behind them
};

// Writes `count` copies of the element (1, 2, 4 or 8 bytes) to `to`.
void fill(const std::byte* element, std::int64_t element_bytes, std::byte* to, std::int64_t count);

}  // namespace lowtide::kernels
