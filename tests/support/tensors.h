// Tensors in memory, as graph tests write and read them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/random.h"
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

// float32 between `low` and `high`, the same for a seed.
inline graph::ConstantTensor random_tensor(const core::TensorType& type,
                                           std::uint64_t seed,
                                           float low,
                                           float high) {
  core::RandomStream random(seed, 3);
  auto bytes =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(type.bytes().count()));
  auto* const numbers = reinterpret_cast<float*>(bytes->data());
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    numbers[i] = low + (high - low) * static_cast<float>(random.uniform());
  }
  return {type, std::move(bytes)};
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
