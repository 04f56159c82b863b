// What reference kernels share: walking tensors by logical index, whatever their layout.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor_type.h"

namespace lowtide::ops {

// Splits a tensor around one axis: `outer` products before, `length` along, `inner` after it, in
// the plain layout.
struct AxisSplit {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
};

inline AxisSplit split_at(const core::Shape& shape, std::size_t axis) {
  AxisSplit split;
  for (std::size_t i = 0; i < axis; ++i) split.outer *= shape[i];
  split.length = shape[axis];
  for (std::size_t i = axis + 1; i < shape.rank(); ++i) split.inner *= shape[i];
  return split;
}

// Steps through every logical index of a shape in row-major order: for (Index i(shape); i.valid();
// i.next()) ... i[axis] ... i.offset(strides).
class Index {
 public:
  explicit Index(const core::Shape& shape)
      : dims_(shape.dims()), at_(shape.rank(), 0), valid_(shape.elements() > 0) {}

  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const { return at_[axis]; }

  [[nodiscard]] std::int64_t offset(const std::vector<std::int64_t>& strides) const {
    std::int64_t sum = 0;
    for (std::size_t axis = 0; axis < at_.size(); ++axis) sum += at_[axis] * strides[axis];
    return sum;
  }

  void next() {
    for (std::size_t axis = dims_.size(); axis-- > 0;) {
      if (++at_[axis] < dims_[axis]) return;
      at_[axis] = 0;
    }
    valid_ = false;
  }

 private:
  std::vector<std::int64_t> dims_;
  std::vector<std::int64_t> at_;
  bool valid_;
};

}  // namespace lowtide::ops
