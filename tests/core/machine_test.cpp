// Names of instruction sets and what the process may use.
#include "core/machine.h"

#include <gtest/gtest.h>

#include "lowtide/error.h"

namespace lowtide::core {
namespace {

TEST(Machine, IsaNamesReadBack) {
  for (const Isa isa : {Isa::kReference, Isa::kAvx2, Isa::kAvx512, Isa::kNative}) {
    EXPECT_EQ(parse_isa(name(isa)), isa);
  }
}

TEST(Machine, UnknownIsaListsTheChoices) {
  try {
    static_cast<void>(parse_isa("sse9"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_STREQ(error.what(),
                 "'sse9' is not an instruction set; choose native, avx512, avx2 or reference");
  }
}

TEST(Machine, ThereIsAtLeastOneCpuAndAConcreteIsa) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_NE(best_isa(), Isa::kNative);
}

}  // namespace
}  // namespace lowtide::core
