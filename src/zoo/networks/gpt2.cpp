// GPT-2.
#include <cmath>
#include <limits>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "zoo/networks/networks.h"
#include "zoo/networks/transformer.h"

namespace lowtide::zoo {
namespace {

using graph::ValueId;

// Minus infinity where a token would look at a later one.
ValueId causal_mask(Network& net, std::int64_t sequence) {
  std::vector<float> mask(static_cast<std::size_t>(sequence * sequence), 0.0F);
  for (std::int64_t i = 0; i < sequence; ++i) {
    for (std::int64_t j = i + 1; j < sequence; ++j) {
      mask[static_cast<std::size_t>(i * sequence + j)] = -std::numeric_limits<float>::infinity();
    }
  }
  return net.builder().constant(core::Shape{sequence, sequence}, mask, "causal_mask");
}

}  // namespace

graph::Graph build_gpt2(const ZooSettings& settings) {
  check_heads(settings.width, settings.heads);
  Network net(settings.seed);
  const Transformer shape{
      .width = settings.width,
      .heads = settings.heads,
      .sequence = settings.sequence,
      .weights = normal(0.02),
      .residual = normal(0.02 / std::sqrt(2.0 * static_cast<double>(settings.depth))),
      .activation = ops::UnaryKind::kGeluTanh,
      .mask = causal_mask(net, settings.sequence)};
  const ValueId input = net.tokens(settings.sequence);
  const ValueId table = net.parameter(
      "tokens.weight", core::Shape{settings.vocabulary, settings.width}, normal(0.02));
  const ValueId places = net.parameter(
      "positions.weight", core::Shape{settings.sequence, settings.width}, normal(0.01));
  ValueId x = ops::gather(net.at("tokens"), table, input, 0);
  x = rows(net, ops::add(net.at("positions"), x, places));
  for (std::int64_t i = 0; i < settings.depth; ++i) {
    x = pre_norm_block(net, shape, core::text("block{}", i), x);
  }
  x = net.layer_norm("norm", x, shape.epsilon);
  x = ops::matmul(net.at("head"), x, table, {.transpose_b = true});
  return net.finish(ops::reshape(
      net.builder(), x, ops::Reshape{.target = {-1, settings.sequence, settings.vocabulary}}));
}

}  // namespace lowtide::zoo
