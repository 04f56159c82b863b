#include "kernels/dnnl/matmul.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/dnnl/chain.h"

namespace lowtide::kernels {
namespace {

// One dimension of the batch as the two sides have it.
struct BatchDim {
  std::int64_t a = 1;
  std::int64_t b = 1;
};

// Neighbouring dimensions that broadcast alike become one; those of one matrix vanish.
std::vector<BatchDim> merged(const MatmulShape& shape) {
  std::vector<BatchDim> batch;
  for (std::size_t i = 0; i < shape.batch_a.size(); ++i) {
    const BatchDim dim{shape.batch_a[i], shape.batch_b[i]};
    if (dim.a == 1 && dim.b == 1) continue;
    if (!batch.empty() && (batch.back().a == 1) == (dim.a == 1) &&
        (batch.back().b == 1) == (dim.b == 1)) {
      batch.back().a *= dim.a;
      batch.back().b *= dim.b;
    } else {
      batch.push_back(dim);
    }
  }
  return batch;
}

dnnl::memory::desc matrices(std::vector<std::int64_t> batch,
                            std::int64_t rows,
                            std::int64_t columns,
                            bool transposed) {
  batch.push_back(rows);
  batch.push_back(columns);
  std::vector<std::size_t> order(batch.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (transposed) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return dense(batch, order);
}

}  // namespace

std::unique_ptr<Computation> make_matmul(const MatmulShape& shape) {
  std::vector<BatchDim> batch = merged(shape);
  std::int64_t rows = shape.rows;
  if (batch.size() == 1 && batch[0].b == 1 && !shape.transpose_a) {
    rows *= batch[0].a;  // every matrix of a meets the same b: they are one tall matrix
    batch.clear();
  }
  std::vector<std::int64_t> of_a;
  std::vector<std::int64_t> of_b;
  std::vector<std::int64_t> of_y;
  for (const BatchDim& dim : batch) {
    of_a.push_back(dim.a);
    of_b.push_back(dim.b);
    of_y.push_back(std::max(dim.a, dim.b));
  }
  return prepared([&]() -> std::unique_ptr<Computation> {
    const auto a = matrices(of_a, rows, shape.depth, shape.transpose_a);
    const auto b = matrices(of_b, shape.depth, shape.columns, shape.transpose_b);
    const auto y = matrices(of_y, rows, shape.columns, false);
    const auto bias =
        shape.bias ? matrices(std::vector<std::int64_t>(batch.size(), 1), 1, shape.columns, false)
                   : dnnl::memory::desc();
    const dnnl::matmul::primitive_desc desc(process_engine(), a, b, bias, y,
                                            with_user_scratchpad());
    if (!is_fast(desc)) return nullptr;
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, a, input_place(0)},
                                       {DNNL_ARG_WEIGHTS, b, input_place(1)},
                                       {DNNL_ARG_DST, y, output_place()}};
    if (shape.bias) arguments.push_back({DNNL_ARG_BIAS, bias, input_place(2)});
    auto chain = std::make_unique<Chain>();
    chain->add(desc, std::move(arguments));
    return chain;
  });
}

}  // namespace lowtide::kernels
