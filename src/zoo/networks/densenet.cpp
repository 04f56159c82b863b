// DenseNet.
#include <algorithm>
#include <array>

#include "core/text.h"
#include "ops/concat/concat.h"
#include "zoo/network.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {
namespace {

using core::fail;
using core::text;
using graph::ValueId;

struct Published {
  std::int64_t depth;
  std::array<std::int64_t, 4> layers;  // of each block
};

constexpr std::array kPublished = {Published{121, {6, 12, 24, 16}}, Published{161, {6, 12, 36, 24}},
                                   Published{169, {6, 12, 32, 32}}, Published{201, {6, 12, 48, 32}},
                                   Published{264, {6, 12, 64, 48}}};

std::vector<std::int64_t> layers_of(const ZooSettings& settings) {
  if (!settings.blocks.empty()) {
    if (settings.depth != 0 || *std::ranges::min_element(settings.blocks) < 1) {
      throw fail(ErrorCode::kInvalidArgument,
                 "densenet takes a depth or the layers of each block, not {} and {}",
                 settings.depth, settings.blocks);
    }
    return settings.blocks;
  }
  const auto* const found = std::ranges::find(kPublished, settings.depth, &Published::depth);
  if (found == kPublished.end()) {
    throw fail(ErrorCode::kInvalidArgument, "densenet has depth 121, 161, 169, 201 or 264, not {}",
               settings.depth);
  }
  return {found->layers.begin(), found->layers.end()};
}

// Norm, ReLU and convolution, in that order.
ValueId unit(Network& net, const std::string& name, ValueId x, Convolution layer) {
  layer.fan_in = true;
  x = net.relu(name + ".norm", net.batch_norm(name + ".norm", x));
  return net.convolution(name + ".conv", x, layer);
}

// Joins `growth` new channels to those that are there.
ValueId dense_layer(Network& net, const std::string& name, ValueId x, std::int64_t growth) {
  ValueId y = unit(net, name + ".1", x, {.channels = 4 * growth, .kernel = 1});
  y = unit(net, name + ".2", y, {.channels = growth, .padding = 1});
  return ops::concat(net.at(name + ".concat"), {x, y}, 1);
}

ValueId transition(Network& net, const std::string& name, ValueId x) {
  x = unit(net, name, x, {.channels = net.channels(x) / 2, .kernel = 1});
  return ops::average_pool(net.at(name + ".pool"), x, {.kernel = {2, 2}, .strides = {2, 2}});
}

}  // namespace

graph::Graph build_densenet(const ZooSettings& settings) {
  const std::vector<std::int64_t> layers = layers_of(settings);
  const std::int64_t smallest = std::int64_t{2} << layers.size();
  if (settings.size < smallest) {
    throw fail(ErrorCode::kInvalidArgument,
               "densenet of {} blocks needs images of {} pixels or more", layers.size(), smallest);
  }
  Network net(settings.seed);
  ValueId x = net.image(settings.channels, settings.size);
  x = net.convolution(
      "conv0", x,
      {.channels = 2 * settings.growth, .kernel = 7, .stride = 2, .padding = 3, .fan_in = true});
  x = net.relu("norm0", net.batch_norm("norm0", x));
  x = net.max_pool("pool0", x,
                   {.kernel = {3, 3}, .strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
  for (std::size_t block = 0; block < layers.size(); ++block) {
    if (block > 0) x = transition(net, text("transition{}", block), x);
    for (std::int64_t i = 0; i < layers[block]; ++i) {
      x = dense_layer(net, text("block{}.{}", block + 1, i), x, settings.growth);
    }
  }
  x = net.relu("norm5", net.batch_norm("norm5", x));
  return net.finish(net.linear("classifier", net.average(x), settings.classes));
}

}  // namespace lowtide::zoo
