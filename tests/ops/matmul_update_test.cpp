// A product and the update that uses it up: by panels it has the bits of the whole, and of the
// nodes that it stands for.
#include "ops/matmul_update/matmul_update.h"

#include <cmath>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/evaluate.h"
#include "ops/gradient_norm/gradient_norm.h"
#include "support/tensors.h"

namespace lowtide::ops {
namespace {

using core::DType;
using graph::Attrs;
using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using support::random_tensor;
using Values = std::vector<ValueId>;

struct Sizes {
  std::int64_t depth;
  std::int64_t rows;
  std::int64_t columns;
};

class MatMulUpdateTest : public testing::TestWithParam<core::Isa> {
 protected:
  void compare(const Sizes& size, std::variant<SgdUpdate, AdamUpdate> update, std::size_t states) {
    Graph graph;
    GraphBuilder b(graph);
    std::map<ValueId, ConstantTensor> given;
    const auto input = [&](const core::Shape& shape) {
      const core::TensorType type{DType::kFloat32, shape};
      const ValueId id = b.input("input" + std::to_string(given.size()), type);
      given[id] = random_tensor(type, given.size(), 0, 1);
      return id;
    };
    const core::Shape weights{size.rows, size.columns};
    Values in = {input({size.depth, size.rows}), input({size.depth, size.columns}), input(weights),
                 input({kUpdateScalars})};
    for (std::size_t i = 0; i < states; ++i) in.push_back(input(weights));

    const ValueId gradient = matmul(b, in[0], in[1], {.transpose_a = true});
    Values of_update = {in[2], gradient};
    of_update.insert(of_update.end(), in.begin() + 3, in.end());
    Values expected = {sum_squares(b, gradient)};
    const Values updated =
        update.index() == 0
            ? b.add(sgd_update_op(), Attrs::of(std::get<SgdUpdate>(update)), of_update)
            : b.add(adam_update_op(), Attrs::of(std::get<AdamUpdate>(update)), of_update);
    expected.insert(expected.end(), updated.begin(), updated.end());
    const Values whole = b.add(matmul_update_op(), Attrs::of(MatMulUpdate{.update = update}), in);
    const Values panels =
        b.add(matmul_update_op(), Attrs::of(MatMulUpdate{.update = update, .by_panels = true}), in);

    const auto values = graph::interpret(graph, given, {.threads = 2, .isa = GetParam()});
    EXPECT_EQ(*values.at(panels[0]).bytes, *values.at(whole[0]).bytes);
    for (std::size_t i = 1; i < whole.size(); ++i) {
      EXPECT_EQ(*values.at(panels[i]).bytes, *values.at(expected[i]).bytes) << "output " << i;
      EXPECT_EQ(*values.at(whole[i]).bytes, *values.at(expected[i]).bytes) << "output " << i;
    }
    // Added up in another order.
    const double sum = *values.at(expected[0]).data<double>();
    EXPECT_NEAR(*values.at(whole[0]).data<double>(), sum, 1e-12 * sum);
  }
};

TEST_P(MatMulUpdateTest, ByPanelsHasTheBitsOfTheNodesItStandsFor) {
  const SgdUpdate momentum{.has_momentum = true, .nesterov = true, .weight_decay = 0.01};
  const AdamUpdate adamw{.weight_decay = 0.1, .decoupled = true};
  // Of several panels, the last of which is smaller; deeper than what is summed at a time.
  compare({.depth = 5, .rows = 61, .columns = 40003}, momentum, 1);
  compare({.depth = 2, .rows = 53, .columns = 40001}, adamw, 2);
  compare({.depth = 1, .rows = 8193, .columns = 513}, SgdUpdate{}, 0);
  if (GetParam() != core::Isa::kReference) {
    compare({.depth = 2051, .rows = 2147, .columns = 517}, momentum, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas,
                         MatMulUpdateTest,
                         testing::Values(core::Isa::kNative,
                                         core::Isa::kAvx2,
                                         core::Isa::kReference));

}  // namespace
}  // namespace lowtide::ops
