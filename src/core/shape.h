// Shape: the logical dimensions of a tensor, outermost first, as ONNX means them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace lowtide::core {

// Non-negative dimensions whose product fits in int64 (checked on construction: throws
// Error(kInvalidArgument)). Rank 0 is a scalar of one element; a zero dimension means no elements.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);
  explicit Shape(std::vector<std::int64_t> dims);

  [[nodiscard]] std::size_t rank() const { return dims_.size(); }
  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
  [[nodiscard]] const std::vector<std::int64_t>& dims() const { return dims_; }

  // The same shape with one dimension replaced.
  [[nodiscard]] Shape with(std::size_t axis, std::int64_t dim) const;

  bool operator==(const Shape& other) const { return dims_ == other.dims_; }

  [[nodiscard]] std::string str() const;  // "[2, 3, 8, 8]"

 private:
  std::vector<std::int64_t> dims_;
  std::int64_t elements_ = 1;
};

// The axis counted from the front: negative ones count from the back, as in ONNX.
// Throws Error(kInvalidArgument) outside [-rank, rank).
std::size_t normalized_axis(std::int64_t axis, std::size_t rank);

// The numpy (= ONNX) broadcast of two shapes; throws Error(kInvalidArgument) naming both.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace lowtide::core
