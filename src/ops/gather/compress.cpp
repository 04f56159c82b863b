#include "ops/gather/compress.h"

#include "core/text.h"
#include "ops/gather/gather.h"
#include "ops/reshape/reshape.h"

namespace lowtide::ops {

using graph::GraphBuilder;
using graph::ValueId;

std::vector<ValueId> read_compress(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  ValueId x = node.required_input(0);
  const auto condition = node.constant_integers(1);
  if (!condition) throw core::fail(ErrorCode::kInvalidFile, "Compress without a condition");
  if (!node.has("axis")) x = reshape(b, x, core::Shape{b.type(x).shape.elements()});
  const core::Shape& shape = b.type(x).shape;
  const std::size_t axis = core::normalized_axis(node.integer("axis", 0), shape.rank());
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < condition->size(); ++i) {
    if ((*condition)[i] != 0) chosen.push_back(static_cast<std::int64_t>(i));
  }
  const ValueId indices = b.constant(core::Shape{static_cast<std::int64_t>(chosen.size())}, chosen);
  return {gather(b, x, indices, static_cast<std::int64_t>(axis))};
}

}  // namespace lowtide::ops
