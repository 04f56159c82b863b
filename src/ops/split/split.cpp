#include "ops/split/split.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/text.h"
#include "ops/concat/concat.h"
#include "ops/constant/constant.h"
#include "ops/movement.h"
#include "ops/reshape/reshape.h"
#include "ops/split/rotary_embedding.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

constexpr std::int64_t kMostPieces = 1 << 16;  // of a sequence: each is a value of the graph

std::vector<TensorType> infer(const Split& a, Types in) {
  const core::Shape& shape = in[0].shape;
  std::vector<TensorType> parts;
  std::int64_t left = a.axis < shape.rank() ? shape[a.axis] : -1;
  for (const std::int64_t length : a.lengths) {
    if (length < 0 || length > left) {
      left = -1;
      break;
    }
    parts.push_back({in[0].dtype, shape.with(a.axis, length), in[0].layout});
    left -= length;
  }
  if (left != 0) {
    throw fail(ErrorCode::kInvalidArgument, "cannot split {} along axis {} into {}", in[0].str(),
               a.axis, core::text("{}", a.lengths));
  }
  return parts;
}

// Parts that nothing reads have a gradient of zero.
InputGradients gradient(const Split& a, GradientContext& g) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < a.lengths.size(); ++i) {
    const ValueId part = g.out_gradient(i);
    parts.push_back(part.valid() ? part : zeros(g.builder(), g.type(g.out(i))));
  }
  return {concat(g.builder(), std::move(parts), static_cast<std::int64_t>(a.axis))};
}

std::vector<Movement> movements(const Split& a, const Signature& types) {
  std::vector<Movement> all;
  View from = view_of(types.in[0]);
  for (std::size_t i = 0; i < types.out.size(); ++i) {
    const core::Shape& shape = types.out[i].shape;
    all.push_back({.dims = shape.dims(),
                   .from = from,
                   .output = static_cast<int>(i),
                   .to = view_of(types.out[i])});
    from.first += shape[a.axis] * from.strides[a.axis];
  }
  return all;
}

// Lengths come as an attribute before opset 13 and as an input from then on. Without either the
// axis is cut into equal parts, as many as there are outputs or as num_outputs says (opset 18; the
// last part may then be smaller).
std::vector<ValueId> read_onnx(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::Shape shape = b.type(x).shape;
  const std::int64_t axis = node.integer("axis", 0);
  const std::int64_t length = shape[core::normalized_axis(axis, shape.rank())];
  if (node.has("split")) return split(b, x, axis, node.integers("split"));
  if (const auto lengths = node.constant_integers(1)) return split(b, x, axis, *lengths);
  const auto outputs = static_cast<std::int64_t>(node.output_count());
  const std::int64_t parts = node.integer("num_outputs", outputs);
  if (parts > outputs) {
    throw fail(ErrorCode::kInvalidFile, "Split into {} parts has {} outputs", parts, outputs);
  }
  if (parts <= 0 || (length % parts != 0 && !node.has("num_outputs"))) {
    throw fail(ErrorCode::kInvalidFile, "Split cannot cut {} into {} equal parts", shape.str(),
               parts);
  }
  const std::int64_t each = (length + parts - 1) / parts;
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(parts), each);
  lengths.back() = length - (parts - 1) * each;
  return split(b, x, axis, std::move(lengths));
}

// The pieces of a sequence: lengths, or one length for all but a shorter last piece, or single
// places, whose axis goes unless keepdims says otherwise.
std::vector<ValueId> read_sequence(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::Shape shape = b.type(x).shape;
  const std::int64_t axis = node.integer("axis", 0);
  const std::size_t at = core::normalized_axis(axis, shape.rank());
  const std::int64_t length = shape[at];
  const auto given = node.constant_integers(1);
  if (given && b.type(node.input(1)).shape.rank() > 0) return split(b, x, axis, *given);
  const std::int64_t each = given ? given->front() : 1;
  if (each <= 0) {
    throw fail(ErrorCode::kInvalidFile, "SplitToSequence cannot cut pieces of {}", each);
  }
  if (length / each > kMostPieces) {
    throw fail(ErrorCode::kUnsupported, "SplitToSequence would cut {} into {} pieces, more than {}",
               shape.str(), length / each, kMostPieces);
  }
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(length / each), each);
  if (length % each != 0) lengths.push_back(length % each);
  std::vector<ValueId> pieces = split(b, x, axis, std::move(lengths));
  if (!given && node.integer("keepdims", 1) == 0) {
    std::vector<std::int64_t> dims = shape.dims();
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
    for (ValueId& piece : pieces) piece = reshape(b, piece, core::Shape(dims));
  }
  return pieces;
}

std::optional<OnnxForm> write_onnx(const Split& a, const Signature&) {
  return OnnxForm{.type = "Split",
                  .attributes = {{"axis", static_cast<std::int64_t>(a.axis)}},
                  .constant_inputs = {a.lengths}};
}

}  // namespace

const OpDef& split_op() {
  static const TypedOp<Split> op{{
      .name = "Split",
      .infer = infer,
      .gradient = gradient,
      .cost = cost_of_moving<Split>,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "Split", .read = read_onnx},
               {.type = "SplitToSequence", .read = read_sequence},
               {.type = "RotaryEmbedding", .read = read_rotary_embedding}},
      .onnx_form = write_onnx,
      .kernels = {copies<Split, movements>(), element_by_element<Split, movements>()},
  }};
  return op;
}

std::vector<ValueId> split(GraphBuilder& b,
                           ValueId x,
                           std::int64_t axis,
                           std::vector<std::int64_t> lengths) {
  const core::Shape& shape = b.type(x).shape;
  const std::size_t at = core::normalized_axis(axis, shape.rank());
  if (lengths.size() == 1 && lengths[0] == shape[at]) return {x};
  if (lengths.empty() && shape[at] == 0) return {};  // a node has outputs
  return b.add(split_op(), Attrs::of(Split{.axis = at, .lengths = std::move(lengths)}), {x});
}

}  // namespace lowtide::ops
