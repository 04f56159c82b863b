#include <array>
#include <utility>

#include "ops/cases.h"
#include "ops/indexing/indexing.h"
#include "ops/indexing/sequences.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;
using Inputs = std::vector<ValueId>;

// Indices from `low` on, some of which lie outside where the data has fewer places.
CaseInput indices(Shape shape, double low, double high, DType dtype = DType::kInt64) {
  return {.shape = std::move(shape), .low = low, .high = high, .dtype = dtype};
}

void add_gathers(std::vector<OpCase>& cases) {
  const auto elements = [&](std::string name, CaseInput data, CaseInput index, std::int64_t axis) {
    cases.push_back({.name = "gather_elements/" + std::move(name),
                     .inputs = {std::move(data), std::move(index)},
                     .build = [axis](GraphBuilder& b, const Inputs& in) {
                       return Inputs{gather_elements(b, in[0], in[1], axis)};
                     }});
  };
  elements("rows", {.shape = {4, 7}}, indices({4, 9}, -7, 6), 1);
  elements("first_axis", {.shape = {5, 3}}, indices({7, 2}, -5, 4, DType::kInt32), 0);
  elements("middle", {.shape = {3, 5, 4}}, indices({2, 6, 3}, -5, 4), -2);
  elements("line", {.shape = {11}}, indices({19}, -11, 10), 0);
  elements("none", {.shape = {4, 5}}, indices({0, 5}, 0, 0), 0);
  elements("outside", {.shape = {3, 4}, .dtype = DType::kInt32}, indices({3, 9}, -8, 8), 1);
  elements("over_the_grain", {.shape = {40, 300}}, indices({40, 1000}, 0, 299), 1);

  const auto tuples = [&](std::string name, CaseInput data, CaseInput index,
                          std::size_t batch_dims) {
    cases.push_back({.name = "gather_nd/" + std::move(name),
                     .inputs = {std::move(data), std::move(index)},
                     .build = [batch_dims](GraphBuilder& b, const Inputs& in) {
                       return Inputs{gather_nd(b, in[0], in[1], batch_dims)};
                     }});
  };
  tuples("elements", {.shape = {4, 4}}, indices({9, 2}, -4, 3), 0);
  tuples("slices", {.shape = {4, 3, 7}}, indices({2, 5, 1}, -4, 3), 0);
  tuples("batched", {.shape = {3, 5, 4}}, indices({3, 6, 1}, -5, 4), 1);
  tuples("batched_elements", {.shape = {2, 3, 4, 5}}, indices({2, 3, 7, 2}, -4, 3), 2);
  tuples("none", {.shape = {4, 3}}, indices({0, 1}, 0, 0), 0);
  tuples("booleans", {.shape = {4, 3}, .low = 0, .high = 1, .dtype = DType::kBool},
         indices({5, 1}, 0, 3), 0);
}

OpCase scattering(std::string name,
                  CaseInput data,
                  CaseInput index,
                  CaseInput updates,
                  std::int64_t axis,  // below 0: tuples
                  ScatterReduction reduction) {
  return {.name = (axis < 0 ? "scatter_nd/" : "scatter_elements/") + std::move(name),
          .inputs = {std::move(data), std::move(index), std::move(updates)},
          .build = [axis, reduction](GraphBuilder& b, const Inputs& in) {
            return Inputs{axis < 0 ? scatter_nd(b, in[0], in[1], in[2], reduction)
                                   : scatter_elements(b, in[0], in[1], in[2], axis, reduction)};
          }};
}

void add_reductions(std::vector<OpCase>& cases) {
  constexpr std::array kKinds = {ScatterReduction::kNone, ScatterReduction::kAdd,
                                 ScatterReduction::kMul, ScatterReduction::kMax,
                                 ScatterReduction::kMin};
  constexpr std::array kNames = {"none", "add", "mul", "max", "min"};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    const std::string name = kNames[i];
    cases.push_back(scattering(name, {.shape = {4, 7}}, indices({3, 9}, -7, 6), {.shape = {3, 9}},
                               1, kKinds[i]));
    cases.push_back(scattering(name + "_first_axis", {.shape = {5, 3}}, indices({7, 2}, -5, 4),
                               {.shape = {7, 2}}, 0, kKinds[i]));
    cases.push_back(scattering(name, {.shape = {4, 3, 5}}, indices({7, 1}, -4, 3),
                               {.shape = {7, 3, 5}}, -1, kKinds[i]));
    cases.push_back(scattering(name + "_int32", {.shape = {4, 3}, .dtype = DType::kInt32},
                               indices({7, 2}, -5, 4), {.shape = {7}, .dtype = DType::kInt32}, -1,
                               kKinds[i]));
  }
  cases.push_back(scattering("over_the_grain", {.shape = {60, 400}}, indices({60, 900}, 0, 399),
                             {.shape = {60, 900}}, 1, ScatterReduction::kAdd));
  cases.push_back(scattering("none_at_all", {.shape = {3, 4}}, indices({0, 4}, 0, 0),
                             {.shape = {0, 4}}, 0, ScatterReduction::kAdd));
}

// Places that are known to differ need no marks of which update came last.
void add_permutations(std::vector<OpCase>& cases) {
  const std::vector<std::int64_t> order = {4, -6, 2, 0, 5, 3};
  cases.push_back({.name = "scatter_elements/permuted",
                   .inputs = {{.shape = {2, 7}}, {.shape = {1, 6}}},
                   .build = [order](GraphBuilder& b, const Inputs& in) {
                     const ValueId at = b.constant({1, 6}, order);
                     return Inputs{scatter_elements(b, in[0], at, in[1], 1)};
                   }});
  cases.push_back({.name = "scatter_nd/permuted",
                   .inputs = {{.shape = {7, 3}}, {.shape = {6, 3}}},
                   .build = [order](GraphBuilder& b, const Inputs& in) {
                     const ValueId at = b.constant({6, 1}, order);
                     return Inputs{scatter_nd(b, in[0], at, in[1])};
                   }});
}

}  // namespace

std::vector<OpCase> indexing_cases() {
  std::vector<OpCase> cases;
  add_gathers(cases);
  add_reductions(cases);
  add_permutations(cases);
  for (const std::size_t time_axis : {std::size_t{0}, std::size_t{1}}) {
    cases.push_back({.name = "reverse_sequence/axis_" + std::to_string(time_axis),
                     .inputs = {{.shape = {4, 4, 3}}, indices({4}, 1, 4)},
                     .build = [time_axis](GraphBuilder& b, const Inputs& in) {
                       return Inputs{reverse_sequence(b, in[0], in[1], time_axis)};
                     }});
  }
  return cases;
}

}  // namespace lowtide::ops
