#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/where/choices.h"
#include "ops/where/where.h"

namespace lowtide::ops {

std::vector<OpCase> where_cases() {
  std::vector<OpCase> cases;
  enum class Given { kPlain, kChannelsLast };
  const auto add = [&](std::string name, core::Shape condition, core::Shape a, core::Shape c,
                       Given given = Given::kPlain) {
    cases.push_back(
        {.name = "where/" + std::move(name),
         .inputs =
             {{.shape = std::move(condition), .low = 0, .high = 1, .dtype = core::DType::kBool},
              {.shape = std::move(a)},
              {.shape = std::move(c)}},
         .build = [given](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           const bool last = given == Given::kChannelsLast;
           const graph::ValueId a_given = last ? to_channels_last(b, in[1]) : in[1];
           return std::vector<graph::ValueId>{where(b, in[0], a_given, in[2])};
         }});
  };
  add("equal", {3, 37}, {3, 37}, {3, 37});
  add("causal_mask", {1, 1, 5, 5}, {2, 3, 5, 5}, {});
  add("scalar_if_true", {4, 9}, {}, {4, 9});
  add("condition_spreads", {4, 1}, {4, 9}, {9});
  add("all_spread", {3, 1, 1}, {1, 4, 1}, {5});
  add("one_element", {}, {}, {});
  add("nothing", {0, 3}, {1, 3}, {3});
  add("large", {50000}, {50000}, {50000});
  add("large_mask", {1, 1, 64, 64}, {2, 8, 64, 64}, {});
  add("channels_last", {2, 3, 4, 5}, {2, 3, 4, 5}, {3, 1, 1}, Given::kChannelsLast);
  for (const std::int64_t axis : {0, 1, -1}) {
    cases.push_back(
        {.name = "one_hot/axis_" + std::to_string(axis + 1),
         .inputs = {{.shape = {3, 4}, .low = -6, .high = 6, .dtype = core::DType::kInt64},
                    {.shape = {1}},
                    {.shape = {1}}},
         .build = [axis](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{one_hot(b, in[0], 5, in[1], in[2], axis)};
         }});
  }
  return cases;
}

}  // namespace lowtide::ops
