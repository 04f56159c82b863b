#include "ops/cases.h"
#include "ops/dropout/dropout.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {

std::vector<OpCase> dropout_cases() {
  std::vector<OpCase> cases;
  enum class Given { kPlain, kChannelsLast };
  const auto add = [&](std::string name, core::Shape shape, Dropout attributes,
                       Given given = Given::kPlain) {
    cases.push_back({.name = "dropout/" + std::move(name),
                     .inputs = {{.shape = std::move(shape)}},
                     .build = [attributes, given](graph::GraphBuilder& b,
                                                  const std::vector<graph::ValueId>& in) {
                       const bool last = given == Given::kChannelsLast;
                       const graph::ValueId x = last ? to_channels_last(b, in[0]) : in[0];
                       return std::vector<graph::ValueId>{dropout(b, x, attributes),
                                                          dropout_mask(b, x, attributes)};
                     }});
  };
  add("rows", {5, 37}, {.ratio = 0.5, .stream = 1, .active = true});
  add("vector", {13}, {.ratio = 0.3, .stream = 2, .active = true});
  add("scalar", {}, {.ratio = 0.3, .stream = 3, .active = true});
  add("nothing", {0, 3}, {.ratio = 0.3, .active = true});
  add("images", {2, 3, 5, 7}, {.ratio = 0.2, .stream = 4, .active = true});
  add("images_channels_last", {2, 19, 5, 7}, {.ratio = 0.2, .stream = 4, .active = true},
      Given::kChannelsLast);
  add("wide_channels_last", {1, 3, 71, 67}, {.ratio = 0.9, .stream = 5, .active = true},
      Given::kChannelsLast);
  add("large", {3, 9001}, {.ratio = 0.1, .stream = 6, .active = true});
  add("heads", {6, 4, 4}, {.ratio = 0.1, .stream = 7, .active = true, .rows_per_sample = 3});
  add("inactive", {4, 9}, {.ratio = 0.5, .stream = 8});
  return cases;
}

}  // namespace lowtide::ops
