#include "ops/cases.h"
#include "ops/squared_error/squared_error.h"

namespace lowtide::ops {

std::vector<OpCase> squared_error_cases() {
  std::vector<OpCase> cases;
  using Loss =
      graph::ValueId (*)(graph::GraphBuilder&, graph::ValueId, graph::ValueId, graph::ValueId);
  const auto add = [&](std::string name, Loss loss, core::Shape shape, bool root) {
    cases.push_back({.name = std::move(name),
                     .inputs = {{.shape = shape, .low = -4, .high = 4},
                                {.shape = shape, .low = 0, .high = 1, .differentiable = false},
                                {.shape = {}, .low = 0.1, .high = 0.5, .differentiable = false}},
                     .build =
                         [loss](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                           return std::vector<graph::ValueId>{loss(b, in[0], in[1], in[2])};
                         },
                     .loss = root});
  };
  for (const core::Shape& shape :
       {core::Shape{3, 7}, core::Shape{16}, core::Shape{1}, core::Shape{0, 4}, core::Shape{},
        core::Shape{2, 3, 5, 1}, core::Shape{31, 1013}}) {
    add("squared_error/" + shape.str(), squared_error, shape, true);
    add("binary_cross_entropy/" + shape.str(), binary_cross_entropy, shape, true);
  }
  add("squared_error/part_of_a_sum", squared_error, {5, 9}, false);
  add("binary_cross_entropy/part_of_a_sum", binary_cross_entropy, {5, 9}, false);
  return cases;
}

}  // namespace lowtide::ops
