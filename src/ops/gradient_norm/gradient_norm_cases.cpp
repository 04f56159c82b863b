#include "ops/cases.h"
#include "ops/gradient_norm/gradient_norm.h"

namespace lowtide::ops {

std::vector<OpCase> gradient_norm_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, std::vector<core::Shape> shapes,
                       std::optional<double> clip_norm) {
    OpCase result{
        .name = "gradient_norm/" + std::move(name),
        .build = [clip_norm](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
          std::vector<graph::ValueId> sums;
          for (const graph::ValueId x : in) sums.push_back(sum_squares(b, x));
          const Norm norm = combine_norm(b, sums, {.clip_norm = clip_norm});
          if (!clip_norm) return std::vector<graph::ValueId>{norm.norm};
          return std::vector<graph::ValueId>{norm.norm, norm.clip};
        }};
    for (core::Shape& shape : shapes) {
      result.inputs.push_back({.shape = std::move(shape), .differentiable = false});
    }
    cases.push_back(std::move(result));
  };
  add("one", {{7}}, std::nullopt);
  add("clipped", {{3, 5}, {16}, {}}, 1.0);
  add("not_clipped", {{33}}, 1000.0);
  add("empty", {{0}, {2}}, 1.0);
  add("large", {{70001}, {513, 3}}, 0.5);
  return cases;
}

}  // namespace lowtide::ops
