#include "ops/cases.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

namespace lowtide::ops {
namespace {

struct Variant {
  std::string name;
  core::Shape hidden;
  std::int64_t classes = 0;
  LinearCrossEntropy attributes = {};
  bool bias = false;
  bool class_weights = false;
  bool root = true;  // whether the loss is what is differentiated, with nothing on top
};

// Some labels lie outside the classes on purpose.
OpCase case_of(const Variant& v) {
  const std::int64_t depth = v.hidden[v.hidden.rank() - 1];
  std::vector<std::int64_t> labels = v.hidden.dims();
  labels.pop_back();
  const core::Shape weight =
      v.attributes.transposed ? core::Shape{v.classes, depth} : core::Shape{depth, v.classes};
  OpCase result{.name = "linear_cross_entropy/" + v.name,
                .inputs = {{.shape = v.hidden},
                           {.shape = weight},
                           {.shape = core::Shape(labels),
                            .low = 0,
                            .high = static_cast<double>(v.classes),
                            .dtype = core::DType::kInt64},
                           {.shape = {}, .low = 0.1, .high = 0.5, .differentiable = false}},
                .loss = v.root};
  if (v.bias) result.inputs.push_back({.shape = {v.classes}});
  if (v.class_weights) {
    result.inputs.push_back({.shape = {v.classes}, .low = 0, .high = 2, .differentiable = false});
  }
  result.build = [v](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
    const graph::ValueId bias = v.bias ? in[4] : graph::ValueId();
    const graph::ValueId weights = v.class_weights ? in.back() : graph::ValueId();
    const LossValues out =
        linear_cross_entropy(b, in[0], in[1], bias, in[2], in[3], v.attributes, weights);
    return std::vector<graph::ValueId>{out.loss, out.correct};
  };
  return result;
}

}  // namespace

std::vector<OpCase> linear_cross_entropy_cases() {
  const LinearCrossEntropy tied{.transposed = true};
  const LinearCrossEntropy portions{.portion = 3};
  const LinearCrossEntropy tied_portions{.transposed = true, .portion = 4};
  const LinearCrossEntropy smooth{.loss = {.ignore_index = 2, .label_smoothing = 0.1}};
  return {
      case_of({.name = "rows", .hidden = {7, 5}, .classes = 10}),
      case_of({.name = "tied", .hidden = {7, 5}, .classes = 10, .attributes = tied}),
      case_of({.name = "bias", .hidden = {7, 5}, .classes = 19, .bias = true}),
      case_of({.name = "tied_bias",
               .hidden = {3, 4, 6},
               .classes = 17,
               .attributes = tied,
               .bias = true}),
      case_of({.name = "smooth", .hidden = {9, 8}, .classes = 6, .attributes = smooth}),
      case_of({.name = "weighted",
               .hidden = {9, 8},
               .classes = 6,
               .attributes = smooth,
               .bias = true,
               .class_weights = true}),
      case_of({.name = "part_of_a_sum",
               .hidden = {6, 4},
               .classes = 5,
               .attributes = tied,
               .bias = true,
               .root = false}),
      case_of({.name = "one_row", .hidden = {1, 3}, .classes = 4}),
      case_of({.name = "one_class", .hidden = {4, 3}, .classes = 1}),
      case_of({.name = "no_rows", .hidden = {0, 3}, .classes = 4, .bias = true}),
      case_of({.name = "portions", .hidden = {7, 5}, .classes = 18, .attributes = portions}),
      case_of({.name = "tied_portions_bias",
               .hidden = {2, 3, 5},
               .classes = 18,
               .attributes = tied_portions,
               .bias = true}),
  };
}

}  // namespace lowtide::ops
