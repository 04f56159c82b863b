#include "ops/cases.h"
#include "ops/cast/cast.h"

namespace lowtide::ops {

std::vector<OpCase> cast_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape shape, core::DType from, core::DType to) {
    cases.push_back({.name = "cast/" + std::move(name),
                     .inputs = {{.shape = std::move(shape), .low = 0, .high = 5, .dtype = from}},
                     .build = [to](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                       return std::vector<graph::ValueId>{cast(b, in[0], to)};
                     }});
  };
  using enum core::DType;
  add("integers_to_floats", {3, 7}, kInt64, kFloat32);
  add("floats_to_integers", {50000}, kFloat32, kInt32);
  add("bytes_to_bools", {2, 5}, kUint8, kBool);
  add("nothing", {0, 4}, kInt32, kInt64);
  cases.push_back({.name = "cast/between_floats",
                   .inputs = {{.shape = {3, 5}}},
                   .build =
                       [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                         const bool wide = b.type(in[0]).dtype == kFloat64;
                         return std::vector<graph::ValueId>{
                             cast(b, in[0], wide ? kFloat32 : kFloat64)};
                       },
                   .gradient_tolerance = 0.05});
  return cases;
}

}  // namespace lowtide::ops
