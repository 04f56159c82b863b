#include "zoo/network.h"

#include <cmath>
#include <vector>

#include "core/text.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/conv/conv.h"
#include "ops/layout/layout.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"

namespace lowtide::zoo {

using core::text;
using graph::ValueId;

ValueId Network::parameter(std::string name, core::Shape shape, const std::vector<float>& values) {
  return builder_.constant(std::move(shape), values, std::move(name));
}

ValueId Network::filled(std::string name, std::int64_t size, float value) {
  return parameter(std::move(name), core::Shape{size},
                   std::vector<float>(static_cast<std::size_t>(size), value));
}

ValueId Network::input(std::int64_t channels, std::int64_t size) {
  return builder_.input("input", {core::DType::kFloat32, core::Shape{1, channels, size, size}});
}

ValueId Network::convolution(std::string_view name, ValueId x, const Convolution& layer) {
  const core::Shape shape{layer.channels, channels(x) / layer.groups, layer.kernel, layer.kernel};
  const double fan_out = static_cast<double>(layer.channels * layer.kernel * layer.kernel) /
                         static_cast<double>(layer.groups);
  const double deviation = std::sqrt(2.0 / fan_out);
  std::vector<float> weights(static_cast<std::size_t>(shape.elements()));
  for (float& weight : weights) weight = static_cast<float>(deviation * random_.normal());
  builder_.set_scope(std::string(name));
  const ValueId w = parameter(text("{}.weight", name), shape, weights);
  const ValueId bias = layer.bias ? filled(text("{}.bias", name), layer.channels, 0.0F) : ValueId();
  return ops::conv(builder_, x, w, bias,
                   {.strides = {layer.stride, layer.stride},
                    .pads_begin = {layer.padding, layer.padding},
                    .pads_end = {layer.padding, layer.padding},
                    .groups = layer.groups});
}

ValueId Network::batch_norm(std::string_view name, ValueId x) {
  const std::int64_t size = channels(x);
  builder_.set_scope(std::string(name));
  return ops::batch_norm(builder_, x, filled(text("{}.weight", name), size, 1.0F),
                         filled(text("{}.bias", name), size, 0.0F),
                         filled(text("{}.running_mean", name), size, 0.0F),
                         filled(text("{}.running_var", name), size, 1.0F), {});
}

ValueId Network::linear(std::string_view name, ValueId x, std::int64_t features) {
  const std::int64_t fan_in = builder_.type(x).shape[1];
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  std::vector<float> weights(static_cast<std::size_t>(fan_in * features));
  for (float& weight : weights) {
    weight = static_cast<float>(bound * (2.0 * random_.uniform() - 1.0));
  }
  builder_.set_scope(std::string(name));
  const ValueId w = parameter(text("{}.weight", name), core::Shape{features, fan_in}, weights);
  return ops::gemm(builder_, x, w, filled(text("{}.bias", name), features, 0.0F),
                   {.transpose_b = true});
}

ValueId Network::flatten(ValueId x) {
  builder_.set_scope("flatten");
  return ops::reshape(builder_, x, ops::Reshape{.target = {0, -1}});
}

graph::Graph Network::finish(ValueId output) {
  graph_.value(output).name = "logits";
  graph_.outputs() = {output};
  return std::move(graph_);
}

}  // namespace lowtide::zoo
