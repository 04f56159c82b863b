#include "ops/arg_max/arg_max.h"
#include "ops/cases.h"

namespace lowtide::ops {

std::vector<OpCase> arg_max_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape shape, ArgMax a, core::DType dtype) {
    cases.push_back(
        {.name = "arg_max/" + std::move(name),
         .inputs = {{.shape = std::move(shape), .dtype = dtype, .differentiable = false}},
         .build = [a](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{
               b.add_one(arg_max_op(), graph::Attrs::of(a), {in[0]})};
         }});
  };
  using core::DType;
  add("rows", {5, 17}, {.axis = 1}, DType::kFloat32);
  add("columns", {5, 17}, {.axis = 0, .smallest = true}, DType::kFloat32);
  add("ties", {4, 19, 3}, {.axis = 1, .last = true}, DType::kInt64);
  add("no_rows", {0, 3}, {.axis = 1}, DType::kFloat32);
  return cases;
}

}  // namespace lowtide::ops
