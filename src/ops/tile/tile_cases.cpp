#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/tile/tile.h"

namespace lowtide::ops {

std::vector<OpCase> tile_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape shape, std::vector<std::int64_t> repeats) {
    cases.push_back(
        {.name = "tile/" + std::move(name),
         .inputs = {{.shape = std::move(shape)}},
         .build = [repeats](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{tile(b, in[0], repeats)};
         }});
  };
  add("both", {3, 5}, {2, 3});
  add("columns", {4, 1}, {1, 17});
  add("middle", {2, 3, 4}, {1, 5, 1});
  add("to_nothing", {2, 3}, {0, 2});
  add("of_nothing", {0, 3}, {2, 2});
  cases.push_back(
      {.name = "tile/channels_last",
       .inputs = {{.shape = {2, 3, 4, 5}}},
       .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
         return std::vector<graph::ValueId>{tile(b, to_channels_last(b, in[0]), {1, 2, 1, 2})};
       }});
  return cases;
}

}  // namespace lowtide::ops
