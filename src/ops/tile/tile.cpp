#include "ops/tile/tile.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "ops/movement.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

std::vector<TensorType> infer(const Tile& a, Types in) {
  std::vector<std::int64_t> dims = in[0].shape.dims();
  const bool negative =
      std::any_of(a.repeats.begin(), a.repeats.end(), [](std::int64_t count) { return count < 0; });
  if (a.repeats.size() != dims.size() || negative) {
    throw fail(ErrorCode::kInvalidArgument, "cannot tile {} by {}", in[0].str(),
               core::text("{}", a.repeats));
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    dims[i] = dims[i] > kMost || a.repeats[i] > kMost ? -1 : dims[i] * a.repeats[i];
  }
  return {{in[0].dtype, core::Shape(std::move(dims)), in[0].layout}};
}

// The copies lie along axes of their own, over which the gradient is summed.
InputGradients gradient(const Tile& a, GradientContext& g) {
  const core::Shape shape = g.type(g.in(0)).shape;
  std::vector<std::int64_t> apart;
  std::vector<std::int64_t> summed;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    apart.insert(apart.end(), {a.repeats[i], shape[i]});
    summed.insert(summed.end(), {1, shape[i]});
  }
  GraphBuilder& b = g.builder();
  const ValueId copies_apart = reshape(b, g.out_gradient(0), core::Shape(std::move(apart)));
  return {reshape(b, sum_to(b, copies_apart, core::Shape(std::move(summed))), shape)};
}

std::vector<Movement> movements(const Tile& a, const Signature& types) {
  const View in = view_of(types.in[0]);
  const View out = view_of(types.out[0]);
  Movement movement;
  for (std::size_t i = 0; i < a.repeats.size(); ++i) {
    const std::int64_t length = types.in[0].shape[i];
    movement.dims.insert(movement.dims.end(), {a.repeats[i], length});
    movement.from.strides.insert(movement.from.strides.end(), {0, in.strides[i]});
    movement.to.strides.insert(movement.to.strides.end(),
                               {length * out.strides[i], out.strides[i]});
  }
  return {std::move(movement)};
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  const ValueId x = node.required_input(0);
  const auto repeats = node.constant_integers(1);
  if (!repeats) throw fail(ErrorCode::kInvalidFile, "Tile without repeats");
  return {tile(node.builder(), x, *repeats)};
}

std::optional<OnnxForm> write_onnx(const Tile& a, const Signature&) {
  return OnnxForm{.type = "Tile", .constant_inputs = {a.repeats}};
}

}  // namespace

const OpDef& tile_op() {
  static const TypedOp<Tile> op{{
      .name = "Tile",
      .infer = infer,
      .gradient = gradient,
      .cost = cost_of_moving<Tile>,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "Tile", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {copies<Tile, movements>(), element_by_element<Tile, movements>()},
  }};
  return op;
}

ValueId tile(GraphBuilder& b, ValueId x, std::vector<std::int64_t> repeats) {
  const bool once =
      std::all_of(repeats.begin(), repeats.end(), [](std::int64_t count) { return count == 1; });
  if (once && repeats.size() == b.type(x).shape.rank()) return x;
  return b.add_one(tile_op(), Attrs::of(Tile{.repeats = std::move(repeats)}), {x});
}

}  // namespace lowtide::ops
