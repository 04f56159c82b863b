#include <utility>

#include "ops/cases.h"
#include "ops/einsum/einsum.h"

namespace lowtide::ops {

std::vector<OpCase> einsum_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, std::string equation, std::vector<core::Shape> shapes) {
    OpCase one{.name = "einsum/" + std::move(name),
               .inputs = {},
               .build = [equation](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
                 return std::vector<graph::ValueId>{einsum(b, equation, in)};
               }};
    for (core::Shape& shape : shapes) one.inputs.push_back({.shape = std::move(shape)});
    cases.push_back(std::move(one));
  };
  add("product", "ij,jk->ik", {{3, 5}, {5, 4}});
  add("implicit", "ij , jk", {{3, 5}, {5, 4}});
  add("transposed", "ij->ji", {{3, 5}});
  add("sum", "ij->", {{3, 5}});
  add("inner", "i,i", {{7}, {7}});
  add("outer", "i,j->ij", {{3}, {4}});
  add("batch", "bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
  add("attention", "bqhd,bkhd->bhqk", {{2, 3, 2, 5}, {2, 4, 2, 5}});
  add("dots", "...ij,...jk->...ik", {{2, 1, 3, 4}, {3, 4, 5}});
  add("diagonal", "...ii->...i", {{2, 4, 4}});
  add("trace", "ii", {{4, 4}});
  add("three", "ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}});
  add("sums_beside", "ijm,jkn->ik", {{2, 3, 2}, {3, 4, 5}});
  return cases;
}

}  // namespace lowtide::ops
