#include "kernels/simd/target.h"

#include <hwy/targets.h>

#include "core/text.h"
#include "kernels/dnnl/engine.h"

namespace lowtide::kernels {

void hold_to_isa(core::Isa isa) {
  const core::Isa best = core::best_isa();
  if (isa != core::Isa::kNative && isa > best) {
    throw core::fail(ErrorCode::kUnsupported, "this processor has no {} (its best is {})",
                     core::name(isa), core::name(best));
  }
  hwy::DisableTargets(0);
  if (isa == core::Isa::kAvx2) hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
  if (isa == core::Isa::kReference) hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL | HWY_AVX2);
  hwy::GetChosenTarget().DeInit();
  dnnl_hold_to_isa(isa);
}

}  // namespace lowtide::kernels
