// Reading the one-element inputs that change from step to step: normalisers, rates, factors.
#pragma once

#include <cstdint>

#include "graph/kernel.h"

namespace lowtide::ops {

// An element of a float32 or float64 input.
inline double real_input(const graph::Signature& types,
                         const graph::Run& run,
                         std::size_t input,
                         std::int64_t element = 0) {
  return core::visit_float(types.in[input].dtype, [&](auto tag) {
    return static_cast<double>(run.input<typename decltype(tag)::type>(input)[element]);
  });
}

inline bool is_real_scalar(const core::TensorType& type) {
  return core::is_float(type.dtype) && type.shape.elements() == 1;
}

}  // namespace lowtide::ops
