// MobileNet v2.
#include <algorithm>
#include <array>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"
#include "zoo/network.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {
namespace {

using core::text;
using graph::ValueId;

// A row of the paper's table 2: `count` blocks, the first with the stride.
struct Stage {
  std::int64_t expansion;
  std::int64_t channels;
  std::int64_t count;
  std::int64_t stride;
};

constexpr std::array kStages = {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2},
                                Stage{6, 64, 4, 2}, Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2},
                                Stage{6, 320, 1, 1}};

// `percent` of the channels, as the nearest multiple of 8 that takes no more than a tenth away.
std::int64_t scaled(std::int64_t channels, std::int64_t percent) {
  const std::int64_t wanted = channels * percent;
  const std::int64_t rounded = std::max<std::int64_t>((wanted + 400) / 800 * 8, 8);
  return 1000 * rounded < 9 * wanted ? rounded + 8 : rounded;
}

ValueId unit(Network& net, const std::string& name, ValueId x, const Convolution& layer) {
  x = net.normalized_convolution(name, x, layer);
  return ops::clip(net.at(name + ".relu6"), x, 0, 6);
}

// The inverted residual: wider, filtered channel by channel, narrower again.
ValueId block(Network& net, const std::string& name, ValueId x, const Stage& stage) {
  const std::int64_t middle = stage.expansion * net.channels(x);
  ValueId y = x;
  if (stage.expansion != 1) {
    y = unit(net, name + ".expand", y, {.channels = middle, .kernel = 1});
  }
  y = unit(net, name + ".filter", y,
           {.channels = middle, .stride = stage.stride, .padding = 1, .groups = middle});
  y = net.normalized_convolution(name + ".project", y, {.channels = stage.channels, .kernel = 1});
  if (stage.stride != 1 || net.channels(x) != stage.channels) return y;
  return ops::add(net.at(name + ".add"), x, y);
}

}  // namespace

graph::Graph build_mobilenet(const ZooSettings& settings) {
  Network net(settings.seed);
  ValueId x = net.image(settings.channels, settings.size);
  x = unit(net, "first", x, {.channels = scaled(32, settings.width), .stride = 2, .padding = 1});
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    Stage stage = kStages[i];
    stage.channels = scaled(stage.channels, settings.width);
    for (std::int64_t k = 0; k < stage.count; ++k) {
      x = block(net, text("stage{}.{}", i + 1, k), x, stage);
      stage.stride = 1;
    }
  }
  const std::int64_t features = scaled(1280, std::max<std::int64_t>(settings.width, 100));
  x = unit(net, "last", x, {.channels = features, .kernel = 1});
  return net.finish(net.linear("classifier", net.average(x), settings.classes, normal(0.01)));
}

}  // namespace lowtide::zoo
