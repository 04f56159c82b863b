// The small networks: mlp and lenet.
#include "core/text.h"
#include "zoo/network.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {

using core::text;
using graph::ValueId;

graph::Graph build_mlp(const ZooSettings& settings) {
  Network net(settings.seed);
  ValueId x = net.flatten(net.image(settings.channels, settings.size));
  for (const char* const name : {"fc1", "fc2"}) {
    x = net.relu(name, net.linear(name, x, settings.width));
  }
  return net.finish(net.linear("fc3", x, settings.classes));
}

graph::Graph build_lenet(const ZooSettings& settings) {
  if (settings.size < 12) {
    throw core::fail(ErrorCode::kInvalidArgument, "lenet needs images of 12 pixels or more");
  }
  Network net(settings.seed);
  ValueId x = net.image(settings.channels, settings.size);
  const auto stage = [&](const char* name, std::int64_t channels, std::int64_t padding) {
    x = net.convolution(name, x,
                        {.channels = channels, .kernel = 5, .padding = padding, .bias = true});
    x = net.max_pool(text("{}.pool", name), net.relu(name, x),
                     {.kernel = {2, 2}, .strides = {2, 2}});
  };
  stage("conv1", 6, 2);
  stage("conv2", 16, 0);
  x = net.flatten(x);
  for (const auto& [name, features] : {std::pair{"fc1", 120}, std::pair{"fc2", 84}}) {
    x = net.relu(name, net.linear(name, x, features));
  }
  return net.finish(net.linear("fc3", x, settings.classes));
}

}  // namespace lowtide::zoo
