#include <utility>

#include "ops/cases.h"
#include "ops/determinant/determinant.h"

namespace lowtide::ops {

std::vector<OpCase> determinant_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape x) {
    cases.push_back({.name = "det/" + std::move(name),
                     .inputs = {{.shape = std::move(x)}},
                     .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                       return std::vector<graph::ValueId>{determinant(b, in[0])};
                     }});
  };
  add("one", {1, 1});
  add("two", {2, 2});
  add("five", {5, 5});
  add("many", {3, 7, 3, 3});
  add("none", {0, 3, 3});
  return cases;
}

}  // namespace lowtide::ops
