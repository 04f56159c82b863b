// Wide ResNet with pre-activation blocks.
#include "core/text.h"
#include "ops/binary/binary.h"
#include "zoo/network.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {
namespace {

using core::text;
using graph::ValueId;

ValueId activate(Network& net, const std::string& norm, ValueId x) {
  return net.relu(norm, net.batch_norm(norm, x));
}

// BN-ReLU-conv-BN-ReLU-conv beside the identity, or beside a 1x1 convolution of the first
// activation where the shape changes.
ValueId block(
    Network& net, const std::string& name, ValueId x, std::int64_t channels, std::int64_t stride) {
  const ValueId first = activate(net, name + ".bn1", x);
  ValueId y = net.convolution(name + ".conv1", first,
                              {.channels = channels, .kernel = 3, .stride = stride, .padding = 1});
  y = activate(net, name + ".bn2", y);
  y = net.convolution(name + ".conv2", y, {.channels = channels, .kernel = 3, .padding = 1});
  ValueId shortcut = x;
  if (stride != 1 || net.channels(x) != channels) {
    shortcut = net.convolution(name + ".shortcut", first,
                               {.channels = channels, .kernel = 1, .stride = stride});
  }
  return ops::add(net.at(name + ".add"), y, shortcut);
}

}  // namespace

graph::Graph build_wrn(const ZooSettings& settings) {
  const std::int64_t depth = settings.depth;
  if (depth < 10 || (depth - 4) % 6 != 0) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "wrn cannot have depth {}: it is 6 n + 4 (10, 16, 22, 28, 40)", depth);
  }
  Network net(settings.seed);
  ValueId x = net.image(settings.channels, settings.size);
  x = net.convolution("conv1", x, {.channels = 16, .kernel = 3, .padding = 1});
  std::int64_t channels = 16 * settings.width;
  for (int group = 1; group <= 3; ++group) {
    for (std::int64_t i = 0; i < (depth - 4) / 6; ++i) {
      x = block(net, text("group{}.{}", group, i), x, channels, i == 0 && group > 1 ? 2 : 1);
    }
    channels *= 2;
  }
  x = activate(net, "bn", x);
  return net.finish(net.linear("fc", net.average(x), settings.classes));
}

}  // namespace lowtide::zoo
