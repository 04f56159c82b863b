// The small networks: mlp and lenet.
#include "core/text.h"
#include "ops/pool/pool.h"
#include "ops/unary/unary.h"
#include "zoo/network.h"
#include "zoo/networks.h"

namespace lowtide::zoo {

using graph::ValueId;

graph::Graph build_mlp(const ZooSettings& settings) {
  const std::int64_t width = settings.width == 0 ? 128 : settings.width;
  Network net(settings.seed);
  ValueId x = net.flatten(net.input(settings.channels, settings.size == 0 ? 28 : settings.size));
  for (const char* const name : {"fc1", "fc2"}) {
    x = net.linear(name, x, width);
    net.builder().set_scope(core::text("{}.relu", name));
    x = ops::relu(net.builder(), x);
  }
  return net.finish(net.linear("fc3", x, settings.classes));
}

graph::Graph build_lenet(const ZooSettings& settings) {
  const std::int64_t size = settings.size == 0 ? 28 : settings.size;
  if (size < 12) {
    throw core::fail(ErrorCode::kInvalidArgument, "lenet needs images of 12 pixels or more");
  }
  Network net(settings.seed);
  ValueId x = net.input(settings.channels, size);
  const auto stage = [&](const char* name, std::int64_t channels, std::int64_t padding) {
    x = net.convolution(name, x,
                        {.channels = channels, .kernel = 5, .padding = padding, .bias = true});
    net.builder().set_scope(core::text("{}.relu", name));
    x = ops::relu(net.builder(), x);
    x = ops::max_pool(net.builder(), x, {.kernel = {2, 2}, .strides = {2, 2}});
  };
  stage("conv1", 6, 2);
  stage("conv2", 16, 0);
  x = net.flatten(x);
  for (const auto& [name, features] : {std::pair{"fc1", 120}, std::pair{"fc2", 84}}) {
    x = net.linear(name, x, features);
    net.builder().set_scope(core::text("{}.relu", name));
    x = ops::relu(net.builder(), x);
  }
  return net.finish(net.linear("fc3", x, settings.classes));
}

}  // namespace lowtide::zoo
