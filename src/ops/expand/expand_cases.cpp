#include "ops/cases.h"
#include "ops/expand/expand.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {

std::vector<OpCase> expand_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape from, core::Shape to) {
    cases.push_back({.name = "expand/" + std::move(name),
                     .inputs = {{.shape = std::move(from)}},
                     .build = [to](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                       return std::vector<graph::ValueId>{expand(b, in[0], to)};
                     }});
  };
  add("rows", {1, 7}, {5, 7});
  add("columns", {5, 1}, {5, 19});
  add("new_axes", {4, 1}, {2, 3, 1, 5});
  add("leading_ones", {4, 3}, {1, 1, 1, 1});
  add("scalar", {}, {3, 2});
  add("to_nothing", {1, 3}, {0, 3});
  cases.push_back(
      {.name = "expand/channels_last",
       .inputs = {{.shape = {2, 5, 1, 1}}},
       .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
         return std::vector<graph::ValueId>{expand(b, to_channels_last(b, in[0]), {2, 5, 3, 4})};
       }});
  return cases;
}

}  // namespace lowtide::ops
