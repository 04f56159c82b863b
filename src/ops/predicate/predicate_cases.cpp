#include "ops/binary/binary.h"
#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/predicate/predicate.h"

namespace lowtide::ops {

using graph::GraphBuilder;
using graph::ValueId;

std::vector<OpCase> predicate_cases() {
  using Inputs = std::vector<ValueId>;
  return {
      {.name = "predicate/not",
       .inputs = {{.shape = {3, 17}, .low = 0, .high = 1, .dtype = core::DType::kBool}},
       .build = [](GraphBuilder& b, const Inputs& in) { return Inputs{logical_not(b, in[0])}; }},
      // 0 / 0 is NaN, and anything else over 0 is infinite.
      {.name = "predicate/is_nan",
       .inputs = {{.shape = {3, 2, 5}, .differentiable = false}},
       .build =
           [](GraphBuilder& b, const Inputs& in) {
             const ValueId zero = sub(b, in[0], in[0]);
             return Inputs{is_nan(b, to_channels_last(b, div(b, zero, zero)))};
           }},
      {.name = "predicate/is_inf",
       .inputs = {{.shape = {19}, .differentiable = false}},
       .build =
           [](GraphBuilder& b, const Inputs& in) {
             return Inputs{is_inf(b, div(b, in[0], sub(b, in[0], in[0])))};
           }},
  };
}

}  // namespace lowtide::ops
