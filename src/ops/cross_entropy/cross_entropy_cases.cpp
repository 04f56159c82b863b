#include "ops/cases.h"
#include "ops/cross_entropy/cross_entropy.h"

namespace lowtide::ops {
namespace {

struct Variant {
  std::string name;
  core::Shape logits;
  CrossEntropy attributes = {};
  double largest_label = 0;
  bool weights = false;
  bool root = true;  // whether the loss is what is differentiated, with nothing on top
};

OpCase case_of(const Variant& v) {
  core::Shape labels = v.logits;
  std::vector<std::int64_t> dims = labels.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(v.attributes.class_axis));
  OpCase result{.name = "cross_entropy/" + v.name,
                .inputs = {{.shape = v.logits},
                           {.shape = core::Shape(dims),
                            .low = 0,
                            .high = v.largest_label,
                            .dtype = core::DType::kInt64},
                           {.shape = {}, .low = 0.1, .high = 0.5, .differentiable = false}},
                .build =
                    [attributes = v.attributes](graph::GraphBuilder& b,
                                                const std::vector<graph::ValueId>& in) {
                      const graph::ValueId weights = in.size() > 3 ? in[3] : graph::ValueId();
                      const LossValues out =
                          cross_entropy(b, in[0], in[1], in[2], attributes, weights);
                      return std::vector<graph::ValueId>{out.loss, out.correct};
                    },
                .loss = v.root};
  if (v.weights) {
    result.inputs.push_back({.shape = {v.logits[v.attributes.class_axis]},
                             .low = 0,
                             .high = 2,
                             .differentiable = false});
  }
  return result;
}

}  // namespace

// Some labels lie outside the classes or are ignored on purpose.
std::vector<OpCase> cross_entropy_cases() {
  const CrossEntropy last{.class_axis = 2};
  const CrossEntropy smooth{.label_smoothing = 0.1};
  const CrossEntropy ignoring{.ignore_index = 1, .label_smoothing = 0.2};
  return {
      case_of({.name = "rows_of_10", .logits = {7, 10}, .largest_label = 9}),
      case_of({.name = "rows_of_16", .logits = {4, 16}, .attributes = smooth, .largest_label = 15}),
      case_of({.name = "one_class", .logits = {3, 1}, .largest_label = 1}),
      case_of({.name = "no_rows", .logits = {0, 5}, .largest_label = 4}),
      case_of({.name = "weighted", .logits = {9, 5}, .largest_label = 5, .weights = true}),
      case_of({.name = "part_of_a_sum", .logits = {6, 4}, .largest_label = 3, .root = false}),
      case_of({.name = "weighted_smooth",
               .logits = {9, 21},
               .attributes = ignoring,
               .largest_label = 20,
               .weights = true}),
      case_of({.name = "ignoring", .logits = {12, 3}, .attributes = ignoring, .largest_label = 2}),
      case_of({.name = "tokens", .logits = {2, 5, 37}, .attributes = last, .largest_label = 36}),
      case_of({.name = "pixels", .logits = {2, 19, 3, 4}, .largest_label = 18}),
      case_of({.name = "middle_axis",
               .logits = {2, 3, 5, 4},
               .attributes = {.class_axis = 2, .label_smoothing = 0.1},
               .largest_label = 4}),
      case_of({.name = "wide", .logits = {3, 9001}, .attributes = smooth, .largest_label = 9000}),
      case_of({.name = "many_rows", .logits = {3001, 7}, .largest_label = 6}),
  };
}

}  // namespace lowtide::ops
