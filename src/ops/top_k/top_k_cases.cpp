#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/top_k/top_k.h"

namespace lowtide::ops {

std::vector<OpCase> top_k_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, CaseInput x, std::int64_t axis, std::int64_t k) {
    for (const bool smallest : {false, true}) {
      cases.push_back({.name = "top_k/" + name + (smallest ? "_smallest" : ""),
                       .inputs = {x},
                       .build = [=](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                         const TopKValues best =
                             top_k(b, in[0], axis, {.k = k, .smallest = smallest});
                         return std::vector<graph::ValueId>{best.values, best.indices};
                       }});
    }
  };
  add("rows", {.shape = {5, 17}, .apart = 0.01}, -1, 4);
  add("one", {.shape = {3, 9}, .apart = 0.01}, 1, 1);
  add("all", {.shape = {3, 9}, .apart = 0.01}, 1, 9);
  add("none", {.shape = {3, 9}}, 1, 0);
  add("no_rows", {.shape = {0, 9}}, 1, 2);
  add("first_axis", {.shape = {7, 4}, .apart = 0.01}, 0, 3);
  add("channels", {.shape = {2, 6, 3, 2}, .apart = 0.01}, 1, 2);
  add("over_the_grain", {.shape = {30, 700}, .apart = 0.01}, 1, 5);
  add("ties", {.shape = {4, 19}, .low = -3, .high = 3, .dtype = core::DType::kInt32}, 1, 7);
  return cases;
}

}  // namespace lowtide::ops
