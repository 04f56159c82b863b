// Runs a check under every instruction set this processor has.
#pragma once

#include <gtest/gtest.h>

#include "core/machine.h"
#include "kernels/simd/target.h"

namespace lowtide::kernels {

template <class F>
void on_each_isa(F&& check) {
  for (const core::Isa isa : {core::Isa::kReference, core::Isa::kAvx2, core::Isa::kAvx512}) {
    if (isa > core::best_isa()) continue;
    SCOPED_TRACE(core::name(isa));
    hold_to_isa(isa);
    check();
  }
  hold_to_isa(core::Isa::kNative);
}

}  // namespace lowtide::kernels
