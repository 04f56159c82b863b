#include "kernels/dnnl/matmul.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/dnnl/chain.h"

namespace lowtide::kernels {
namespace {

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

std::unique_ptr<Computation> make_matmul(const MatmulShape& given) {
  const MatmulShape shape = simplified(given);
  std::vector<std::int64_t> of_y;
  for (std::size_t i = 0; i < shape.batch_a.size(); ++i) {
    of_y.push_back(std::max(shape.batch_a[i], shape.batch_b[i]));
  }
  return prepared([&]() -> std::unique_ptr<Computation> {
    const auto a = matrices(shape.batch_a, shape.rows, shape.depth, shape.transpose_a);
    const auto b = matrices(shape.batch_b, shape.depth, shape.columns, shape.transpose_b);
    const auto y = matrices(of_y, shape.rows, shape.columns, false);
    const auto bias =
        shape.bias ? matrices(std::vector<std::int64_t>(of_y.size(), 1), 1, shape.columns, false)
                   : dnnl::memory::desc();
    dnnl::primitive_attr attributes = with_user_scratchpad();
    if (shape.add) {
      dnnl::post_ops sum;
      sum.append_sum();
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc desc(process_engine(), a, b, bias, y, attributes);
    if (!is_fast(desc) || is_by_general_product(desc)) return nullptr;
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
