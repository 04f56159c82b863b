// Computation: work that oneDNN does on fixed shapes, behind a type that names no oneDNN type.
#pragma once

#include <cstddef>
#include <span>

#include "lowtide/bytes.h"

namespace lowtide::kernels {

// Prepared once for its shapes, instruction set and thread count, then run any number of times on
// other memory, by one thread at a time. Everything large it needs lies in `scratch`.
class Computation {
 public:
  Computation() = default;
  virtual ~Computation() = default;
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;
  Computation(Computation&&) = delete;
  Computation& operator=(Computation&&) = delete;

  [[nodiscard]] virtual Bytes scratch() const = 0;
  virtual void run(std::span<const std::byte* const> in,
                   std::byte* out,
                   std::byte* scratch) const = 0;
};

}  // namespace lowtide::kernels
