// VGG, with or without batch norm.
#include <algorithm>
#include <array>

#include "core/text.h"
#include "zoo/network.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {
namespace {

using core::fail;
using core::text;
using graph::ValueId;

struct Stages {
  std::int64_t depth;
  std::array<int, 5> convolutions;  // per stage
};

constexpr std::array kStages = {Stages{11, {1, 1, 2, 2, 2}}, Stages{13, {2, 2, 2, 2, 2}},
                                Stages{16, {2, 2, 3, 3, 3}}, Stages{19, {2, 2, 4, 4, 4}}};

}  // namespace

graph::Graph build_vgg(const ZooSettings& settings) {
  const auto* const stages = std::find_if(kStages.begin(), kStages.end(), [&](const Stages& entry) {
    return entry.depth == settings.depth;
  });
  if (stages == kStages.end()) {
    throw fail(ErrorCode::kInvalidArgument, "vgg has depth 11, 13, 16 or 19, not {}",
               settings.depth);
  }
  if (settings.size < 32) {
    throw fail(ErrorCode::kInvalidArgument, "vgg needs images of 32 pixels or more");
  }
  Network net(settings.seed);
  ValueId x = net.image(settings.channels, settings.size);
  for (std::size_t stage = 0; stage < stages->convolutions.size(); ++stage) {
    const std::int64_t channels = std::min<std::int64_t>(64 << stage, 512);
    for (int i = 0; i < stages->convolutions[stage]; ++i) {
      const std::string name = text("conv{}.{}", stage + 1, i);
      x = net.convolution(name, x, {.channels = channels, .padding = 1, .bias = true});
      if (settings.batch_norm) x = net.batch_norm(text("bn{}.{}", stage + 1, i), x);
      x = net.relu(name, x);
    }
    x = net.max_pool(text("pool{}", stage + 1), x, {.kernel = {2, 2}, .strides = {2, 2}});
  }
  x = net.flatten(x);
  for (const char* const name : {"fc1", "fc2"}) {
    x = net.relu(name, net.linear(name, x, settings.width));
  }
  return net.finish(net.linear("fc3", x, settings.classes));
}

}  // namespace lowtide::zoo
