// Tensors in memory, as graph tests write and read them.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "graph/graph.h"

namespace lowtide::support {

template <class T>
graph::ConstantTensor tensor(const core::Shape& shape, const std::vector<T>& elements) {
  const auto* const first = reinterpret_cast<const std::byte*>(elements.data());
  graph::ConstantTensor result;
  result.type.dtype = core::dtype_of<T>();
  result.type.shape = shape;
  result.bytes =
      std::make_shared<const std::vector<std::byte>>(first, first + elements.size() * sizeof(T));
  return result;
}

template <class T>
std::vector<T> elements(const graph::ConstantTensor& tensor) {
  std::vector<T> result(tensor.bytes->size() / sizeof(T));
  std::memcpy(result.data(), tensor.bytes->data(), tensor.bytes->size());
  return result;
}

// A fixed sequence that looks like noise in (-1, 1).
template <class T>
std::vector<T> wave(std::int64_t count, double phase = 0) {
  std::vector<T> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto k = static_cast<double>(i);
    result.push_back(static_cast<T>(std::sin(phase + 1.7 * k + 0.3 * k * k)));
  }
  return result;
}

}  // namespace lowtide::support
