#include "ops/cases.h"
#include "ops/cum_sum/cum_sum.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {

std::vector<OpCase> cum_sum_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, CaseInput x, std::int64_t axis, bool channels_last) {
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        cases.push_back(
            {.name =
                 "cum_sum/" + name + (exclusive ? "_exclusive" : "") + (reverse ? "_reverse" : ""),
             .inputs = {x},
             .build = [=](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
               const graph::ValueId given = channels_last ? to_channels_last(b, in[0]) : in[0];
               return std::vector<graph::ValueId>{cum_sum(b, given, axis, exclusive, reverse)};
             }});
      }
    }
  };
  add("line", {.shape = {19}}, 0, false);
  add("rows", {.shape = {3, 17}}, -1, false);
  add("middle", {.shape = {2, 5, 7}}, 1, false);
  add("one", {.shape = {1, 1}}, 0, false);
  add("empty", {.shape = {3, 0}}, 1, false);
  add("over_the_grain", {.shape = {60, 7, 91}}, 1, false);
  add("images", {.shape = {2, 3, 2, 4}}, 1, true);
  add("int32", {.shape = {4, 5}, .low = -9, .high = 9, .dtype = core::DType::kInt32}, 0, false);
  return cases;
}

}  // namespace lowtide::ops
