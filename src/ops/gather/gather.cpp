#include "ops/gather/gather.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "kernels/rows.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/gather/compress.h"
#include "ops/gather/grid_sample.h"
#include "ops/indexing/indexing.h"
#include "ops/layout/layout.h"
#include "ops/reshape/reshape.h"
#include "ops/strided.h"
#include "ops/transpose/transpose.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;
using core::Layout;

std::vector<TensorType> infer(const Gather& a, Types in) {
  const core::Shape& data = in[0].shape;
  if (a.axis >= data.rank() || !is_index_type(in[1].dtype) || in[0].layout != Layout::kPlain ||
      in[1].layout != Layout::kPlain) {
    throw fail(ErrorCode::kInvalidArgument, "cannot gather from {} along axis {} by {}",
               in[0].str(), a.axis, in[1].str());
  }
  std::vector<std::int64_t> dims = data.dims();
  const auto at = dims.begin() + static_cast<std::ptrdiff_t>(a.axis);
  const std::vector<std::int64_t>& indices = in[1].shape.dims();
  dims.insert(dims.erase(at), indices.begin(), indices.end());
  return {{in[0].dtype, core::Shape(std::move(dims)), Layout::kPlain}};
}

InputGradients gradient(const Gather& a, GradientContext& g) {
  InputGradients result(2);
  if (g.needs(0)) {
    result[0] = g.builder().add_one(
        gather_gradient_op(),
        Attrs::of(GatherGradient{.axis = a.axis, .shape = g.type(g.in(0)).shape}),
        {g.in(1), g.out_gradient(0)});
  }
  return result;
}

// At most the rows that are read.
Cost cost(const Gather&, const Signature& types) {
  return {.traffic = types.in[1].bytes() + 2 * types.out[0].bytes()};
}

kernels::RowLookup lookup(const core::Shape& data,
                          std::size_t axis,
                          const core::Shape& indices,
                          std::int64_t element_size) {
  const AxisSplit at = split_at(data, axis);
  return {.outer = at.outer,
          .rows = at.length,
          .count = indices.elements(),
          .row_length = at.inner * element_size};
}

void run_rows(const Gather& a, const Signature& types, const Run& run) {
  const kernels::RowLookup at = lookup(types.in[0].shape, a.axis, types.in[1].shape,
                                       core::element_bytes(types.in[0].dtype).count());
  with_index_type(types.in[1].dtype, [&](auto zero) {
    kernels::gather_rows(run.in[0], run.input<decltype(zero)>(1), run.out[0], at);
  });
}

// Calls f(place of a looked-up row, place of its row in the table or -1) for each, in order.
template <class Index, class F>
void for_each_row(const kernels::RowLookup& at, const Index* indices, F&& f) {
  for (std::int64_t outer = 0; outer < at.outer; ++outer) {
    for (std::int64_t i = 0; i < at.count; ++i) {
      const std::int64_t row = kernels::row_of(indices[i], at.rows);
      f(outer * at.count + i, row < 0 ? row : outer * at.rows + row);
    }
  }
}

void run_reference(const Gather& a, const Signature& types, const Run& run) {
  const kernels::RowLookup at = lookup(types.in[0].shape, a.axis, types.in[1].shape,
                                       core::element_bytes(types.in[0].dtype).count());
  with_index_type(types.in[1].dtype, [&](auto zero) {
    for_each_row(at, run.input<decltype(zero)>(1), [&](std::int64_t to, std::int64_t from) {
      for (std::int64_t j = 0; j < at.row_length; ++j) {
        run.out[0][to * at.row_length + j] =
            from < 0 ? std::byte{0xFF} : run.in[0][from * at.row_length + j];
      }
    });
  });
}

constexpr std::size_t kOnto = 2;  // input of the gradient, if there is one

std::vector<TensorType> infer_gradient(const GatherGradient& a, Types in) {
  const TensorType result{in[1].dtype, a.shape, Layout::kPlain};
  if (in.size() > kOnto && in[kOnto] != result) {
    throw fail(ErrorCode::kInvalidArgument, "cannot add rows of {} to {}", result.str(),
               in[kOnto].str());
  }
  return {result};
}

std::vector<Alias> share_gradient(const GatherGradient&, const Signature& types) {
  if (types.in.size() <= kOnto) return {};
  return {{.output = 0, .input = static_cast<int>(kOnto)}};
}

Cost cost_of_gradient(const GatherGradient&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[1].shape.elements()),
          .traffic = types.in[0].bytes() + 3 * types.in[1].bytes() +
                     (types.in.size() > kOnto ? Bytes() : types.out[0].bytes())};
}

bool in_float(const GatherGradient&, const Signature& types) {
  return types.in[1].dtype == DType::kFloat32;
}

void run_gradient_rows(const GatherGradient& a, const Signature& types, const Run& run) {
  const kernels::RowLookup at = lookup(a.shape, a.axis, types.in[0].shape, 1);
  with_index_type(types.in[0].dtype, [&](auto zero) {
    kernels::add_rows(run.input<float>(1), run.input<decltype(zero)>(0),
                      types.in.size() > kOnto ? run.input<float>(kOnto) : nullptr,
                      run.output<float>(0), at);
  });
}

void run_gradient_reference(const GatherGradient& a, const Signature& types, const Run& run) {
  const kernels::RowLookup at = lookup(a.shape, a.axis, types.in[0].shape, 1);
  core::visit_float(types.in[1].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const dx = run.output<T>(0);
    if (types.in.size() <= kOnto) {
      std::fill_n(dx, a.shape.elements(), T{0});
    } else if (run.input<T>(kOnto) != dx) {
      std::copy_n(run.input<T>(kOnto), a.shape.elements(), dx);
    }
    with_index_type(types.in[0].dtype, [&](auto zero) {
      for_each_row(at, run.input<decltype(zero)>(0), [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t j = 0; to >= 0 && j < at.row_length; ++j) {
          dx[to * at.row_length + j] += run.input<T>(1)[from * at.row_length + j];
        }
      });
    });
  });
}

// Ops whose output holds the elements of their one input, and all of them.
bool keeps_elements(const OpDef* op) {
  const std::array<const OpDef*, 4> ops = {&cast_op(), &convert_layout_op(), &reshape_op(),
                                           &transpose_op()};
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// The axis that the node's second input counts along.
std::optional<std::size_t> gathered_axis(const Node& node) {
  if (node.op == &gather_op()) return node.attrs.as<Gather>().axis;
  if (node.op == &gather_elements_op()) return node.attrs.as<Indexing>().axis;
  return std::nullopt;
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  return {gather(node.builder(), node.required_input(0), node.required_input(1),
                 node.integer("axis", 0))};
}

std::optional<OnnxForm> write_onnx(const Gather& a, const Signature&) {
  return OnnxForm{.type = "Gather", .attributes = {{"axis", static_cast<std::int64_t>(a.axis)}}};
}

}  // namespace

const OpDef& gather_op() {
  static const TypedOp<Gather> op{{
      .name = "Gather",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .slots = {{.input = 0, .slot = Slot::kParameter}},
      .onnx = {{.type = "Gather", .read = read_onnx},
               {.type = "Compress", .read = read_compress},
               {.type = "GridSample", .read = read_grid_sample},
               {.type = "AffineGrid", .read = read_affine_grid}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "rows", .run = run_rows}, {.name = "reference", .run = run_reference}},
  }};
  return op;
}

const OpDef& gather_gradient_op() {
  static const TypedOp<GatherGradient> op{{
      .name = "GatherGradient",
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_gradient,
      .repeat = Repeat::kExact,
      .alias_rule = share_gradient,
      .kernels = {{.name = "rows", .supports = in_float, .run = run_gradient_rows},
                  {.name = "reference", .run = run_gradient_reference}},
  }};
  return op;
}

ValueId add_gradient(GraphBuilder& b, ValueId sum, ValueId gradient) {
  const NodeId producer = b.graph().value(gradient).producer;
  if (!producer.valid()) return add(b, sum, gradient);
  const Node node = b.graph().node(producer);  // a copy: new nodes move the graph's
  if (node.op != &gather_gradient_op() || node.inputs.size() > kOnto) return add(b, sum, gradient);
  return b.add_one(gather_gradient_op(), node.attrs, {node.inputs[0], node.inputs[1], sum});
}

ValueId gather(GraphBuilder& b, ValueId data, ValueId indices, std::int64_t axis) {
  data = to_plain(b, data);
  const core::Shape& shape = b.type(data).shape;
  const std::size_t at = core::normalized_axis(axis, shape.rank());
  const std::int64_t length = shape[at];
  indices = to_plain(b, indices);
  const ValueId result = b.add_one(gather_op(), Attrs::of(Gather{.axis = at}), {data, indices});
  check_constant_indices(b, indices, {length});
  return result;
}

void check_constant_indices(GraphBuilder& b,
                            ValueId indices,
                            const std::vector<std::int64_t>& lengths) {
  const auto known = b.constant_value(indices);
  if (!known) return;
  with_index_type(known->type.dtype, [&](auto zero) {
    const auto* const first = known->data<decltype(zero)>();
    for (std::int64_t i = 0; i < known->type.shape.elements(); ++i) {
      const std::int64_t length = lengths[static_cast<std::size_t>(i) % lengths.size()];
      if (kernels::row_of(first[i], length) < 0) {
        throw fail(ErrorCode::kInvalidArgument, "index {} is outside an axis of length {}",
                   first[i], length);
      }
    }
  });
}

std::optional<std::int64_t> rows_picked_by(const Graph& graph, ValueId input) {
  std::optional<std::int64_t> rows;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    const std::optional<std::size_t> axis = gathered_axis(node);
    if (!axis) continue;
    ValueId indices = node.inputs[1];
    while (graph.value(indices).producer.valid()) {
      const Node& producer = graph.node(graph.value(indices).producer);
      if (!keeps_elements(producer.op)) break;
      indices = producer.inputs[0];
    }
    if (indices != input) continue;
    const std::int64_t length = graph.type(node.inputs[0]).shape[*axis];
    rows = std::min(rows.value_or(length), length);
  }
  return rows;
}

}  // namespace lowtide::ops
