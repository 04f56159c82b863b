#include "graph/builder.h"
#include "ops/cases.h"
#include "ops/matmul_update/matmul_update.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

CaseInput fixed(core::Shape shape, double low = -2, double high = 2) {
  return {.shape = std::move(shape), .low = low, .high = high, .differentiable = false};
}

// Of weights with `rows` rows and `columns` columns.
OpCase case_of(std::string name,
               std::int64_t depth,
               std::int64_t rows,
               std::int64_t columns,
               const MatMulUpdate& a,
               std::size_t states) {
  OpCase result{.name = "matmul_update/" + std::move(name),
                .inputs = {fixed({depth, rows}), fixed({depth, columns}), fixed({rows, columns}),
                           fixed({kUpdateScalars}, 0.1, 1)},
                .build = {}};
  for (std::size_t i = 0; i < states; ++i) result.inputs.push_back(fixed({rows, columns}, 0, 2));
  result.build = [a](GraphBuilder& b, const std::vector<ValueId>& in) {
    return b.add(matmul_update_op(), graph::Attrs::of(a), in);
  };
  return result;
}

}  // namespace

std::vector<OpCase> matmul_update_cases() {
  const SgdUpdate plain{.weight_decay = 0.1};
  const SgdUpdate momentum{.has_momentum = true, .nesterov = true};
  const AdamUpdate adamw{.weight_decay = 0.1, .decoupled = true};
  return {
      case_of("sgd", 3, 5, 7, {.update = plain}, 0),
      case_of("sgd_panels", 3, 5, 7, {.update = plain, .by_panels = true}, 0),
      case_of("momentum", 9, 37, 515, {.update = momentum}, 1),
      case_of("momentum_panels", 3, 29, 40001, {.update = momentum, .by_panels = true}, 1),
      case_of("adamw", 2, 53, 4001, {.update = adamw}, 2),
      case_of("adamw_panels", 2, 27, 40001, {.update = adamw, .by_panels = true}, 2),
      case_of("one_row", 1, 1, 1, {.update = adamw, .by_panels = true}, 2),
  };
}

}  // namespace lowtide::ops
