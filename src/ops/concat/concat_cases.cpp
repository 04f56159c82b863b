#include "ops/cases.h"
#include "ops/concat/concat.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {

std::vector<OpCase> concat_cases() {
  std::vector<OpCase> cases;
  enum class Given { kPlain, kChannelsLast };
  const auto add = [&](std::string name, std::vector<core::Shape> shapes, std::int64_t axis,
                       Given given) {
    std::vector<CaseInput> inputs;
    for (core::Shape& shape : shapes) inputs.push_back({.shape = std::move(shape)});
    cases.push_back(
        {.name = "concat/" + std::move(name),
         .inputs = std::move(inputs),
         .build = [axis, given](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           std::vector<graph::ValueId> values = in;
           // One is enough: the others follow.
           if (given == Given::kChannelsLast) values[0] = to_channels_last(b, values[0]);
           return std::vector<graph::ValueId>{concat(b, values, axis)};
         }});
  };
  add("rows", {{2, 3}, {1, 3}, {4, 3}}, 0, Given::kPlain);
  add("columns", {{5, 3}, {5, 17}}, -1, Given::kPlain);
  add("middle", {{2, 3, 4}, {2, 1, 4}}, 1, Given::kPlain);
  add("with_empty", {{2, 0}, {2, 3}}, 1, Given::kPlain);
  add("all_empty", {{0, 2}, {0, 3}}, 1, Given::kPlain);
  add("channel_stripes", {{2, 3, 5, 7}, {2, 12, 5, 7}, {2, 1, 5, 7}}, 1, Given::kChannelsLast);
  add("samples_channels_last", {{2, 3, 5, 7}, {1, 3, 5, 7}}, 0, Given::kChannelsLast);
  add("width_channels_last", {{2, 3, 5, 7}, {2, 3, 5, 2}}, -1, Given::kChannelsLast);
  add("large", {{4, 40, 30, 30}, {4, 24, 30, 30}}, 1, Given::kChannelsLast);
  return cases;
}

}  // namespace lowtide::ops
