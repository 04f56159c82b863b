#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/pad/pad.h"

namespace lowtide::ops {

std::vector<OpCase> pad_cases() {
  std::vector<OpCase> cases;
  enum class Given { kPlain, kChannelsLast };
  const auto add = [&](std::string name, core::Shape shape, Pad attributes,
                       Given given = Given::kPlain) {
    cases.push_back({.name = "pad/" + std::move(name),
                     .inputs = {{.shape = std::move(shape)}},
                     .build = [attributes, given](graph::GraphBuilder& b,
                                                  const std::vector<graph::ValueId>& in) {
                       const bool last = given == Given::kChannelsLast;
                       const graph::ValueId x = last ? to_channels_last(b, in[0]) : in[0];
                       return std::vector<graph::ValueId>{pad(b, x, attributes)};
                     }});
  };
  using enum PadMode;
  add("constant", {3, 5}, {.before = {1, 2}, .after = {0, 3}, .value = 1.5});
  add("image", {2, 3, 5, 7}, {.before = {0, 0, 1, 2}, .after = {0, 0, 2, 0}}, Given::kChannelsLast);
  add("channels", {2, 3, 4, 4}, {.before = {0, 2, 0, 0}, .after = {0, 1, 0, 0}},
      Given::kChannelsLast);
  add("crop", {5, 6}, {.before = {-1, 2}, .after = {-2, -3}});
  add("of_nothing", {0, 3}, {.before = {1, 1}, .after = {1, 0}, .value = -2});
  add("to_nothing", {2, 3}, {.before = {-1, 0}, .after = {-1, 0}});
  add("large", {4, 16, 62, 62}, {.before = {0, 0, 1, 1}, .after = {0, 0, 1, 1}},
      Given::kChannelsLast);
  add("reflect", {2, 3, 5, 7}, {.mode = kReflect, .before = {0, 0, 2, 3}, .after = {0, 0, 4, 1}},
      Given::kChannelsLast);
  add("reflect_far", {3, 2}, {.mode = kReflect, .before = {0, 5}, .after = {7, 0}});
  add("reflect_one", {1, 4}, {.mode = kReflect, .before = {2, 0}, .after = {1, 3}});
  add("reflect_and_crop", {6, 5}, {.mode = kReflect, .before = {-2, 3}, .after = {2, -1}});
  add("edge", {2, 4, 5}, {.mode = kEdge, .before = {1, 0, 2}, .after = {0, 1, 3}});
  add("wrap", {3, 4}, {.mode = kWrap, .before = {4, 1}, .after = {1, 9}});
  return cases;
}

}  // namespace lowtide::ops
