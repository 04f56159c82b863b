#include "ops/cases.h"
#include "ops/trilu/trilu.h"

namespace lowtide::ops {

std::vector<OpCase> trilu_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, CaseInput input, Trilu attributes) {
    cases.push_back(
        {.name = "trilu/" + std::move(name),
         .inputs = {std::move(input)},
         .build = [attributes](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{trilu(b, in[0], attributes)};
         }});
  };
  using enum Triangle;
  add("upper", {.shape = {5, 5}}, {.keep = kUpper});
  add("lower_below", {.shape = {2, 4, 7}}, {.keep = kLower, .diagonal = -1});
  add("upper_above", {.shape = {7, 4}}, {.keep = kUpper, .diagonal = 2});
  add("far_away", {.shape = {3, 3}}, {.keep = kLower, .diagonal = 9});
  add("nothing", {.shape = {0, 3}}, {});
  add("large_bools", {.shape = {300, 300}, .low = 0, .high = 1, .dtype = core::DType::kBool},
      {.keep = kLower});
  return cases;
}

}  // namespace lowtide::ops
