#include "kernels/dnnl/engine.h"

#include <oneapi/dnnl/dnnl.h>

#include "core/text.h"

namespace lowtide::kernels {

void dnnl_hold_to_isa(core::Isa isa) {
  switch (isa) {
    case core::Isa::kReference: dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41); break;
    case core::Isa::kAvx2: dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2); break;
    case core::Isa::kAvx512: dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core); break;
    case core::Isa::kNative: break;
  }
}

PrimitiveCounts& PrimitiveCounts::operator+=(const PrimitiveCounts& other) {
  products += other.products;
  lowered += other.lowered;
  others += other.others;
  return *this;
}

PrimitiveCounts& PrimitiveCounts::operator-=(const PrimitiveCounts& other) {
  products -= other.products;
  lowered -= other.lowered;
  others -= other.others;
  return *this;
}

std::string dnnl_version() {
  const dnnl_version_t& version = *::dnnl_version();
  return core::text("{}.{}.{}", version.major, version.minor, version.patch);
}

void forget_unused() {
  dnnl_set_primitive_cache_capacity(0);
  dnnl_set_primitive_cache_capacity(kCachedPrimitives);
}

}  // namespace lowtide::kernels
