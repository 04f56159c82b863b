// TensorType: what a tensor is (dtype, logical shape) and how its elements lie in memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lowtide/bytes.h"

#include "core/dtype.h"
#include "core/shape.h"

namespace lowtide::core {

// The order of elements in memory. Shapes and axes always keep ONNX's meaning (N, C, spatial...).
enum class Layout : std::uint8_t {
  kPlain,         // row-major in the order of the shape
  kChannelsLast,  // axis 1 moved to the end: N, spatial..., C. Only for rank >= 3
};

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;
  Layout layout = Layout::kPlain;

  bool operator==(const TensorType&) const = default;

  [[nodiscard]] Bytes bytes() const { return shape.elements() * element_bytes(dtype); }
  [[nodiscard]] std::string str() const;  // "float32[2, 3, 8, 8] channels-last"
};

// Dimensions in memory order (channels-last moves axis 1 to the end).
std::vector<std::int64_t> physical_dims(const TensorType& type);

// Distance in elements between neighbours along each logical axis.
std::vector<std::int64_t> strides(const TensorType& type);

// True where both layouts of this shape put every element at the same place.
bool layouts_coincide(const Shape& shape);

}  // namespace lowtide::core
