#include "ops/arg_max/arg_max.h"

#include "core/parallel.h"
#include "core/text.h"
#include "ops/layout/layout.h"
#include "ops/reshape/reshape.h"
#include "ops/strided.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;

std::vector<TensorType> infer(const ArgMax& a, Types in) {
  const bool numbers = core::is_float(in[0].dtype) || core::is_integer(in[0].dtype);
  if (!numbers || in[0].layout != core::Layout::kPlain || a.axis >= in[0].shape.rank() ||
      in[0].shape[a.axis] == 0) {
    throw core::fail(ErrorCode::kInvalidArgument, "{} has no answer for {} along axis {}",
                     a.smallest ? "ArgMin" : "ArgMax", in[0].str(), a.axis);
  }
  return {{DType::kInt64, in[0].shape.with(a.axis, 1), core::Layout::kPlain}};
}

Cost cost(const ArgMax&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.out[0].bytes()};
}

// Whether `next` takes the place of `best`, which stands before it.
template <class T>
bool replaces(const ArgMax& a, T best, T next) {
  if (best != best) return a.last && next != next;
  if (next != next) return true;
  if (next == best) return a.last;
  return a.smallest ? next < best : next > best;
}

template <class T>
std::int64_t place(const ArgMax& a, const T* line, std::int64_t step, std::int64_t length) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < length; ++i) {
    if (replaces(a, line[best * step], line[i * step])) best = i;
  }
  return best;
}

void run_reference(const ArgMax& a, const Signature& types, const Run& run) {
  constexpr std::int64_t kElementsPerThread = 16384;
  const AxisSplit at = split_at(types.in[0].shape, a.axis);
  std::int64_t* const y = run.output<std::int64_t>(0);
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = run.input<T>(0);
    core::parallel_for(at.outer * at.inner, kElementsPerThread / at.length + 1,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) {
                           const std::int64_t first =
                               i / at.inner * at.length * at.inner + i % at.inner;
                           y[i] = place(a, x + first, at.inner, at.length);
                         }
                       });
  });
}

ValueId apply(GraphBuilder& b, ArgMax a, ValueId x) {
  return b.add_one(arg_max_op(), Attrs::of(a), {to_plain(b, x)});
}

ValueId without_axis(GraphBuilder& b, ValueId x, std::size_t axis) {
  std::vector<std::int64_t> dims = b.type(x).shape.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return reshape(b, x, core::Shape(dims));
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const ArgMax a{.axis = core::normalized_axis(node.integer("axis", 0), b.type(x).shape.rank()),
                 .smallest = node.type() == "ArgMin",
                 .last = node.integer("select_last_index", 0) != 0};
  const ValueId kept = apply(b, a, x);
  return {node.integer("keepdims", 1) != 0 ? kept : without_axis(b, kept, a.axis)};
}

std::optional<OnnxForm> write_onnx(const ArgMax& a, const Signature&) {
  return OnnxForm{.type = a.smallest ? "ArgMin" : "ArgMax",
                  .attributes = {{"axis", static_cast<std::int64_t>(a.axis)},
                                 {"keepdims", std::int64_t{1}},
                                 {"select_last_index", std::int64_t{a.last}}}};
}

}  // namespace

const OpDef& arg_max_op() {
  static const TypedOp<ArgMax> op{{
      .name = "ArgMax",
      .infer = infer,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "ArgMax", .read = read_onnx}, {.type = "ArgMin", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "reference", .run = run_reference}},
  }};
  return op;
}

ValueId arg_max(GraphBuilder& b, ValueId x, std::int64_t axis) {
  const std::size_t at = core::normalized_axis(axis, b.type(x).shape.rank());
  return without_axis(b, apply(b, {.axis = at}, x), at);
}

}  // namespace lowtide::ops
