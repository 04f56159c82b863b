#include "ops/cases.h"
#include "ops/reshape/reshape.h"

namespace lowtide::ops {

std::vector<OpCase> reshape_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape from, Reshape attributes) {
    cases.push_back(
        {.name = "reshape/" + std::move(name),
         .inputs = {{.shape = std::move(from)}},
         .build = [attributes](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{reshape(b, in[0], attributes)};
         }});
  };
  add("rows", {2, 3, 4}, {.target = {0, -1}});
  add("merge", {2, 3, 4}, {.target = {6, 4}});
  add("scalar_to_vector", {}, {.target = {1}});
  add("empty", {0, 4}, {.target = {0, 2, 2}, .allow_zero = true});
  return cases;
}

}  // namespace lowtide::ops
