#include "core/tensor_type.h"

#include <algorithm>

#include "core/text.h"

namespace lowtide::core {

std::string TensorType::str() const {
  return text("{}{}{}", name(dtype), shape.str(),
              layout == Layout::kChannelsLast ? " channels-last" : "");
}

std::vector<std::int64_t> physical_dims(const TensorType& type) {
  std::vector<std::int64_t> dims = type.shape.dims();
  if (type.layout == Layout::kChannelsLast)
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

std::vector<std::int64_t> strides(const TensorType& type) {
  const std::vector<std::int64_t> dims = physical_dims(type);
  std::vector<std::int64_t> result(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    result[i] = stride;
    stride *= dims[i];
  }
  if (type.layout == Layout::kChannelsLast)
    std::rotate(result.begin() + 1, result.end() - 1, result.end());
  return result;
}

bool layouts_coincide(const Shape& shape) {
  if (shape.rank() < 3) return true;
  std::int64_t spatial = 1;
  for (std::size_t axis = 2; axis < shape.rank(); ++axis) spatial *= shape[axis];
  return shape[1] == 1 || spatial == 1 || shape.elements() == 0;
}

}  // namespace lowtide::core
