#include "ops/top_k/top_k.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/parallel.h"
#include "core/text.h"
#include "ops/constant/constant.h"
#include "ops/indexing/indexing.h"
#include "ops/layout/layout.h"
#include "ops/transpose/transpose.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

std::vector<TensorType> infer(const TopK& a, Types in) {
  const core::Shape& shape = in[0].shape;
  const bool numbers = core::is_float(in[0].dtype) || core::is_integer(in[0].dtype);
  if (!numbers || in[0].layout != core::Layout::kPlain || shape.rank() == 0 || a.k < 0 ||
      a.k > shape[shape.rank() - 1]) {
    throw fail(ErrorCode::kInvalidArgument, "cannot take the best {} of {}", a.k, in[0].str());
  }
  const core::Shape best = shape.with(shape.rank() - 1, a.k);
  return {{in[0].dtype, best}, {core::DType::kInt64, best}};
}

InputGradients gradient(const TopK&, GradientContext& g) {
  if (!g.out_gradient(0).valid()) return {ValueId()};
  GraphBuilder& b = g.builder();
  return {scatter_elements(b, zeros(b, g.type(g.in(0))), g.out(1), g.out_gradient(0), -1,
                           ScatterReduction::kAdd)};
}

Cost cost(const TopK&, const Signature& types) {
  return {.flops = 4.0 * static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.out[0].bytes() + types.out[1].bytes()};
}

template <class T>
bool larger(T a, T c) {
  return a > c || (a != a && c == c);
}

template <class T>
void sort_line(const TopK& a, const T* x, std::int64_t length, T* values, std::int64_t* indices) {
  const auto better = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t high = a.smallest ? j : i;
    const std::int64_t low = a.smallest ? i : j;
    if (larger(x[high], x[low])) return true;
    return !larger(x[low], x[high]) && i < j;
  };
  // A heap with the worst of the best so far in front.
  std::int64_t* const end = indices + a.k;
  std::iota(indices, end, std::int64_t{0});
  std::make_heap(indices, end, better);
  for (std::int64_t i = a.k; i < length; ++i) {
    if (!better(i, *indices)) continue;
    std::pop_heap(indices, end, better);
    *(end - 1) = i;
    std::push_heap(indices, end, better);
  }
  std::sort_heap(indices, end, better);
  for (std::int64_t i = 0; i < a.k; ++i) values[i] = x[indices[i]];
}

void run_lines(const TopK& a, const Signature& types, const Run& run) {
  constexpr std::int64_t kElementsPerThread = 4096;
  const std::int64_t length = types.in[0].shape[types.in[0].shape.rank() - 1];
  if (types.out[0].shape.elements() == 0) return;
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    core::parallel_for(types.in[0].shape.elements() / length, kElementsPerThread / length + 1,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) {
                           sort_line(a, run.input<T>(0) + i * length, length,
                                     run.output<T>(0) + i * a.k,
                                     run.output<std::int64_t>(1) + i * a.k);
                         }
                       });
  });
}

// Sorting is a matter of taste in ONNX; here the result always is.
std::vector<ValueId> read_onnx(OnnxNode& node) {
  const auto k = node.constant_integers(1);
  if (!k || k->size() != 1) throw fail(ErrorCode::kInvalidFile, "TopK needs one k");
  const TopKValues best = top_k(node.builder(), node.required_input(0), node.integer("axis", -1),
                                {.k = k->front(), .smallest = node.integer("largest", 1) == 0});
  return {best.values, best.indices};
}

std::optional<OnnxForm> write_onnx(const TopK& a, const Signature&) {
  return OnnxForm{
      .type = "TopK",
      .attributes = {{"axis", std::int64_t{-1}}, {"largest", std::int64_t{a.smallest ? 0 : 1}}},
      .constant_inputs = {std::vector<std::int64_t>{a.k}}};
}

}  // namespace

const OpDef& top_k_op() {
  static const TypedOp<TopK> op{{
      .name = "TopK",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "TopK", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "lines", .run = run_lines}},
  }};
  return op;
}

TopKValues top_k(GraphBuilder& b, ValueId x, std::int64_t axis, const TopK& a) {
  const std::size_t rank = b.type(x).shape.rank();
  const std::size_t at = core::normalized_axis(axis, rank);
  std::vector<std::size_t> swapped(rank);
  std::iota(swapped.begin(), swapped.end(), std::size_t{0});
  std::swap(swapped[at], swapped[rank - 1]);
  const ValueId lines = to_plain(b, transpose(b, x, swapped));
  const std::vector<ValueId> out = b.add(top_k_op(), Attrs::of(a), {lines});
  return {.values = transpose(b, out[0], swapped), .indices = transpose(b, out[1], swapped)};
}

}  // namespace lowtide::ops
