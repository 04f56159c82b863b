// BERT with a classification head.
#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/gather/gather.h"
#include "ops/reshape/reshape.h"
#include "zoo/networks/networks.h"
#include "zoo/networks/transformer.h"

namespace lowtide::zoo {
namespace {

using graph::ValueId;

constexpr Init kWeights = truncated_normal(0.02);
constexpr std::int64_t kPadding = 0;   // the token that fills a sample up
constexpr std::int64_t kSegments = 2;  // of which a sample to classify is one: the first

// A large negative number where a token would look at padding: (N, 1, 1, sequence).
ValueId padding_mask(Network& net, ValueId input, std::int64_t sequence) {
  graph::GraphBuilder& b = net.at("padding_mask");
  const ValueId padding = b.constant(core::Shape{}, std::vector{kPadding}, "padding");
  const ValueId is_padding = ops::binary(b, ops::BinaryKind::kEqual, input, padding);
  const ValueId mask = ops::scale(b, ops::cast(b, is_padding, core::DType::kFloat32), -1e9);
  return ops::reshape(b, mask, ops::Reshape{.target = {-1, 1, 1, sequence}});
}

// The sum of what a token, its place and its segment stand for, normalised: rows.
ValueId embedding(Network& net, const Transformer& shape, ValueId input, std::int64_t vocabulary) {
  const auto table = [&](const char* name, std::int64_t count) {
    return net.parameter(name, core::Shape{count, shape.width}, kWeights);
  };
  const ValueId tokens = table("tokens.weight", vocabulary);
  const ValueId places = table("positions.weight", shape.sequence);
  const ValueId segments = table("segments.weight", kSegments);
  ValueId x = ops::gather(net.at("tokens"), tokens, input, 0);
  x = ops::add(net.at("positions"), x, places);
  graph::GraphBuilder& b = net.at("segments");
  const ValueId first = b.constant(core::Shape{1}, std::vector<std::int64_t>{0}, "segment");
  x = ops::add(b, x, ops::gather(b, segments, first, 0));
  return net.layer_norm("norm", rows(net, x), shape.epsilon);
}

}  // namespace

graph::Graph build_bert(const ZooSettings& settings) {
  check_heads(settings.width, settings.heads);
  Network net(settings.seed);
  const ValueId input = net.tokens(settings.sequence);
  const Transformer shape{.width = settings.width,
                          .heads = settings.heads,
                          .sequence = settings.sequence,
                          .epsilon = 1e-12,
                          .weights = kWeights,
                          .residual = kWeights,
                          .mask = padding_mask(net, input, settings.sequence)};
  ValueId x = embedding(net, shape, input, settings.vocabulary);
  for (std::int64_t i = 0; i < settings.depth; ++i) {
    x = post_norm_block(net, shape, core::text("block{}", i), x);
  }
  x = net.linear("pooler", first_rows(net, shape, x), settings.width, kWeights);
  x = ops::tanh(net.at("pooler.tanh"), x);
  return net.finish(net.linear("classifier", x, settings.classes, kWeights));
}

}  // namespace lowtide::zoo
