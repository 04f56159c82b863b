#include "kernels/dnnl/engine.h"

#include <oneapi/dnnl/dnnl.h>

namespace lowtide::kernels {

void dnnl_hold_to_isa(core::Isa isa) {
  switch (isa) {
    case core::Isa::kReference: dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41); break;
    case core::Isa::kAvx2: dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2); break;
    case core::Isa::kAvx512: dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core); break;
    case core::Isa::kNative: break;
  }
}

void forget_unused() {
  dnnl_set_primitive_cache_capacity(0);
  dnnl_set_primitive_cache_capacity(kCachedPrimitives);
}

}  // namespace lowtide::kernels
