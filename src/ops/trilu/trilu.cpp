#include "ops/trilu/trilu.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"
#include "core/text.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

std::vector<TensorType> infer(const Trilu&, Types in) {
  if (in[0].shape.rank() < 2 || in[0].layout != core::Layout::kPlain) {
    throw fail(ErrorCode::kInvalidArgument, "cannot take a triangle of {}", in[0].str());
  }
  return {in[0]};
}

InputGradients gradient(const Trilu& a, GradientContext& g) {
  return {trilu(g.builder(), g.out_gradient(0), a)};
}

Cost cost(const Trilu&, const Signature& types) { return {.traffic = 2 * types.in[0].bytes()}; }

// Each row keeps the columns [first, end).
struct Kept {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

Kept kept_of(const Trilu& a, std::int64_t row, std::int64_t columns) {
  const auto cut = [&](std::int64_t at) { return std::clamp<std::int64_t>(at, 0, columns); };
  if (a.keep == Triangle::kUpper) return {cut(row + a.diagonal), columns};
  return {0, cut(row + a.diagonal + 1)};
}

void run_rows(const Trilu& a, const Signature& types, const Run& run) {
  const core::Shape& shape = types.in[0].shape;
  if (shape.elements() == 0) return;
  constexpr std::int64_t kBytesPerThread = 64 * 1024;
  const std::int64_t rows = shape[shape.rank() - 2];
  const std::int64_t columns = shape[shape.rank() - 1];
  const std::int64_t bytes = core::element_bytes(types.in[0].dtype).count();
  const auto copy_rows = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const Kept kept = kept_of(a, row % rows, columns);
      const std::byte* const x = run.in[0] + row * columns * bytes;
      std::byte* const y = run.out[0] + row * columns * bytes;
      std::fill(y, y + kept.first * bytes, std::byte{0});
      // y may be x: memmove.
      std::memmove(y + kept.first * bytes, x + kept.first * bytes,
                   static_cast<std::size_t>((kept.end - kept.first) * bytes));
      std::fill(y + kept.end * bytes, y + columns * bytes, std::byte{0});
    }
  };
  core::parallel_for(shape.elements() / columns, kBytesPerThread / (columns * bytes) + 1,
                     copy_rows);
}

void run_reference(const Trilu& a, const Signature& types, const Run& run) {
  const core::Shape& shape = types.in[0].shape;
  if (shape.elements() == 0) return;
  const std::int64_t rows = shape[shape.rank() - 2];
  const std::int64_t columns = shape[shape.rank() - 1];
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const std::int64_t above = i % columns - i / columns % rows;
      const bool keeps = a.keep == Triangle::kUpper ? above >= a.diagonal : above <= a.diagonal;
      run.output<T>(0)[i] = keeps ? run.input<T>(0)[i] : T{};
    }
  });
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  const ValueId x = node.required_input(0);
  Trilu attributes{.keep = node.integer("upper", 1) != 0 ? Triangle::kUpper : Triangle::kLower};
  if (const auto k = node.constant_integers(1)) {
    if (k->size() != 1) throw fail(ErrorCode::kInvalidFile, "Trilu needs one k");
    constexpr std::int64_t kFar = std::int64_t{1} << 40;
    attributes.diagonal = std::clamp(k->front(), -kFar, kFar);
  }
  return {trilu(node.builder(), x, attributes)};
}

std::optional<OnnxForm> write_onnx(const Trilu& a, const Signature&) {
  return OnnxForm{.type = "Trilu",
                  .attributes = {{"upper", std::int64_t{a.keep == Triangle::kUpper ? 1 : 0}}},
                  .constant_inputs = {std::vector<std::int64_t>{a.diagonal}}};
}

}  // namespace

const OpDef& trilu_op() {
  static const TypedOp<Trilu> op{{
      .name = "Trilu",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .onnx = {{.type = "Trilu", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "rows", .run = run_rows}, {.name = "reference", .run = run_reference}},
  }};
  return op;
}

ValueId trilu(GraphBuilder& b, ValueId x, Trilu attributes) {
  return b.add_one(trilu_op(), Attrs::of(attributes), {to_plain(b, x)});
}

}  // namespace lowtide::ops
