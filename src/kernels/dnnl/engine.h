// The one oneDNN engine and stream of the process, behind functions that name no oneDNN type.
#pragma once

#include <string>

#include "core/machine.h"

namespace lowtide::kernels {

// Sets oneDNN's instruction-set limit. Has an effect only before oneDNN made its first primitive.
void dnnl_hold_to_isa(core::Isa isa);

// Primitives that oneDNN keeps, so that layers of equal shape share their generated code.
inline constexpr int kCachedPrimitives = 64;

// Of the library that is loaded: "3.2.0".
std::string dnnl_version();

// Drops what oneDNN keeps of kernels that nobody holds any more.
void forget_unused();

}  // namespace lowtide::kernels
