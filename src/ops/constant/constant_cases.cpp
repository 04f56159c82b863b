#include "ops/cases.h"
#include "ops/constant/constant.h"

namespace lowtide::ops {

std::vector<OpCase> constant_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::TensorType type, double value) {
    cases.push_back(
        {.name = "fill/" + std::move(name),
         .inputs = {},
         .build = [type, value](graph::GraphBuilder& b, const std::vector<graph::ValueId>&) {
           return std::vector<graph::ValueId>{fill(b, type, value)};
         }});
  };
  add("floats", {core::DType::kFloat32, {3, 7}}, 1.5);
  add("many_integers", {core::DType::kInt64, {40000}}, -3);
  add("bools", {core::DType::kBool, {5}}, 1);
  add("scalar", {core::DType::kFloat64, {}}, 0.1);
  add("nothing", {core::DType::kFloat32, {0, 4}}, 2);
  return cases;
}

}  // namespace lowtide::ops
