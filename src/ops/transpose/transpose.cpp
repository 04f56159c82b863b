#include "ops/transpose/transpose.h"

#include <algorithm>
#include <numeric>

#include "core/text.h"
#include "ops/movement.h"
#include "ops/transpose/blocks.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Layout;
using Perm = std::vector<std::size_t>;

Perm identity(std::size_t rank) {
  Perm perm(rank);
  std::iota(perm.begin(), perm.end(), std::size_t{0});
  return perm;
}

bool is_permutation(Perm perm, std::size_t rank) {
  std::sort(perm.begin(), perm.end());
  return perm == identity(rank);
}

// (N, spatial..., C) to (N, C, spatial...). Of three axes the last ones may as well be any matrix,
// and what follows them is seldom a convolution.
bool moves_last_to_second(const Perm& perm) {
  if (perm.size() < 4 || perm[0] != 0 || perm[1] != perm.size() - 1) return false;
  for (std::size_t i = 2; i < perm.size(); ++i) {
    if (perm[i] != i - 1) return false;
  }
  return true;
}

std::vector<TensorType> infer(const Transpose& a, Types in) {
  const core::Shape& shape = in[0].shape;
  if (!is_permutation(a.perm, shape.rank())) {
    throw fail(ErrorCode::kInvalidArgument, "cannot transpose {} by {}", in[0].str(),
               core::text("{}", a.perm));
  }
  std::vector<std::int64_t> dims;
  for (const std::size_t axis : a.perm) dims.push_back(shape[axis]);
  return {{in[0].dtype, core::Shape(std::move(dims)), a.layout}};
}

InputGradients gradient(const Transpose& a, GradientContext& g) {
  Perm inverse(a.perm.size());
  for (std::size_t i = 0; i < a.perm.size(); ++i) inverse[a.perm[i]] = i;
  return {transpose(g.builder(), g.out_gradient(0), std::move(inverse))};
}

std::vector<Movement> movements(const Transpose& a, const Signature& types) {
  const std::vector<std::int64_t> strides = core::strides(types.in[0]);
  View from;
  for (const std::size_t axis : a.perm) from.strides.push_back(strides[axis]);
  return {{.dims = types.out[0].shape.dims(), .from = from, .to = view_of(types.out[0])}};
}

std::vector<Alias> sharing(const Transpose& a, const Signature& types) {
  if (!is_view(movements(a, types))) return {};
  return {{.output = 0, .input = 0, .sharing = Sharing::kView}};
}

Cost cost(const Transpose& a, const Signature& types) {
  if (is_view(movements(a, types))) return {};
  return cost_of_moving(a, types);
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const std::size_t rank = b.type(x).shape.rank();
  Perm perm;
  for (const std::int64_t axis : node.integers("perm")) {
    perm.push_back(core::normalized_axis(axis, rank));
  }
  if (!node.has("perm")) {
    for (std::size_t i = rank; i-- > 0;) perm.push_back(i);
  }
  return {transpose(b, x, std::move(perm))};
}

std::optional<OnnxForm> write_onnx(const Transpose& a, const Signature&) {
  const std::vector<std::int64_t> perm(a.perm.begin(), a.perm.end());
  return OnnxForm{.type = "Transpose", .attributes = {{"perm", perm}}};
}

}  // namespace

const OpDef& transpose_op() {
  static const TypedOp<Transpose> op{{
      .name = "Transpose",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .alias_rule = sharing,
      .onnx = {{.type = "Transpose", .read = read_onnx},
               {.type = "DepthToSpace", .read = read_depth_to_space},
               {.type = "SpaceToDepth", .read = read_space_to_depth}},
      .onnx_form = write_onnx,
      .kernels = {copies<Transpose, movements>(), element_by_element<Transpose, movements>()},
  }};
  return op;
}

ValueId transpose(GraphBuilder& b, ValueId x, Perm perm) {
  if (perm == identity(b.type(x).shape.rank())) return x;
  const bool to_last = b.type(x).layout == Layout::kPlain && moves_last_to_second(perm);
  return b.add_one(transpose_op(),
                   Attrs::of(Transpose{.perm = std::move(perm),
                                       .layout = to_last ? Layout::kChannelsLast : Layout::kPlain}),
                   {x});
}

}  // namespace lowtide::ops
