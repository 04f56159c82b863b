#include "ops/transpose/blocks.h"

#include "core/text.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

void check(const Shape& shape, bool divides, std::int64_t size) {
  if (!divides) {
    throw fail(ErrorCode::kInvalidArgument, "{} does not divide into blocks of {} by {}",
               shape.str(), size, size);
  }
}

}  // namespace

ValueId depth_to_space(GraphBuilder& b, ValueId x, std::int64_t size, BlockOrder order) {
  const Shape from = b.type(x).shape;
  check(from, from.rank() == 4 && size >= 1 && from[1] % (size * size) == 0, size);
  const std::int64_t channels = from[1] / (size * size);
  const bool position_first = order == BlockOrder::kPositionFirst;
  const Shape blocks = position_first ? Shape{from[0], size, size, channels, from[2], from[3]}
                                      : Shape{from[0], channels, size, size, from[2], from[3]};
  const std::vector<std::size_t> perm = position_first ? std::vector<std::size_t>{0, 3, 4, 1, 5, 2}
                                                       : std::vector<std::size_t>{0, 1, 4, 2, 5, 3};
  return reshape(b, transpose(b, reshape(b, x, blocks), perm),
                 Shape{from[0], channels, from[2] * size, from[3] * size});
}

ValueId space_to_depth(GraphBuilder& b, ValueId x, std::int64_t size) {
  const Shape from = b.type(x).shape;
  check(from, from.rank() == 4 && size >= 1 && from[2] % size == 0 && from[3] % size == 0, size);
  const std::int64_t height = from[2] / size;
  const std::int64_t width = from[3] / size;
  const ValueId blocks = reshape(b, x, Shape{from[0], from[1], height, size, width, size});
  return reshape(b, transpose(b, blocks, {0, 3, 5, 1, 2, 4}),
                 Shape{from[0], from[1] * size * size, height, width});
}

std::vector<ValueId> read_depth_to_space(graph::OnnxNode& node) {
  const std::string mode = node.string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    throw fail(ErrorCode::kInvalidFile, "unknown mode \"{}\"", mode);
  }
  return {depth_to_space(node.builder(), node.required_input(0), node.integer("blocksize", 0),
                         mode == "DCR" ? BlockOrder::kPositionFirst : BlockOrder::kChannelFirst)};
}

std::vector<ValueId> read_space_to_depth(graph::OnnxNode& node) {
  return {space_to_depth(node.builder(), node.required_input(0), node.integer("blocksize", 0))};
}

}  // namespace lowtide::ops
