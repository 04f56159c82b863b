// Kernels as plan and run see them: scratch is booked when planning and granted when running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/machine.h"
#include "core/tensor_type.h"

namespace lowtide::graph {

using core::TensorType;
using Types = std::span<const TensorType>;

// The types of one node's inputs and outputs.
struct Signature {
  Types in;
  Types out;
};

// What changes from step to step and is not a tensor: the place in the random stream.
struct StepContext {
  std::uint64_t seed = 0;
  std::int64_t step = 0;          // optimizer steps done so far
  std::int64_t first_sample = 0;  // index within the whole batch of this micro-batch's first sample
};

// The memory of one execution. Pointers go into the arena, aligned to 64 bytes; an output may
// share storage with an input only where the op's card says so. Kernels never allocate.
struct Run {
  std::span<const std::byte* const> in;
  std::span<std::byte* const> out;
  std::span<std::byte> scratch;
  const StepContext* step = nullptr;

  template <class T>
  [[nodiscard]] const T* input(std::size_t i) const {
    return reinterpret_cast<const T*>(in[i]);
  }

  template <class T>
  [[nodiscard]] T* output(std::size_t i) const {
    return reinterpret_cast<T*>(out[i]);
  }
};

// A kernel made for one node's attributes, types and machine. Immutable: `run` may be called any
// number of times on different memory and gives the same bits for the same inputs.
class BoundKernel {
 public:
  BoundKernel() = default;
  virtual ~BoundKernel() = default;
  BoundKernel(const BoundKernel&) = delete;
  BoundKernel& operator=(const BoundKernel&) = delete;
  BoundKernel(BoundKernel&&) = delete;
  BoundKernel& operator=(BoundKernel&&) = delete;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Bytes scratch() const = 0;
  virtual void run(const Run& run) const = 0;
};

}  // namespace lowtide::graph
