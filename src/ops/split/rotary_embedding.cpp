#include "ops/split/rotary_embedding.h"

#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/concat/concat.h"
#include "ops/gather/gather.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/split/split.h"
#include "ops/transpose/transpose.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

// Every second feature from `first` on.
ValueId every_second(GraphBuilder& b, ValueId x, std::int64_t first, std::int64_t count) {
  return slice(b, x, {.starts = {first}, .ends = {count}, .axes = {-1}, .steps = {2}});
}

// Angles (samples, positions, pairs), for all heads.
ValueId for_heads(GraphBuilder& b, ValueId angles) {
  const Shape shape = b.type(angles).shape;
  return reshape(b, angles, Shape{shape[0], shape[1], 1, shape[2]});
}

ValueId turned(GraphBuilder& b, ValueId x, ValueId cosines, ValueId sines, bool interleaved) {
  const Shape shape = b.type(x).shape;
  const std::int64_t pairs = shape[3] / 2;
  const std::vector<ValueId> halves =
      interleaved
          ? std::vector<ValueId>{every_second(b, x, 0, shape[3]), every_second(b, x, 1, shape[3])}
          : split(b, x, -1, {pairs, pairs});
  const ValueId real = sub(b, mul(b, halves[0], cosines), mul(b, halves[1], sines));
  const ValueId imaginary = add(b, mul(b, halves[0], sines), mul(b, halves[1], cosines));
  if (!interleaved) return concat(b, {real, imaginary}, -1);
  const Shape apart{shape[0], shape[1], shape[2], pairs, 1};
  return reshape(b, concat(b, {reshape(b, real, apart), reshape(b, imaginary, apart)}, -1), shape);
}

}  // namespace

ValueId rotary_embedding(
    GraphBuilder& b, ValueId x, ValueId cosines, ValueId sines, const RotaryEmbedding& a) {
  const Shape shape = b.type(x).shape;
  const std::int64_t features = a.features == 0 && shape.rank() == 4 ? shape[3] : a.features;
  const Shape angles = b.type(cosines).shape;
  if (shape.rank() != 4 || features < 2 || features > shape[3] || features % 2 != 0 ||
      angles != Shape{shape[0], shape[1], features / 2} || b.type(sines).shape != angles) {
    throw fail(ErrorCode::kInvalidArgument, "cannot turn {} of the features of {} by {} and {}",
               features, b.type(x).str(), b.type(cosines).str(), b.type(sines).str());
  }
  const std::vector<ValueId> parts = features == shape[3]
                                         ? std::vector<ValueId>{x}
                                         : split(b, x, -1, {features, shape[3] - features});
  std::vector<ValueId> result = {
      turned(b, parts[0], for_heads(b, cosines), for_heads(b, sines), a.interleaved)};
  if (parts.size() > 1) result.push_back(parts[1]);
  return concat(b, std::move(result), -1);
}

// x is (samples, heads, positions, features), or (samples, positions, heads * features).
std::vector<ValueId> read_rotary_embedding(graph::OnnxNode& node) {
  GraphBuilder& b = node.builder();
  ValueId x = node.required_input(0);
  ValueId cosines = node.required_input(1);
  ValueId sines = node.required_input(2);
  const Shape shape = b.type(x).shape;
  const std::int64_t heads = node.integer("num_heads", 0);
  const bool flat = shape.rank() == 3;
  if (flat && (heads < 1 || shape[2] % heads != 0)) {
    throw fail(ErrorCode::kInvalidFile, "{} does not divide into {} heads", shape.str(), heads);
  }
  if (node.input(3).valid()) {
    cosines = gather(b, cosines, node.input(3), 0);
    sines = gather(b, sines, node.input(3), 0);
  }
  x = flat ? reshape(b, x, Shape{shape[0], shape[1], heads, shape[2] / heads})
           : transpose(b, x, {0, 2, 1, 3});
  const ValueId result = rotary_embedding(b, x, cosines, sines,
                                          {.interleaved = node.integer("interleaved", 0) != 0,
                                           .features = node.integer("rotary_embedding_dim", 0)});
  return {flat ? reshape(b, result, shape) : transpose(b, result, {0, 2, 1, 3})};
}

}  // namespace lowtide::ops
