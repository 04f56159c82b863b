#include "ops/cases.h"
#include "ops/layer_norm/layer_norm.h"

namespace lowtide::ops {

// One element alone has a gradient of zero, of which kernels find nothing but rounding.
std::vector<OpCase> layer_norm_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, const core::Shape& shape, std::int64_t axis, bool bias) {
    const std::size_t first = core::normalized_axis(axis, shape.rank());
    const auto& dims = shape.dims();
    const core::Shape tail({dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end()});
    OpCase result{
        .name = "layer_norm/" + std::move(name),
        .inputs = {{.shape = shape, .differentiable = tail.elements() != 1}, {.shape = tail}},
        .build =
            [axis](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
              const graph::ValueId offset = in.size() > 2 ? in[2] : graph::ValueId();
              return std::vector<graph::ValueId>{layer_norm(b, in[0], in[1], offset, axis, 1e-3).y};
            },
        .gradient_tolerance = 1e-5};
    if (bias) result.inputs.push_back({.shape = tail});
    cases.push_back(std::move(result));
  };
  add("tokens", {2, 3, 17}, -1, true);
  add("no_bias", {5, 16}, -1, false);
  add("two_axes", {3, 4, 5}, 1, true);
  add("all_axes", {3, 7}, 0, true);
  add("one_element", {4, 1}, -1, true);
  add("no_rows", {0, 5}, -1, true);
  add("large", {37, 5, 768}, -1, true);
  add("wide", {2, 40003}, -1, false);
  return cases;
}

}  // namespace lowtide::ops
