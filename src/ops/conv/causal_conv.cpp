#include "ops/conv/causal_conv.h"

#include "core/text.h"
#include "ops/concat/concat.h"
#include "ops/constant/constant.h"
#include "ops/conv/conv.h"
#include "ops/slice/slice.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

std::vector<ValueId> read_causal_conv(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const ValueId w = node.required_input(1);
  const core::TensorType type = b.type(x);
  const Shape kernel = b.type(w).shape;
  if (type.shape.rank() != 3 || kernel.rank() != 3 || kernel[2] == 0) {
    throw fail(ErrorCode::kInvalidFile, "input {} and weights {}", type.str(), kernel.str());
  }
  const std::int64_t back = kernel[2] - 1;
  ValueId past = node.input(3);
  if (!past.valid()) past = zeros(b, {type.dtype, type.shape.with(2, back), core::Layout::kPlain});
  const ValueId all = back == 0 ? x : concat(b, {past, x}, 2);
  ValueId y = conv(b, all, w, node.input(2), {.groups = kernel[0]});
  const std::string activation = node.string("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = silu(b, y);
  } else if (activation != "none") {
    throw fail(ErrorCode::kUnsupported, "activation '{}'", activation);
  }
  const std::int64_t length = b.type(all).shape[2];
  return {y, slice(b, all, {.starts = {length - back}, .ends = {length}, .axes = {2}})};
}

}  // namespace lowtide::ops
