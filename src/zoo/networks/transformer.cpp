#include "zoo/networks/transformer.h"

#include <cmath>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"

namespace lowtide::zoo {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

// softmax(q k' / sqrt(width of a head) + mask) v, for each head.
ValueId attend(GraphBuilder& b, const Transformer& shape, ValueId q, ValueId k, ValueId v) {
  const std::int64_t head_width = shape.width / shape.heads;
  const auto by_head = [&](ValueId x, std::vector<std::size_t> axes) {
    const ops::Reshape split{.target = {-1, shape.sequence, shape.heads, head_width}};
    return ops::transpose(b, ops::reshape(b, x, split), std::move(axes));
  };
  ValueId scores = ops::matmul(b, by_head(q, {0, 2, 1, 3}), by_head(k, {0, 2, 3, 1}));
  scores = ops::scale(b, scores, 1 / std::sqrt(static_cast<double>(head_width)));
  if (shape.mask.valid()) scores = ops::add(b, scores, shape.mask);
  const ValueId mixed = ops::matmul(b, ops::softmax(b, scores, -1), by_head(v, {0, 2, 1, 3}));
  return ops::reshape(b, ops::transpose(b, mixed, {0, 2, 1, 3}),
                      ops::Reshape{.target = {-1, shape.width}});
}

ValueId attention(Network& net, const Transformer& shape, const std::string& name, ValueId x) {
  const ValueId q = net.linear(name + ".query", x, shape.width, shape.weights);
  const ValueId k = net.linear(name + ".key", x, shape.width, shape.weights);
  const ValueId v = net.linear(name + ".value", x, shape.width, shape.weights);
  const ValueId mixed = attend(net.at(name), shape, q, k, v);
  return net.linear(name + ".out", mixed, shape.width, shape.residual);
}

ValueId feed_forward(Network& net, const Transformer& shape, const std::string& name, ValueId x) {
  x = net.linear(name + ".fc1", x, 4 * shape.width, shape.weights);
  x = ops::unary(net.at(name + ".gelu"), {.kind = shape.activation}, x);
  return net.linear(name + ".fc2", x, shape.width, shape.residual);
}

ValueId add(Network& net, const std::string& name, ValueId x, ValueId y) {
  return ops::add(net.at(name + ".add"), x, y);
}

}  // namespace

void check_heads(std::int64_t width, std::int64_t heads) {
  if (width % heads == 0) return;
  throw core::fail(ErrorCode::kInvalidArgument, "{} heads cannot share a width of {}", heads,
                   width);
}

ValueId pre_norm_block(Network& net, const Transformer& shape, const std::string& name, ValueId x) {
  ValueId y = net.layer_norm(name + ".norm1", x, shape.epsilon);
  x = add(net, name + ".attention", x, attention(net, shape, name + ".attention", y));
  y = net.layer_norm(name + ".norm2", x, shape.epsilon);
  return add(net, name + ".mlp", x, feed_forward(net, shape, name + ".mlp", y));
}

ValueId post_norm_block(Network& net,
                        const Transformer& shape,
                        const std::string& name,
                        ValueId x) {
  x = add(net, name + ".attention", x, attention(net, shape, name + ".attention", x));
  x = net.layer_norm(name + ".norm1", x, shape.epsilon);
  x = add(net, name + ".mlp", x, feed_forward(net, shape, name + ".mlp", x));
  return net.layer_norm(name + ".norm2", x, shape.epsilon);
}

ValueId rows(Network& net, ValueId x) {
  GraphBuilder& b = net.builder();
  const core::Shape& shape = b.type(x).shape;
  return ops::reshape(b, x, ops::Reshape{.target = {-1, shape[shape.rank() - 1]}});
}

ValueId first_rows(Network& net, const Transformer& shape, ValueId x) {
  GraphBuilder& b = net.at("first");
  x = ops::reshape(b, x, ops::Reshape{.target = {-1, shape.sequence, shape.width}});
  x = ops::slice(b, x, {.starts = {0}, .ends = {1}, .axes = {1}});
  return rows(net, x);
}

}  // namespace lowtide::zoo
