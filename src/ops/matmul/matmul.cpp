#include "ops/matmul/matmul.h"

#include <algorithm>

#include "core/parallel.h"
#include "core/text.h"
#include "kernels/dnnl/matmul.h"
#include "kernels/simd/product/matmul.h"
#include "ops/binary/binary.h"
#include "ops/computation_kernel.h"
#include "ops/einsum/einsum.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/layout/layout.h"
#include "ops/planned_kernel.h"
#include "ops/recurrence/linear_attention.h"
#include "ops/recurrence/recurrence.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/spectrum/spectrum.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Shape;

// The sizes of one product.
struct Sizes {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
};

std::int64_t from_end(const Shape& shape, std::size_t i) { return shape[shape.rank() - i]; }

Sizes sizes(const MatMul& a, const Shape& left, const Shape& right) {
  return {.rows = from_end(left, a.transpose_a ? 1 : 2),
          .columns = from_end(right, a.transpose_b ? 2 : 1),
          .depth = from_end(left, a.transpose_a ? 2 : 1)};
}

// The axes before the last two.
Shape batch_of(const Shape& shape) {
  return Shape(std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end() - 2));
}

bool is_row(const Shape& shape, std::int64_t columns) {
  return shape.rank() >= 1 && from_end(shape, 1) == columns && shape.elements() == columns;
}

std::vector<TensorType> infer(const MatMul& a, Types in) {
  const Shape& left = in[0].shape;
  const Shape& right = in[1].shape;
  const bool plain = std::all_of(in.begin(), in.end(), [&](const TensorType& type) {
    return core::is_float(type.dtype) && type.dtype == in[0].dtype &&
           type.layout == core::Layout::kPlain;
  });
  if (!plain || left.rank() < 2 || right.rank() < 2 ||
      from_end(left, a.transpose_a ? 2 : 1) != from_end(right, a.transpose_b ? 1 : 2)) {
    throw fail(ErrorCode::kInvalidArgument, "cannot multiply {}{} by {}{}", in[0].str(),
               a.transpose_a ? " (transposed)" : "", in[1].str(),
               a.transpose_b ? " (transposed)" : "");
  }
  const Sizes size = sizes(a, left, right);
  if (a.bias && (in[2].shape.rank() > 2 || !is_row(in[2].shape, size.columns))) {
    throw fail(ErrorCode::kInvalidArgument, "a bias {} is no row of {} columns", in[2].str(),
               size.columns);
  }
  std::vector<std::int64_t> dims = core::broadcast(batch_of(left), batch_of(right)).dims();
  dims.push_back(size.rows);
  dims.push_back(size.columns);
  return {{in[0].dtype, Shape(std::move(dims)), core::Layout::kPlain}};
}

Cost cost(const MatMul& a, const Signature& types) {
  const Sizes size = sizes(a, types.in[0].shape, types.in[1].shape);
  Bytes traffic = types.out[0].bytes();
  for (const TensorType& type : types.in) traffic += type.bytes();
  return {.flops = 2.0 * static_cast<double>(types.out[0].shape.elements()) *
                   static_cast<double>(size.depth),
          .traffic = traffic};
}

// All matrices of a batch below one another.
ValueId stacked(GraphBuilder& b, ValueId x) {
  const Shape shape = b.type(x).shape;
  const std::int64_t rows = batch_of(shape).elements() * from_end(shape, 2);
  return reshape(b, x, Shape{rows, from_end(shape, 1)});
}

// Whether an op is soon computed again, from what its own gradient reads anyway.
bool computed_soon(const OpDef* op) {
  return op == &unary_op(UnaryKind::kGelu) || op == &unary_op(UnaryKind::kGeluTanh) ||
         op == &layer_norm_op();
}

// The node that computes the same in the backward pass, if one of the newest does.
const Node* find_again(const Graph& graph, const Node& node) {
  constexpr std::size_t kNewest = 64;
  const std::size_t count = graph.node_count();
  for (std::size_t i = count; i-- > (count > kNewest ? count - kNewest : 0);) {
    const Node& other = graph.node(NodeId(i));
    if (other.phase != Phase::kBackward) return nullptr;
    if (other.op == node.op && other.inputs == node.inputs && other.attrs == node.attrs) {
      return &other;
    }
  }
  return nullptr;
}

// x as the backward pass computes it again, so that it need not be kept; or x itself.
ValueId again(GraphBuilder& b, ValueId x) {
  const NodeId producer = b.graph().value(x).producer;
  if (!producer.valid()) return x;
  const Node node = b.graph().node(producer);  // a copy: new nodes move the graph's
  if (node.op == &reshape_op()) {
    const ValueId inner = again(b, node.inputs[0]);
    const Shape shape = b.type(x).shape;
    return inner == node.inputs[0] ? x : reshape(b, inner, shape);
  }
  if (!computed_soon(node.op) || node.phase != Phase::kForward) return x;
  if (const Node* const same = find_again(b.graph(), node)) return same->outputs[0];
  return b.add(*node.op, node.attrs, node.inputs)[0];
}

// d(op(a) c) / dc = op(a)' dy, transposed as c is stored. Where every matrix of a met the same c,
// the sum over the batch is one product of tall matrices.
ValueId right_gradient(const MatMul& a, GradientContext& g, ValueId dy) {
  GraphBuilder& b = g.builder();
  const Shape shape = g.type(g.in(1)).shape;
  ValueId left = g.kept_for_backward(g.in(0)) ? g.in(0) : again(b, g.in(0));
  if (batch_of(shape).elements() == 1 && !a.transpose_a) {
    left = stacked(b, left);
    dy = stacked(b, dy);
  }
  const ValueId result =
      a.transpose_b ? matmul(b, dy, left, {.transpose_a = true, .transpose_b = a.transpose_a})
                    : matmul(b, left, dy, {.transpose_a = !a.transpose_a});
  return b.type(result).shape.elements() == shape.elements() ? reshape(b, result, shape)
                                                             : sum_to(b, result, shape);
}

ValueId left_gradient(const MatMul& a, GradientContext& g, ValueId dy) {
  GraphBuilder& b = g.builder();
  const Shape shape = g.type(g.in(0)).shape;
  const ValueId result =
      a.transpose_a ? matmul(b, g.in(1), dy, {.transpose_a = a.transpose_b, .transpose_b = true})
                    : matmul(b, dy, g.in(1), {.transpose_b = !a.transpose_b});
  return b.type(result).shape.elements() == shape.elements() ? reshape(b, result, shape)
                                                             : sum_to(b, result, shape);
}

// The gradient of the right side, most often the weights, comes first: after it the left side, most
// often the activation, is no longer needed.
InputGradients gradient(const MatMul& a, GradientContext& g) {
  const ValueId dy = to_plain(g.builder(), g.out_gradient(0));
  InputGradients result(g.input_count());
  if (g.needs(1)) result[1] = right_gradient(a, g, dy);
  if (a.bias && g.needs(2)) {
    const Shape row = g.type(g.in(2)).shape;  // a copy: new nodes move the graph's values
    result[2] = sum_to(g.builder(), dy, row);
  }
  if (g.needs(0)) result[0] = left_gradient(a, g, dy);
  return result;
}

kernels::MatmulShape matmul_shape(const MatMul& a, const Signature& types) {
  const Shape& left = types.in[0].shape;
  const Shape& right = types.in[1].shape;
  const Sizes size = sizes(a, left, right);
  const auto batch = [&](const Shape& shape) {
    std::vector<std::int64_t> dims = batch_of(shape).dims();
    dims.insert(dims.begin(), types.out[0].shape.rank() - shape.rank(), 1);
    return dims;
  };
  return {.batch_a = batch(left),
          .batch_b = batch(right),
          .rows = size.rows,
          .columns = size.columns,
          .depth = size.depth,
          .transpose_a = a.transpose_a,
          .transpose_b = a.transpose_b,
          .bias = a.bias};
}

std::unique_ptr<BoundKernel> bind_dnnl(const MatMul& a,
                                       const Signature& types,
                                       const core::Machine&) {
  return bind_computation("dnnl", kernels::make_matmul(matmul_shape(a, types)));
}

void run_tiles(const kernels::MatmulShape& shape, const Run& run) {
  kernels::matmul(shape, run.input<float>(0), run.input<float>(1),
                  shape.bias ? run.input<float>(2) : nullptr, run.output<float>(0),
                  reinterpret_cast<float*>(run.scratch.data()));
}

std::unique_ptr<BoundKernel> bind_tiles(const MatMul& a,
                                        const Signature& types,
                                        const core::Machine&) {
  const kernels::MatmulShape shape = kernels::simplified(matmul_shape(a, types));
  const Bytes scratch(kernels::matmul_scratch(shape) * static_cast<std::int64_t>(sizeof(float)));
  return std::make_unique<PlannedKernel<kernels::MatmulShape>>("simd_tiles", run_tiles, shape,
                                                               scratch);
}

bool float_and_not_empty(const MatMul&, const Signature& types) {
  return types.out[0].dtype == core::DType::kFloat32 && types.out[0].shape.elements() > 0 &&
         types.in[0].shape.elements() > 0;
}

// The library reads a right side that lies in rows where it lies: at some widths (2560, 3072, 3584)
// that takes up to twice as long as packing it first.
bool fast_by_library(const MatMul& a, const Signature& types) {
  constexpr std::int64_t kWide = 512;
  return float_and_not_empty(a, types) &&
         (a.transpose_b || sizes(a, types.in[0].shape, types.in[1].shape).columns < kWide);
}

// Where the matrix of `from` begins that goes into matrix `index` of the product's batch.
std::int64_t matrix_offset(const Shape& from, const Shape& product, std::int64_t index) {
  std::int64_t offset = 0;
  std::int64_t stride = from_end(from, 1) * from_end(from, 2);
  for (std::size_t i = 3; i <= from.rank(); ++i) {
    const std::int64_t at = index % from_end(product, i);
    index /= from_end(product, i);
    if (from_end(from, i) != 1) offset += at * stride;
    stride *= from_end(from, i);
  }
  return offset;
}

void run_reference(const MatMul& a, const Signature& types, const Run& run) {
  const Shape& left = types.in[0].shape;
  const Shape& right = types.in[1].shape;
  const Shape& product = types.out[0].shape;
  const Sizes size = sizes(a, left, right);
  if (product.elements() == 0) return;
  const std::int64_t a_row = a.transpose_a ? 1 : size.depth;
  const std::int64_t a_depth = a.transpose_a ? size.rows : 1;
  const std::int64_t b_column = a.transpose_b ? size.depth : 1;
  const std::int64_t b_depth = a.transpose_b ? 1 : size.columns;
  core::visit_float(types.out[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const bias = a.bias ? run.input<T>(2) : nullptr;
    const std::int64_t rows = product.elements() / size.columns;
    core::parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t matrix = i / size.rows;
        const T* const x =
            run.input<T>(0) + matrix_offset(left, product, matrix) + i % size.rows * a_row;
        const T* const w = run.input<T>(1) + matrix_offset(right, product, matrix);
        T* const y = run.output<T>(0) + i * size.columns;
        for (std::int64_t j = 0; j < size.columns; ++j) {
          double sum = bias == nullptr ? 0.0 : double(bias[j]);
          for (std::int64_t k = 0; k < size.depth; ++k) {
            sum += double(x[k * a_depth]) * double(w[j * b_column + k * b_depth]);
          }
          y[j] = static_cast<T>(sum);
        }
      }
    });
  });
}

std::vector<ValueId> read_matmul(OnnxNode& node) {
  return {matmul(node.builder(), node.required_input(0), node.required_input(1))};
}

// alpha A' B' + beta C. C may be left out from opset 11 on.
std::vector<ValueId> read_gemm(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId a = node.required_input(0);
  const ValueId c = node.required_input(1);
  if (b.type(a).shape.rank() != 2 || b.type(c).shape.rank() != 2) {
    throw fail(ErrorCode::kInvalidFile, "Gemm needs two matrices, got {} and {}", b.type(a).str(),
               b.type(c).str());
  }
  const MatMul attributes{.transpose_a = node.integer("transA", 0) != 0,
                          .transpose_b = node.integer("transB", 0) != 0};
  const auto alpha = double(node.real("alpha", 1.0F));
  const auto beta = double(node.real("beta", 1.0F));
  ValueId bias = node.input(2);
  if (beta == 0.0) bias = {};
  if (bias.valid() && beta != 1.0) bias = scale(b, bias, beta);
  if (alpha == 1.0) return {gemm(b, a, c, bias, attributes)};
  const ValueId product = scale(b, matmul(b, a, c, attributes), alpha);
  return {bias.valid() ? add(b, product, bias) : product};
}

std::optional<OnnxForm> write_onnx(const MatMul& a, const Signature& types) {
  if (!a.transpose_a && !a.transpose_b && !a.bias) return OnnxForm{.type = "MatMul"};
  if (types.out[0].shape.rank() != 2) return std::nullopt;
  return OnnxForm{.type = "Gemm",
                  .attributes = {{"transA", std::int64_t{a.transpose_a ? 1 : 0}},
                                 {"transB", std::int64_t{a.transpose_b ? 1 : 0}}}};
}

}  // namespace

const OpDef& matmul_op() {
  static const TypedOp<MatMul> op{{
      .name = "MatMul",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .slots = {{.input = 0}, {.input = 1}, {.input = 2}},
      .onnx = {{.type = "MatMul", .read = read_matmul},
               {.type = "Gemm", .read = read_gemm},
               {.type = "Einsum", .read = read_einsum},
               {.type = "DFT", .read = read_dft},
               {.type = "STFT", .read = read_stft},
               {.type = "RNN", .read = read_rnn},
               {.type = "GRU", .read = read_gru},
               {.type = "LSTM", .read = read_lstm},
               {.type = "LinearAttention", .read = read_linear_attention}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "dnnl", .supports = fast_by_library, .bind = bind_dnnl},
                  {.name = "simd_tiles", .supports = float_and_not_empty, .bind = bind_tiles},
                  {.name = "reference", .run = run_reference}},
  }};
  return op;
}

ValueId matmul(GraphBuilder& b, ValueId a, ValueId c, MatMul attributes) {
  attributes.bias = false;
  const std::size_t rank_a = b.type(a).shape.rank();
  const std::size_t rank_c = b.type(c).shape.rank();
  if (rank_a == 1) {
    a = reshape(b, a, Shape{1, b.type(a).shape[0]});
    attributes.transpose_a = false;
  }
  if (rank_c == 1) {
    c = reshape(b, c, Shape{b.type(c).shape[0], 1});
    attributes.transpose_b = false;
  }
  const ValueId y = b.add_one(matmul_op(), Attrs::of(attributes), {to_plain(b, a), to_plain(b, c)});
  if (rank_a != 1 && rank_c != 1) return y;
  std::vector<std::int64_t> dims = b.type(y).shape.dims();
  if (rank_c == 1) dims.pop_back();
  if (rank_a == 1) dims.erase(dims.end() - (rank_c == 1 ? 1 : 2));
  return reshape(b, y, Shape(std::move(dims)));
}

ValueId gemm(GraphBuilder& b, ValueId a, ValueId c, ValueId bias, MatMul attributes) {
  if (!bias.valid()) return matmul(b, a, c, attributes);
  const Shape left = b.type(a).shape;
  const Shape right = b.type(c).shape;
  const Shape& row = b.type(bias).shape;
  const bool one_row = left.rank() >= 2 && right.rank() >= 2 && row.rank() <= 2 &&
                       is_row(row, sizes(attributes, left, right).columns);
  if (!one_row) return add(b, matmul(b, a, c, attributes), bias);
  attributes.bias = true;
  return b.add_one(matmul_op(), Attrs::of(attributes),
                   {to_plain(b, a), to_plain(b, c), to_plain(b, bias)});
}

}  // namespace lowtide::ops
