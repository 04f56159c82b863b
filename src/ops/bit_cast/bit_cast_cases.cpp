#include "ops/bit_cast/bit_cast.h"
#include "ops/cases.h"

namespace lowtide::ops {

std::vector<OpCase> bit_cast_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape shape, core::DType from, core::DType to) {
    cases.push_back({.name = "bit_cast/" + std::move(name),
                     .inputs = {{.shape = std::move(shape), .low = -3, .high = 90, .dtype = from}},
                     .build = [to](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                       return std::vector<graph::ValueId>{bit_cast(b, in[0], to)};
                     }});
  };
  using enum core::DType;
  add("signed_to_unsigned", {3, 7}, kInt32, kUint32);
  add("bytes", {17}, kInt8, kUint8);
  add("integer_to_float", {1}, kInt32, kFloat32);
  add("nothing", {0, 4}, kInt64, kUint64);
  return cases;
}

}  // namespace lowtide::ops
