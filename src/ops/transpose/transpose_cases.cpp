#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/transpose/blocks.h"
#include "ops/transpose/transpose.h"

namespace lowtide::ops {

std::vector<OpCase> transpose_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape shape, std::vector<std::size_t> perm) {
    cases.push_back(
        {.name = "transpose/" + std::move(name),
         .inputs = {{.shape = std::move(shape)}},
         .build = [perm](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{transpose(b, in[0], perm)};
         }});
  };
  const auto add_channels_last = [&](std::string name, core::Shape shape,
                                     std::vector<std::size_t> perm) {
    cases.push_back(
        {.name = "transpose/" + std::move(name),
         .inputs = {{.shape = std::move(shape)}},
         .build = [perm](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{transpose(b, to_channels_last(b, in[0]), perm)};
         }});
  };
  add("matrix", {37, 19}, {1, 0});
  add("large_matrix", {301, 257}, {1, 0});
  add("heads", {2, 5, 3, 16}, {0, 2, 1, 3});
  add("keys", {2, 5, 3, 16}, {0, 2, 3, 1});
  add("reversed", {2, 3, 4, 5}, {3, 2, 1, 0});
  add("length_one_moves", {3, 1, 4}, {1, 0, 2});
  add("empty", {0, 4, 2}, {2, 0, 1});
  add("to_channels_last", {2, 4, 5, 3}, {0, 3, 1, 2});
  add_channels_last("of_channels_last", {2, 3, 4, 5}, {0, 2, 3, 1});
  add_channels_last("channels_last_reversed", {2, 3, 4, 5}, {3, 1, 0, 2});
  const auto add_built = [&](std::string name, core::Shape shape, auto build) {
    cases.push_back(
        {.name = std::move(name),
         .inputs = {{.shape = std::move(shape)}},
         .build = [build](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{build(b, in[0])};
         }});
  };
  add_built("depth_to_space/position_first", {2, 12, 2, 3},
            [](auto& b, auto x) { return depth_to_space(b, x, 2, BlockOrder::kPositionFirst); });
  add_built("depth_to_space/channel_first", {2, 18, 2, 1},
            [](auto& b, auto x) { return depth_to_space(b, x, 3, BlockOrder::kChannelFirst); });
  add_built("space_to_depth", {2, 3, 4, 6},
            [](auto& b, auto x) { return space_to_depth(b, x, 2); });
  return cases;
}

}  // namespace lowtide::ops
