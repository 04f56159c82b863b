#include "ops/cases.h"
#include "ops/update/update.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Values = std::vector<ValueId>;

CaseInput fixed(core::Shape shape, double low = -2, double high = 2) {
  return {.shape = std::move(shape), .low = low, .high = high, .differentiable = false};
}

// The op itself on plain inputs: its builder function would need state values.
OpCase case_of(std::string name,
               std::vector<CaseInput> inputs,
               const graph::OpDef& op,
               const graph::Attrs& attrs) {
  return {
      .name = "update/" + std::move(name),
      .inputs = std::move(inputs),
      .build = [&op, attrs](GraphBuilder& b, const Values& in) { return b.add(op, attrs, in); }};
}

std::vector<OpCase> sgd_cases(const core::Shape& shape) {
  const CaseInput x = fixed(shape);
  const CaseInput scalars = fixed({kUpdateScalars}, 0.1, 1);
  const CaseInput clip = fixed({}, 0.1, 1);
  const auto sgd = [](SgdUpdate a) { return graph::Attrs::of(a); };
  return {
      case_of("sgd" + shape.str(), {x, x, scalars}, sgd_update_op(), sgd({.weight_decay = 0.1})),
      case_of("sgd_momentum" + shape.str(), {x, x, scalars, x}, sgd_update_op(),
              sgd({.has_momentum = true})),
      case_of(
          "sgd_nesterov_clip" + shape.str(), {x, x, scalars, x, clip}, sgd_update_op(),
          sgd({.has_momentum = true, .nesterov = true, .weight_decay = 0.01, .has_clip = true})),
  };
}

std::vector<OpCase> adam_cases(const core::Shape& shape) {
  const CaseInput x = fixed(shape);
  const CaseInput square = fixed(shape, 0, 2);
  const CaseInput scalars = fixed({kUpdateScalars}, 0.1, 1);
  const CaseInput clip = fixed({}, 0.1, 1);
  const auto adam = [](AdamUpdate a) { return graph::Attrs::of(a); };
  return {
      case_of("adam" + shape.str(), {x, x, scalars, x, square}, adam_update_op(),
              adam({.weight_decay = 0.1})),
      case_of("adamw_clip" + shape.str(), {x, x, scalars, x, square, clip}, adam_update_op(),
              adam({.weight_decay = 0.1, .decoupled = true, .has_clip = true})),
  };
}

}  // namespace

std::vector<OpCase> update_cases() {
  std::vector<OpCase> cases;
  for (const core::Shape& shape :
       {core::Shape{3, 7}, core::Shape{32}, core::Shape{1}, core::Shape{0}, core::Shape{40003}}) {
    for (OpCase& c : sgd_cases(shape)) cases.push_back(std::move(c));
    for (OpCase& c : adam_cases(shape)) cases.push_back(std::move(c));
    const CaseInput x = fixed(shape);
    const graph::Attrs sum = graph::Attrs::of(Accumulate{});
    cases.push_back(
        case_of("accumulate_first" + shape.str(), {x, x, fixed({}, 1, 1)}, accumulate_op(), sum));
    cases.push_back(
        case_of("accumulate_more" + shape.str(), {x, x, fixed({}, 0, 0)}, accumulate_op(), sum));
    cases.push_back(case_of("moving_average" + shape.str(), {x, x}, moving_average_op(),
                            graph::Attrs::of(MovingAverage{.keep = 0.9, .factor = 1.25})));
  }
  return cases;
}

}  // namespace lowtide::ops
