#include "ops/layout/layout.h"

#include <cstring>

#include "core/parallel.h"
#include "core/text.h"
#include "ops/strided.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::Layout;

std::vector<TensorType> infer(const ConvertLayout& a, Types in) {
  if (a.to == Layout::kChannelsLast && in[0].shape.rank() < 3) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "channels-last needs a tensor of rank 3 or more, got {}", in[0].str());
  }
  return {{in[0].dtype, in[0].shape, a.to}};
}

InputGradients gradient(const ConvertLayout&, GradientContext& g) {
  return {to_layout(g.builder(), g.out_gradient(0), g.type(g.in(0)).layout)};
}

Cost cost(const ConvertLayout&, const Signature& types) {
  if (core::layouts_coincide(types.in[0].shape)) return {};
  return {.traffic = 2 * types.in[0].bytes()};
}

std::vector<Alias> sharing(const ConvertLayout&, const Signature& types) {
  if (!core::layouts_coincide(types.in[0].shape)) return {};
  return {{.output = 0, .input = 0, .sharing = Sharing::kView}};
}

// Transposes rows x columns to columns x rows in square tiles, so that both sides stay in cache.
template <class T>
void transpose(const T* x, T* y, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t r = 0; r < rows; r += kTile) {
    for (std::int64_t c = 0; c < columns; c += kTile) {
      const std::int64_t r_end = std::min(r + kTile, rows);
      const std::int64_t c_end = std::min(c + kTile, columns);
      for (std::int64_t i = r; i < r_end; ++i) {
        for (std::int64_t j = c; j < c_end; ++j) y[j * rows + i] = x[i * columns + j];
      }
    }
  }
}

// One sample is a channels x pixels matrix in one layout and its transpose in the other.
void run_transpose(const ConvertLayout& a, const Signature& types, const Run& run) {
  const core::Shape& shape = types.in[0].shape;
  if (shape.elements() == 0) return;
  const std::int64_t samples = shape[0];
  const std::int64_t channels = shape[1];
  const std::int64_t pixels = shape.elements() / (samples * channels);
  const bool to_last = a.to == Layout::kChannelsLast;
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = run.input<T>(0);
    T* const y = run.output<T>(0);
    core::parallel_for(samples, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const std::int64_t at = n * channels * pixels;
        transpose(x + at, y + at, to_last ? channels : pixels, to_last ? pixels : channels);
      }
    });
  });
}

bool moves(const ConvertLayout& a, const Signature& types) { return types.in[0].layout != a.to; }

void run_reference(const ConvertLayout&, const Signature& types, const Run& run) {
  const std::vector<std::int64_t> from = core::strides(types.in[0]);
  const std::vector<std::int64_t> to = core::strides(types.out[0]);
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = run.input<T>(0);
    T* const y = run.output<T>(0);
    if (static_cast<const void*>(x) == static_cast<const void*>(y)) return;  // a view
    for (Index i(types.in[0].shape); i.valid(); i.next()) y[i.offset(to)] = x[i.offset(from)];
  });
}

// ONNX has no layouts: the node stands for its input.
std::optional<OnnxForm> write_onnx(const ConvertLayout&, const Signature&) {
  return OnnxForm{.type = ""};
}

}  // namespace

const OpDef& convert_layout_op() {
  static const TypedOp<ConvertLayout> op{{
      .name = "ConvertLayout",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .alias_rule = sharing,
      .onnx_form = write_onnx,
      .kernels = {{.name = "tiled", .supports = moves, .run = run_transpose},
                  {.name = "reference", .run = run_reference}},
  }};
  return op;
}

ValueId to_layout(GraphBuilder& b, ValueId x, Layout layout) {
  const Value& value = b.graph().value(x);
  if (value.type.layout == layout) return x;
  if (value.producer.valid()) {
    const Node& producer = b.graph().node(value.producer);
    if (producer.op == &convert_layout_op() && b.type(producer.inputs[0]).layout == layout) {
      return producer.inputs[0];
    }
  }
  return b.add_one(convert_layout_op(), Attrs::of(ConvertLayout{.to = layout}), {x});
}

ValueId to_plain(GraphBuilder& b, ValueId x) { return to_layout(b, x, Layout::kPlain); }

ValueId to_channels_last(GraphBuilder& b, ValueId x) {
  return to_layout(b, x, Layout::kChannelsLast);
}

}  // namespace lowtide::ops
