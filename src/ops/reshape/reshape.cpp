#include "ops/reshape/reshape.h"

#include <algorithm>
#include <cstring>

#include "core/text.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

core::Shape resolve(const Reshape& a, const core::Shape& from) {
  std::vector<std::int64_t> dims = a.target;
  std::int64_t known = 1;
  std::ptrdiff_t free_axis = -1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !a.allow_zero) {
      if (i >= from.rank()) {
        throw fail(ErrorCode::kInvalidArgument, "cannot reshape {} to {}: no dimension {} to copy",
                   from.str(), core::text("{}", a.target), i);
      }
      dims[i] = from[i];
    }
    if (dims[i] == -1) {
      if (free_axis >= 0) {
        throw fail(ErrorCode::kInvalidArgument, "a reshape target has two free dimensions");
      }
      free_axis = static_cast<std::ptrdiff_t>(i);
      dims[i] = 1;
    }
  }
  known = core::Shape(dims).elements();
  if (free_axis >= 0) {
    dims[static_cast<std::size_t>(free_axis)] = known == 0 ? 0 : from.elements() / known;
  }
  const core::Shape result(dims);
  if (result.elements() != from.elements()) {
    throw fail(ErrorCode::kInvalidArgument, "cannot reshape {} to {}: {} elements against {}",
               from.str(), result.str(), from.elements(), result.elements());
  }
  return result;
}

std::vector<TensorType> infer(const Reshape& a, Types in) {
  if (in[0].layout != core::Layout::kPlain) {
    throw fail(ErrorCode::kInvalidArgument, "cannot reshape {}", in[0].str());
  }
  return {{in[0].dtype, resolve(a, in[0].shape), core::Layout::kPlain}};
}

InputGradients gradient(const Reshape&, GradientContext& g) {
  return {reshape(g.builder(), g.out_gradient(0), g.type(g.in(0)).shape)};
}

Cost cost(const Reshape&, const Signature&) { return {}; }

void run_reference(const Reshape&, const Signature& types, const Run& run) {
  if (run.in[0] == run.out[0]) return;
  std::memcpy(run.out[0], run.in[0], static_cast<std::size_t>(types.in[0].bytes().count()));
}

std::vector<ValueId> read_reshape(OnnxNode& node) {
  const ValueId x = node.required_input(0);
  const auto target = node.constant_integers(1);
  if (!target && !node.has("shape")) {
    throw fail(ErrorCode::kInvalidFile, "Reshape without a target shape");
  }
  return {reshape(node.builder(), x,
                  Reshape{.target = target ? *target : node.integers("shape"),
                          .allow_zero = node.integer("allowzero", 0) != 0})};
}

std::vector<ValueId> read_flatten(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::Shape shape = b.type(x).shape;
  const std::int64_t axis = node.integer("axis", 1);
  // An axis equal to the rank is allowed here: everything goes into the first dimension.
  const std::size_t at = axis == static_cast<std::int64_t>(shape.rank())
                             ? shape.rank()
                             : core::normalized_axis(axis, shape.rank());
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) (i < at ? rows : columns) *= shape[i];
  return {reshape(b, x, core::Shape{rows, columns})};
}

// Squeeze and Unsqueeze: axes are an attribute before opset 13 and an input from then on.
std::optional<std::vector<std::int64_t>> read_axes(OnnxNode& node) {
  if (node.has("axes")) return node.integers("axes");
  return node.constant_integers(1);
}

std::vector<ValueId> read_squeeze(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::Shape shape = b.type(x).shape;
  std::vector<bool> drop(shape.rank(), false);
  if (const auto axes = read_axes(node)) {
    for (const std::int64_t axis : *axes) {
      const std::size_t at = core::normalized_axis(axis, shape.rank());
      if (shape[at] != 1) {
        throw fail(ErrorCode::kInvalidFile, "cannot squeeze axis {} of {}", axis, shape.str());
      }
      drop[at] = true;
    }
  } else {
    for (std::size_t i = 0; i < shape.rank(); ++i) drop[i] = shape[i] == 1;
  }
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (!drop[i]) dims.push_back(shape[i]);
  }
  return {reshape(b, x, core::Shape(dims))};
}

std::vector<ValueId> read_unsqueeze(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::Shape shape = b.type(x).shape;
  const auto axes = read_axes(node);
  if (!axes) throw fail(ErrorCode::kInvalidFile, "Unsqueeze without axes");
  const std::size_t rank = shape.rank() + axes->size();
  std::vector<bool> fresh(rank, false);
  for (const std::int64_t axis : *axes) {
    const std::size_t at = core::normalized_axis(axis, rank);
    if (fresh[at]) throw fail(ErrorCode::kInvalidFile, "Unsqueeze names axis {} twice", axis);
    fresh[at] = true;
  }
  std::vector<std::int64_t> dims;
  std::size_t from = 0;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(fresh[i] ? 1 : shape[from++]);
  return {reshape(b, x, core::Shape(dims))};
}

std::optional<OnnxForm> write_onnx(const Reshape& a, const Signature&) {
  OnnxForm form{.type = "Reshape", .constant_inputs = {a.target}};
  if (a.allow_zero) form.attributes.emplace_back("allowzero", std::int64_t{1});
  return form;
}

}  // namespace

const OpDef& reshape_op() {
  static const TypedOp<Reshape> op{{
      .name = "Reshape",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0, .sharing = Sharing::kView}},
      .onnx = {{.type = "Reshape", .read = read_reshape},
               {.type = "Flatten", .read = read_flatten},
               {.type = "Squeeze", .read = read_squeeze},
               {.type = "Unsqueeze", .read = read_unsqueeze}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "reference", .run = run_reference}},
  }};
  return op;
}

ValueId reshape(GraphBuilder& b, ValueId x, Reshape attributes) {
  x = to_plain(b, x);
  if (resolve(attributes, b.type(x).shape) == b.type(x).shape) return x;
  return b.add_one(reshape_op(), Attrs::of(std::move(attributes)), {x});
}

ValueId reshape(GraphBuilder& b, ValueId x, const core::Shape& shape) {
  return reshape(b, x, Reshape{.target = shape.dims(), .allow_zero = true});
}

}  // namespace lowtide::ops
