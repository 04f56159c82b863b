// AlexNet.
#include "core/text.h"
#include "zoo/network.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {

using graph::ValueId;

graph::Graph build_alexnet(const ZooSettings& settings) {
  if (settings.size < 63) {
    throw core::fail(ErrorCode::kInvalidArgument, "alexnet needs images of 63 pixels or more");
  }
  Network net(settings.seed);
  ValueId x = net.image(settings.channels, settings.size);
  const auto convolution = [&](const char* name, Convolution layer) {
    layer.bias = true;
    layer.fan_in = true;
    x = net.relu(name, net.convolution(name, x, layer));
  };
  const auto pool = [&](const char* name) {
    x = net.max_pool(name, x, {.kernel = {3, 3}, .strides = {2, 2}});
  };
  convolution("conv1", {.channels = 64, .kernel = 11, .stride = 4, .padding = 2});
  pool("pool1");
  convolution("conv2", {.channels = 192, .kernel = 5, .padding = 2});
  pool("pool2");
  convolution("conv3", {.channels = 384, .padding = 1});
  convolution("conv4", {.channels = 256, .padding = 1});
  convolution("conv5", {.channels = 256, .padding = 1});
  pool("pool5");
  x = net.flatten(x);
  for (const char* const name : {"fc6", "fc7"}) {
    x = net.relu(name, net.linear(name, x, settings.width));
  }
  return net.finish(net.linear("fc8", x, settings.classes));
}

}  // namespace lowtide::zoo
