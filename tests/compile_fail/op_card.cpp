// An op card must say how the op infers types, differentiates, what it costs and whether it
// repeats.
#include "graph/builder.h"
#include "graph/op_def.h"

namespace lowtide::graph {
namespace {

struct Copy {
  bool operator==(const Copy&) const = default;
};

std::vector<TensorType> infer(const Copy&, Types in) { return {in[0]}; }

InputGradients gradient(const Copy&, GradientContext& g) { return {g.out_gradient(0)}; }

Cost cost(const Copy&, const Signature& types) { return {.traffic = 2 * types.in[0].bytes()}; }

void run(const Copy&, const Signature&, const Run&) {}

}  // namespace

const OpDef& copy_op() {
  static const TypedOp<Copy> op{{
      .name = "Copy",
#ifndef LT_WITHOUT_INFER
      .infer = infer,
#endif
#ifndef LT_WITHOUT_GRADIENT
      .gradient = gradient,
#endif
#ifndef LT_WITHOUT_COST
      .cost = cost,
#endif
#ifndef LT_WITHOUT_REPEAT
      .repeat = Repeat::kExact,
#endif
      .kernels = {{.name = "reference", .run = run}},
  }};
  return op;
}

}  // namespace lowtide::graph
