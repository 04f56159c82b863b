#include "ops/determinant/determinant.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parallel.h"
#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/layout/layout.h"
#include "ops/reshape/reshape.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Shape;

std::int64_t order_of(const Shape& shape) { return shape[shape.rank() - 1]; }

void check(Types in) {
  const Shape& shape = in[0].shape;
  if (!core::is_float(in[0].dtype) || in[0].layout != core::Layout::kPlain || shape.rank() < 2 ||
      order_of(shape) < 1 || shape[shape.rank() - 2] != order_of(shape)) {
    throw fail(ErrorCode::kInvalidArgument, "{} holds no square matrices", in[0].str());
  }
}

std::vector<TensorType> infer(const Determinant&, Types in) {
  check(in);
  const std::vector<std::int64_t>& dims = in[0].shape.dims();
  return {{in[0].dtype, Shape({dims.begin(), dims.end() - 2})}};
}

std::vector<TensorType> infer_cofactors(const Determinant&, Types in) {
  check(in);
  return {in[0]};
}

InputGradients gradient(const Determinant&, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId cofactors = b.add_one(cofactors_op(), Attrs::of(Determinant{}), {g.in(0)});
  std::vector<std::int64_t> dims = g.type(g.in(0)).shape.dims();
  *(dims.end() - 1) = 1;
  *(dims.end() - 2) = 1;
  return {mul(b, reshape(b, g.out_gradient(0), Shape(std::move(dims))), cofactors)};
}

Cost cost_of(const Signature& types, double power) {
  const auto order = static_cast<double>(order_of(types.in[0].shape));
  const double matrices = static_cast<double>(types.in[0].shape.elements()) / (order * order);
  return {.flops = matrices * std::pow(order, power),
          .traffic = types.in[0].bytes() + types.out[0].bytes()};
}

Cost cost(const Determinant&, const Signature& types) { return cost_of(types, 3); }

Cost cost_of_cofactors(const Determinant&, const Signature& types) { return cost_of(types, 5); }

// One matrix of doubles for each thread that works on some.
constexpr std::int64_t kParts = 16;

Bytes scratch(const Determinant&, const Signature& types) {
  const std::int64_t order = order_of(types.in[0].shape);
  return Bytes(kParts * order * order * std::int64_t{sizeof(double)});
}

// Destroys the matrix: elimination with the largest element of each column for a pivot.
double eliminate(double* m, std::int64_t n) {
  double product = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
    }
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(m + k * n, m + (k + 1) * n, m + pivot * n);
      product = -product;
    }
    product *= m[k * n + k];
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] / m[k * n + k];
      for (std::int64_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return product;
}

// Calls f(number of the matrix, room for one) for each.
template <class F>
void for_each_matrix(const Signature& types, const Run& run, F&& f) {
  const std::int64_t order = order_of(types.in[0].shape);
  const std::int64_t count = types.in[0].shape.elements() / (order * order);
  auto* const room = reinterpret_cast<double*>(run.scratch.data());
  core::parallel_for(kParts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      for (std::int64_t i = count * part / kParts; i < count * (part + 1) / kParts; ++i) {
        f(i, room + part * order * order);
      }
    }
  });
}

void run_determinant(const Determinant&, const Signature& types, const Run& run) {
  const std::int64_t order = order_of(types.in[0].shape);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(types, run, [&](std::int64_t i, double* room) {
      std::copy_n(run.input<T>(0) + i * order * order, order * order, room);
      run.output<T>(0)[i] = static_cast<T>(eliminate(room, order));
    });
  });
}

// Copies the matrix without a row and a column.
template <class T>
void copy_minor(
    const T* from, std::int64_t order, std::int64_t row, std::int64_t column, double* to) {
  for (std::int64_t i = 0; i < order; ++i) {
    if (i == row) continue;
    to = std::copy_n(from + i * order, column, to);
    to = std::copy_n(from + i * order + column + 1, order - column - 1, to);
  }
}

void run_cofactors(const Determinant&, const Signature& types, const Run& run) {
  const std::int64_t order = order_of(types.in[0].shape);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(types, run, [&](std::int64_t i, double* room) {
      for (std::int64_t row = 0; row < order; ++row) {
        for (std::int64_t column = 0; column < order; ++column) {
          copy_minor(run.input<T>(0) + i * order * order, order, row, column, room);
          const double minor = eliminate(room, order - 1);
          run.output<T>(0)[(i * order + row) * order + column] =
              static_cast<T>((row + column) % 2 == 0 ? minor : -minor);
        }
      }
    });
  });
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  return {determinant(node.builder(), node.required_input(0))};
}

std::optional<OnnxForm> write_onnx(const Determinant&, const Signature&) {
  return OnnxForm{.type = "Det"};
}

}  // namespace

const OpDef& determinant_op() {
  static const TypedOp<Determinant> op{{
      .name = "Det",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "Det", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "elimination", .scratch = scratch, .run = run_determinant}},
  }};
  return op;
}

const OpDef& cofactors_op() {
  static const TypedOp<Determinant> op{{
      .name = "Cofactors",
      .infer = infer_cofactors,
      .gradient = not_differentiable,
      .cost = cost_of_cofactors,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "minors", .scratch = scratch, .run = run_cofactors}},
  }};
  return op;
}

ValueId determinant(GraphBuilder& b, ValueId x) {
  return b.add_one(determinant_op(), Attrs::of(Determinant{}), {to_plain(b, x)});
}

}  // namespace lowtide::ops
