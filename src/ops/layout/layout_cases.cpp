#include "ops/cases.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {

std::vector<OpCase> layout_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape shape) {
    cases.push_back({.name = "layout/" + std::move(name),
                     .inputs = {{.shape = std::move(shape)}},
                     .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                       return std::vector<graph::ValueId>{to_channels_last(b, in[0])};
                     }});
  };
  add("images", {2, 3, 5, 7});
  add("tiles", {1, 33, 17, 1});
  add("signals", {2, 4, 9});
  add("volumes", {1, 2, 3, 2, 3});
  add("one_pixel", {2, 5, 1, 1});
  add("one_channel", {2, 1, 4, 4});
  add("empty", {0, 3, 4, 4});
  return cases;
}

}  // namespace lowtide::ops
