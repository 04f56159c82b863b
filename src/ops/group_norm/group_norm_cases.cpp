#include "ops/cases.h"
#include "ops/group_norm/group_norm.h"

namespace lowtide::ops {

std::vector<OpCase> group_norm_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, const core::Shape& shape, std::int64_t groups,
                       std::int64_t scales, bool plain) {
    // One value alone has a gradient of zero, of which kernels find nothing but rounding.
    const bool single = shape.elements() == shape[0] * groups;
    cases.push_back(
        {.name = "group_norm/" + std::move(name),
         .inputs = {{.shape = shape, .differentiable = !single},
                    {.shape = {scales}},
                    {.shape = {scales}}},
         .build =
             [groups, plain](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
               const GroupNorm attributes{.groups = groups, .epsilon = 1e-3};
               if (!plain) return std::vector{group_norm(b, in[0], in[1], in[2], attributes).y};
               return std::vector{b.add(group_norm_op(), graph::Attrs::of(attributes), in)[0]};
             },
         .gradient_tolerance = 1e-5});
  };
  add("rows", {5, 6}, 2, 6, false);
  add("images", {2, 6, 3, 4}, 3, 6, false);
  add("scale_per_group", {2, 6, 3, 4}, 3, 3, false);
  add("one_group", {3, 5, 7}, 1, 5, false);
  add("instances", {2, 17, 3, 5}, 17, 17, false);
  add("one_value", {2, 3, 1}, 3, 3, false);
  add("no_samples", {0, 4, 3, 3}, 2, 4, false);
  add("no_positions", {2, 4, 0}, 2, 4, false);
  add("plain_images", {2, 6, 3, 4}, 2, 6, true);
  add("plain_scale_per_group", {2, 6, 5}, 2, 2, true);
  add("large", {19, 32, 23, 9}, 8, 32, false);
  add("one_large_sample", {1, 24, 71, 37}, 4, 4, false);
  return cases;
}

}  // namespace lowtide::ops
