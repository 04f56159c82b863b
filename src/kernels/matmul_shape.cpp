#include "kernels/matmul_shape.h"

namespace lowtide::kernels {

MatmulShape simplified(const MatmulShape& shape) {
  MatmulShape result = shape;
  std::vector<std::int64_t>& a = result.batch_a;
  std::vector<std::int64_t>& b = result.batch_b;
  a.clear();
  b.clear();
  for (std::size_t i = 0; i < shape.batch_a.size(); ++i) {
    const std::int64_t of_a = shape.batch_a[i];
    const std::int64_t of_b = shape.batch_b[i];
    if (of_a == 1 && of_b == 1) continue;
    if (!a.empty() && (a.back() == 1) == (of_a == 1) && (b.back() == 1) == (of_b == 1)) {
      a.back() *= of_a;
      b.back() *= of_b;
    } else {
      a.push_back(of_a);
      b.push_back(of_b);
    }
  }
  if (a.size() == 1 && b[0] == 1 && !shape.transpose_a) {
    result.rows *= a[0];
    a.clear();
    b.clear();
  }
  return result;
}

}  // namespace lowtide::kernels
