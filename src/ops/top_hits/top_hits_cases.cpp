#include "ops/cases.h"
#include "ops/top_hits/top_hits.h"

namespace lowtide::ops {

// Some labels lie outside the classes or are ignored on purpose.
std::vector<OpCase> top_hits_cases() {
  const auto of = [](std::string name, core::Shape logits, core::Shape labels, TopHits attributes) {
    const auto classes = static_cast<double>(logits[attributes.class_axis]);
    return OpCase{
        .name = "top_hits/" + name,
        .inputs = {{.shape = logits, .differentiable = false},
                   {.shape = labels, .low = -1, .high = classes, .dtype = core::DType::kInt64}},
        .build = [attributes](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
          return std::vector<graph::ValueId>{top_hits(b, in[0], in[1], attributes)};
        }};
  };
  return {of("rows", {9, 10}, {9}, {}), of("ignoring", {40, 7}, {40}, {.ignore_index = 3}),
          of("pixels", {2, 6, 3, 4}, {2, 3, 4}, {.among = 2}),
          of("tokens", {2, 5, 12}, {2, 5}, {.class_axis = 2}), of("no_rows", {0, 8}, {0}, {})};
}

}  // namespace lowtide::ops
