#include "ops/indexing/indexing.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/text.h"
#include "ops/gather/gather.h"
#include "ops/indexing/indexing_gradients.h"
#include "ops/indexing/indexing_kernels.h"
#include "ops/indexing/sequences.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Shape;
using Dims = std::vector<std::int64_t>;

constexpr std::array<std::string_view, 5> kReductions = {"none", "add", "mul", "max", "min"};

// Whether the indices fit the data, but for what they hold.
bool fits(const Indexing& at, const Shape& data, const Shape& indices) {
  if (at.by == Addressing::kElements) {
    if (at.axis >= data.rank() || indices.rank() != data.rank()) return false;
    for (std::size_t i = 0; i < data.rank(); ++i) {
      if (i != at.axis && indices[i] > data[i]) return false;
    }
    return true;
  }
  if (indices.rank() <= at.batch_dims || data.rank() <= at.batch_dims) return false;
  const std::int64_t depth = indices[indices.rank() - 1];
  return depth >= 1 && depth <= static_cast<std::int64_t>(data.rank() - at.batch_dims) &&
         std::equal(data.dims().begin(),
                    data.dims().begin() + static_cast<std::ptrdiff_t>(at.batch_dims),
                    indices.dims().begin());
}

// The shape of what the indices name, all together.
Shape named_shape(const Indexing& at, const Shape& data, const Shape& indices) {
  if (at.by == Addressing::kElements) return indices;
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  const auto behind = static_cast<std::int64_t>(at.batch_dims) + indices[indices.rank() - 1];
  dims.insert(dims.end(), data.dims().begin() + behind, data.dims().end());
  return Shape(std::move(dims));
}

void check(const Indexing& at, Types in) {
  const bool plain = std::all_of(in.begin(), in.end(), [](const TensorType& type) {
    return type.layout == core::Layout::kPlain;
  });
  if (!plain || !is_index_type(in[1].dtype) || !fits(at, in[0].shape, in[1].shape)) {
    throw fail(ErrorCode::kInvalidArgument, "{} (axis {}, {} batch axes) do not index {}",
               in[1].str(), at.axis, at.batch_dims, in[0].str());
  }
}

std::vector<TensorType> infer_gather(const Indexing& at, Types in) {
  check(at, in);
  return {{in[0].dtype, named_shape(at, in[0].shape, in[1].shape), core::Layout::kPlain}};
}

std::vector<TensorType> infer_scatter(const Scatter& a, Types in) {
  check(a.at, in);
  const bool number = core::is_float(in[0].dtype) || core::is_integer(in[0].dtype);
  if (in[2].dtype != in[0].dtype || (!number && a.reduction != ScatterReduction::kNone) ||
      in[2].shape != named_shape(a.at, in[0].shape, in[1].shape)) {
    throw fail(ErrorCode::kInvalidArgument, "{} do not update {} at {} (reduction {})", in[2].str(),
               in[0].str(), in[1].str(), kReductions[static_cast<std::size_t>(a.reduction)]);
  }
  return {in[0]};
}

Cost cost_of_gather(const Indexing&, const Signature& types) {
  return {.traffic = types.in[1].bytes() + 2 * types.out[0].bytes()};
}

Cost cost_of_scatter(const Scatter&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[2].shape.elements()),
          .traffic = types.in[1].bytes() + 3 * types.in[2].bytes() + 2 * types.out[0].bytes()};
}

std::vector<ValueId> read_gather(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId data = node.required_input(0);
  const ValueId indices = node.required_input(1);
  if (node.type() == "GatherElements") {
    return {gather_elements(b, data, indices, node.integer("axis", 0))};
  }
  const std::int64_t batch_dims = node.integer("batch_dims", 0);
  if (batch_dims < 0) throw fail(ErrorCode::kInvalidFile, "batch_dims = {}", batch_dims);
  return {gather_nd(b, data, indices, static_cast<std::size_t>(batch_dims))};
}

// Scatter is what ScatterElements was called before opset 11.
std::vector<ValueId> read_scatter(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::string name = node.string("reduction", "none");
  const auto* const found = std::find(kReductions.begin(), kReductions.end(), name);
  if (found == kReductions.end()) {
    throw fail(ErrorCode::kInvalidFile, "unknown reduction \"{}\"", name);
  }
  const auto reduction = static_cast<ScatterReduction>(found - kReductions.begin());
  const ValueId data = node.required_input(0);
  const ValueId indices = node.required_input(1);
  const ValueId updates = node.required_input(2);
  if (node.type() == "ScatterND") return {scatter_nd(b, data, indices, updates, reduction)};
  return {scatter_elements(b, data, indices, updates, node.integer("axis", 0), reduction)};
}

std::optional<OnnxForm> write_gather(const Indexing& at, const Signature&) {
  if (at.zero_outside) return std::nullopt;
  if (at.by == Addressing::kElements) {
    return OnnxForm{.type = "GatherElements",
                    .attributes = {{"axis", static_cast<std::int64_t>(at.axis)}}};
  }
  return OnnxForm{.type = "GatherND",
                  .attributes = {{"batch_dims", static_cast<std::int64_t>(at.batch_dims)}}};
}

// ScatterND has no batch axes.
std::optional<OnnxForm> write_scatter(const Scatter& a, const Signature&) {
  if (a.at.batch_dims != 0) return std::nullopt;
  const bool elements = a.at.by == Addressing::kElements;
  OnnxForm form{.type = elements ? "ScatterElements" : "ScatterND"};
  form.attributes = {
      {"reduction", std::string(kReductions[static_cast<std::size_t>(a.reduction)])}};
  if (elements) form.attributes.emplace_back("axis", static_cast<std::int64_t>(a.at.axis));
  return form;
}

OpCard<Indexing> gather_card(std::string_view name) {
  return {.name = name,
          .infer = infer_gather,
          .gradient = gradient_of_gather,
          .cost = cost_of_gather,
          .repeat = Repeat::kExact,
          .onnx = {{.type = name, .read = read_gather}},
          .onnx_form = write_gather,
          .kernels = {{.name = "entries", .bind = bind_gather}}};
}

OpCard<Scatter> scatter_card(std::string_view name) {
  return {.name = name,
          .infer = infer_scatter,
          .gradient = gradient_of_scatter,
          .cost = cost_of_scatter,
          .repeat = Repeat::kExact,
          .aliases = {{.output = 0, .input = 0}},
          .onnx = {{.type = name, .read = read_scatter}},
          .onnx_form = write_scatter,
          .kernels = {{.name = "entries", .bind = bind_scatter}}};
}

void check_constant_places(GraphBuilder& b, const Indexing& at, ValueId data, ValueId indices) {
  check_constant_indices(b, indices,
                         indexed_lengths(at, b.type(data).shape, b.type(indices).shape));
}

ValueId checked_gather(GraphBuilder& b, const Indexing& at, ValueId data, ValueId indices) {
  const ValueId result = gather_at(b, at, to_plain(b, data), to_plain(b, indices));
  check_constant_places(b, at, data, indices);
  return result;
}

ValueId checked_scatter(
    GraphBuilder& b, const Scatter& a, ValueId data, ValueId indices, ValueId updates) {
  const ValueId result =
      scatter_at(b, a, to_plain(b, data), to_plain(b, indices), to_plain(b, updates));
  check_constant_places(b, a.at, data, indices);
  return result;
}

Indexing along(GraphBuilder& b, ValueId data, std::int64_t axis) {
  return {.axis = core::normalized_axis(axis, b.type(data).shape.rank())};
}

}  // namespace

const OpDef& gather_elements_op() {
  static const TypedOp<Indexing> op([] {
    OpCard<Indexing> card = gather_card("GatherElements");
    card.slots = {{.input = 0}};
    return card;
  }());
  return op;
}

const OpDef& gather_nd_op() {
  static const TypedOp<Indexing> op([] {
    OpCard<Indexing> card = gather_card("GatherND");
    card.onnx.push_back({.type = "ReverseSequence", .read = read_reverse_sequence});
    return card;
  }());
  return op;
}

const OpDef& scatter_elements_op() {
  static const TypedOp<Scatter> op([] {
    OpCard<Scatter> card = scatter_card("ScatterElements");
    card.onnx.push_back({.type = "Scatter", .read = read_scatter});
    card.onnx.push_back({.type = "MaxUnpool", .read = read_max_unpool});
    return card;
  }());
  return op;
}

const OpDef& scatter_nd_op() {
  static const TypedOp<Scatter> op(scatter_card("ScatterND"));
  return op;
}

ValueId gather_at(GraphBuilder& b, const Indexing& at, ValueId data, ValueId indices) {
  const OpDef& op = at.by == Addressing::kElements ? gather_elements_op() : gather_nd_op();
  return b.add_one(op, Attrs::of(at), {data, indices});
}

ValueId scatter_at(
    GraphBuilder& b, const Scatter& a, ValueId data, ValueId indices, ValueId updates) {
  const OpDef& op = a.at.by == Addressing::kElements ? scatter_elements_op() : scatter_nd_op();
  return b.add_one(op, Attrs::of(a), {data, indices, updates});
}

ValueId gather_elements(GraphBuilder& b, ValueId data, ValueId indices, std::int64_t axis) {
  return checked_gather(b, along(b, data, axis), data, indices);
}

ValueId gather_nd(GraphBuilder& b, ValueId data, ValueId indices, std::size_t batch_dims) {
  return checked_gather(b, {.by = Addressing::kTuples, .batch_dims = batch_dims}, data, indices);
}

ValueId scatter_elements(GraphBuilder& b,
                         ValueId data,
                         ValueId indices,
                         ValueId updates,
                         std::int64_t axis,
                         ScatterReduction reduction) {
  return checked_scatter(b, {.at = along(b, data, axis), .reduction = reduction}, data, indices,
                         updates);
}

ValueId scatter_nd(
    GraphBuilder& b, ValueId data, ValueId indices, ValueId updates, ScatterReduction reduction) {
  return checked_scatter(b, {.at = {.by = Addressing::kTuples}, .reduction = reduction}, data,
                         indices, updates);
}

}  // namespace lowtide::ops
