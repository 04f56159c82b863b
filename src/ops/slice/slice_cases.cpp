#include <cstdint>

#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/slice/slice.h"

namespace lowtide::ops {

std::vector<OpCase> slice_cases() {
  constexpr std::int64_t kEnd = INT64_MAX;
  constexpr std::int64_t kFront = INT64_MIN;
  std::vector<OpCase> cases;
  enum class Given { kPlain, kChannelsLast };
  const auto add = [&](std::string name, core::Shape shape, Slice attributes,
                       Given given = Given::kPlain) {
    cases.push_back({.name = "slice/" + std::move(name),
                     .inputs = {{.shape = std::move(shape)}},
                     .build = [attributes, given](graph::GraphBuilder& b,
                                                  const std::vector<graph::ValueId>& in) {
                       const bool last = given == Given::kChannelsLast;
                       const graph::ValueId x = last ? to_channels_last(b, in[0]) : in[0];
                       return std::vector<graph::ValueId>{slice(b, x, attributes)};
                     }});
  };
  add("rows", {7, 5}, {.starts = {2}, .ends = {5}});
  add("columns", {7, 19}, {.starts = {1}, .ends = {-1}, .axes = {-1}});
  add("both", {7, 19}, {.starts = {1, 3}, .ends = {kEnd, 18}});
  add("steps", {7, 19}, {.starts = {0, 1}, .ends = {7, kEnd}, .axes = {0, 1}, .steps = {2, 3}});
  add("reversed", {3, 9}, {.starts = {-1}, .ends = {kFront}, .axes = {1}, .steps = {-1}});
  add("reversed_rows", {5, 40}, {.starts = {kEnd}, .ends = {0}, .axes = {0}, .steps = {-2}});
  add("one_element", {4, 3}, {.starts = {2, 1}, .ends = {3, 2}});
  add("nothing", {4, 3}, {.starts = {3}, .ends = {1}});
  add("of_nothing", {0, 3}, {.starts = {0}, .ends = {2}, .axes = {1}});
  add("channels_last", {2, 6, 5, 4}, {.starts = {1, 2}, .ends = {4, kEnd}, .axes = {1, 3}},
      Given::kChannelsLast);
  add("large", {4, 64, 30, 30}, {.starts = {16}, .ends = {64}, .axes = {1}}, Given::kChannelsLast);
  return cases;
}

}  // namespace lowtide::ops
