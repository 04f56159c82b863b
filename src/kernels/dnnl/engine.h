// The one oneDNN engine and stream of the process, behind functions that name no oneDNN type.
#pragma once

#include <cstdint>
#include <string>

#include "core/machine.h"

namespace lowtide::kernels {

// Sets oneDNN's instruction-set limit. Has an effect only before oneDNN made its first primitive.
void dnnl_hold_to_isa(core::Isa isa);

// Primitives that oneDNN keeps, so that layers of equal shape share their generated code.
inline constexpr int kCachedPrimitives = 64;

// Of the library that is loaded: "3.2.0".
std::string dnnl_version();

// How many primitives there are of the kinds that differ in what oneDNN keeps for them outside the
// memory it is given to work in: generated code, descriptors.
struct PrimitiveCounts {
  std::int64_t products = 0;  // of matrices
  std::int64_t lowered = 0;   // convolutions by way of general matrix products
  std::int64_t others = 0;

  PrimitiveCounts& operator+=(const PrimitiveCounts& other);
  PrimitiveCounts& operator-=(const PrimitiveCounts& other);
};

// Of all computations that exist now. Equal primitives share their code, but count one by one.
PrimitiveCounts primitive_counts();

// Drops what oneDNN keeps of kernels that nobody holds any more.
void forget_unused();

}  // namespace lowtide::kernels
