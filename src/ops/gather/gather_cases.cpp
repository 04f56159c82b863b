#include "ops/cases.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matmul.h"

namespace lowtide::ops {

std::vector<OpCase> gather_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, core::Shape data, core::Shape indices, std::int64_t axis,
                       core::DType dtype = core::DType::kInt64) {
    const auto length = static_cast<double>(data[core::normalized_axis(axis, data.rank())]);
    cases.push_back(
        {.name = "gather/" + std::move(name),
         .inputs =
             {{.shape = std::move(data)},
              {.shape = std::move(indices), .low = -length, .high = length - 1, .dtype = dtype}},
         .build = [axis](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
           return std::vector<graph::ValueId>{gather(b, in[0], in[1], axis)};
         }});
  };
  add("embedding", {11, 19}, {2, 7}, 0);
  add("embedding_32", {11, 16}, {3, 5}, 0, core::DType::kInt32);
  add("columns", {4, 9}, {6}, -1);
  add("middle", {3, 5, 7}, {2, 2}, 1);
  add("one_row", {6, 5}, {}, 0);
  add("no_indices", {6, 5}, {0, 3}, 0);
  add("large", {997, 65}, {40, 30}, 0);
  cases.push_back(
      {.name = "gather/tied_to_a_product",
       .inputs = {{.shape = {23, 6}},
                  {.shape = {3, 5}, .low = -23, .high = 22, .dtype = core::DType::kInt64},
                  {.shape = {4, 6}}},
       .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
         return std::vector<graph::ValueId>{gather(b, in[0], in[1], 0),
                                            matmul(b, in[2], in[0], {.transpose_b = true})};
       }});
  cases.push_back(
      {.name = "gather/twice",
       .inputs = {{.shape = {9, 4}},
                  {.shape = {7}, .low = -9, .high = 8, .dtype = core::DType::kInt64},
                  {.shape = {5}, .low = -9, .high = 8, .dtype = core::DType::kInt32}},
       .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
         return std::vector<graph::ValueId>{gather(b, in[0], in[1], 0), gather(b, in[0], in[2], 0)};
       }});
  cases.push_back({.name = "gather/outside",
                   .inputs = {{.shape = {4, 3}, .dtype = core::DType::kInt32},
                              {.shape = {40}, .low = -9, .high = 9, .dtype = core::DType::kInt64}},
                   .build = [](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                     return std::vector<graph::ValueId>{gather(b, in[0], in[1], 0)};
                   }});
  return cases;
}

}  // namespace lowtide::ops
