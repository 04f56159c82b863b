#include "zoo/network.h"

#include <cmath>
#include <utility>

#include "core/text.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/conv/conv.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/unary/unary.h"

namespace lowtide::zoo {

using core::text;
using graph::ValueId;

Init he_normal(std::int64_t fan) { return normal(std::sqrt(2.0 / static_cast<double>(fan))); }

graph::GraphBuilder& Network::at(std::string_view name) {
  builder_.set_scope(std::string(name));
  return builder_;
}

ValueId Network::parameter(std::string name, core::Shape shape, const Init& init) {
  graph::Content content;
  content.draw = {.distribution = init.distribution,
                  .scale = static_cast<float>(init.scale),
                  .seed = seed_,
                  .stream = streams_++};
  return builder_.state(std::move(name), {core::DType::kFloat32, std::move(shape)},
                        graph::Role::kConstant, std::move(content));
}

ValueId Network::vector(std::string name, std::int64_t size, double value) {
  return parameter(std::move(name), core::Shape{size}, {core::Distribution::kConstant, value});
}

ValueId Network::image(std::int64_t channels, std::int64_t size) {
  return builder_.input("input", {core::DType::kFloat32, core::Shape{1, channels, size, size}});
}

ValueId Network::tokens(std::int64_t length) {
  return builder_.input("input", {core::DType::kInt64, core::Shape{1, length}});
}

ValueId Network::convolution(std::string_view name, ValueId x, const Convolution& layer) {
  const bool square = layer.kernel_width == 0;
  const std::int64_t width = square ? layer.kernel : layer.kernel_width;
  const core::Shape shape{layer.channels, channels(x) / layer.groups, layer.kernel, width};
  const std::int64_t fan_out = layer.channels / layer.groups * layer.kernel * width;
  const std::int64_t fan_in = shape.elements() / layer.channels;
  const ValueId w =
      parameter(text("{}.weight", name), shape, he_normal(layer.fan_in ? fan_in : fan_out));
  const ValueId bias = layer.bias ? vector(text("{}.bias", name), layer.channels, 0) : ValueId();
  const std::vector<std::int64_t> pads =
      square ? std::vector<std::int64_t>{layer.padding, layer.padding}
             : std::vector<std::int64_t>{(layer.kernel - 1) / 2, (width - 1) / 2};
  return ops::conv(at(name), x, w, bias,
                   {.strides = {layer.stride, layer.stride},
                    .pads_begin = pads,
                    .pads_end = pads,
                    .groups = layer.groups});
}

ValueId Network::batch_norm(std::string_view name, ValueId x, double epsilon) {
  const std::int64_t size = channels(x);
  const ValueId scale = vector(text("{}.weight", name), size, 1);
  const ValueId bias = vector(text("{}.bias", name), size, 0);
  const ValueId mean = vector(text("{}.running_mean", name), size, 0);
  const ValueId variance = vector(text("{}.running_var", name), size, 1);
  return ops::batch_norm(at(name), x, scale, bias, mean, variance, {.epsilon = epsilon});
}

ValueId Network::normalized_convolution(const std::string& name,
                                        ValueId x,
                                        const Convolution& layer,
                                        double epsilon) {
  return batch_norm(name + ".norm", convolution(name + ".conv", x, layer), epsilon);
}

ValueId Network::doubling(std::string_view name, ValueId x, std::int64_t out) {
  const ValueId w = parameter(text("{}.weight", name), core::Shape{channels(x), out, 2, 2},
                              he_normal(channels(x)));
  const ValueId bias = vector(text("{}.bias", name), out, 0);
  return ops::conv_transpose(at(name), x, w, bias, {.strides = {2, 2}});
}

ValueId Network::layer_norm(std::string_view name, ValueId x, double epsilon) {
  const core::Shape& shape = builder_.type(x).shape;
  const std::int64_t size = shape[shape.rank() - 1];
  const ValueId scale = vector(text("{}.weight", name), size, 1);
  const ValueId bias = vector(text("{}.bias", name), size, 0);
  return ops::layer_norm(at(name), x, scale, bias, -1, epsilon).y;
}

ValueId Network::linear(std::string_view name,
                        ValueId x,
                        std::int64_t features,
                        const std::optional<Init>& init) {
  const std::int64_t fan_in = channels(x);
  const Init by_fan_in{core::Distribution::kUniform, 1.0 / std::sqrt(static_cast<double>(fan_in))};
  const ValueId w =
      parameter(text("{}.weight", name), core::Shape{features, fan_in}, init.value_or(by_fan_in));
  const ValueId bias = vector(text("{}.bias", name), features, 0);
  return ops::gemm(at(name), x, w, bias, {.transpose_b = true});
}

ValueId Network::relu(std::string_view name, ValueId x) {
  return ops::relu(at(text("{}.relu", name)), x);
}

ValueId Network::max_pool(std::string_view name, ValueId x, const ops::Pool& window) {
  return ops::max_pool(at(name), x, window);
}

ValueId Network::average(ValueId x) { return flatten(ops::global_average_pool(at("avgpool"), x)); }

ValueId Network::flatten(ValueId x) {
  return ops::reshape(at("flatten"), x, ops::Reshape{.target = {0, -1}});
}

graph::Graph Network::finish(ValueId output) {
  graph_.value(output).name = "logits";
  graph_.outputs() = {output};
  return std::move(graph_);
}

}  // namespace lowtide::zoo
