#include "ops/cases.h"
#include "ops/pair_loss/pair_loss.h"

namespace lowtide::ops {

std::vector<OpCase> pair_loss_cases() {
  struct Named {
    std::string name;
    PairLoss loss;
  };
  // Predictions keep away from targets where a loss has a kink there.
  const std::vector<Named> losses = {
      {"squared_error", {.kind = PairLossKind::kSquaredError}},
      {"absolute_error", {.kind = PairLossKind::kAbsoluteError}},
      {"huber", {.kind = PairLossKind::kHuber, .parameter = 1}},
      {"huber_bent_at_2.5", {.kind = PairLossKind::kHuber, .parameter = 2.5F}},
      {"binary_cross_entropy", {.kind = PairLossKind::kBinaryCrossEntropy}},
      {"binary_cross_entropy_weighted",
       {.kind = PairLossKind::kBinaryCrossEntropy, .parameter = 3}}};
  std::vector<OpCase> cases;
  const auto add = [&](const Named& named, const std::string& what, core::Shape shape, bool root) {
    const bool kink = named.loss.kind == PairLossKind::kAbsoluteError;
    cases.push_back(
        {.name = named.name + "/" + what,
         .inputs = {{.shape = shape, .low = kink ? 1.1 : -4, .high = 4},
                    {.shape = shape, .low = 0, .high = 1, .differentiable = false},
                    {.shape = {}, .low = 0.1, .high = 0.5, .differentiable = false}},
         .build =
             [loss = named.loss](graph::GraphBuilder& b, const std::vector<graph::ValueId>& in) {
               return std::vector<graph::ValueId>{pair_loss(b, loss, in[0], in[1], in[2])};
             },
         .loss = root});
  };
  for (const Named& named : losses) {
    for (const core::Shape& shape :
         {core::Shape{3, 7}, core::Shape{16}, core::Shape{1}, core::Shape{0, 4}, core::Shape{},
          core::Shape{2, 3, 5, 1}, core::Shape{31, 1013}}) {
      add(named, shape.str(), shape, true);
    }
    add(named, "part_of_a_sum", {5, 9}, false);
  }
  return cases;
}

}  // namespace lowtide::ops
