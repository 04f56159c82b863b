// U-Net (Ronneberger et al. 2015), as people train it: padded, with batch norm.
#include <vector>

#include "core/text.h"
#include "ops/concat/concat.h"
#include "zoo/network.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {
namespace {

using core::fail;
using core::text;
using graph::ValueId;

ValueId two_convolutions(Network& net, const std::string& name, ValueId x, std::int64_t channels) {
  for (int i = 1; i <= 2; ++i) {
    const std::string own = text("{}.{}", name, i);
    const Convolution layer{.channels = channels, .padding = 1};
    x = net.relu(own, net.normalized_convolution(own, x, layer));
  }
  return x;
}

}  // namespace

graph::Graph build_unet(const ZooSettings& settings) {
  const std::int64_t depth = settings.depth;
  if (depth > 16 || settings.size % (std::int64_t{1} << depth) != 0) {
    throw fail(ErrorCode::kInvalidArgument, "unet cannot halve an image of {} pixels {} times",
               settings.size, depth);
  }
  Network net(settings.seed);
  ValueId x = net.image(settings.channels, settings.size);
  std::vector<ValueId> left;  // what each level hands across
  for (std::int64_t level = 0; level < depth; ++level) {
    x = two_convolutions(net, text("down{}", level), x, settings.width << level);
    left.push_back(x);
    x = net.max_pool(text("down{}.pool", level), x, {.kernel = {2, 2}, .strides = {2, 2}});
  }
  x = two_convolutions(net, "bottom", x, settings.width << depth);
  for (std::int64_t level = depth - 1; level >= 0; --level) {
    const std::string name = text("up{}", level);
    x = net.doubling(name + ".double", x, settings.width << level);
    x = ops::concat(net.at(name + ".concat"), {left[static_cast<std::size_t>(level)], x}, 1);
    x = two_convolutions(net, name, x, settings.width << level);
  }
  return net.finish(
      net.convolution("classifier", x, {.channels = settings.classes, .kernel = 1, .bias = true}));
}

}  // namespace lowtide::zoo
