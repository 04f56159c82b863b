// ResNet with blocks of two or three convolutions.
#include <numeric>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/pool/pool.h"
#include "ops/unary/unary.h"
#include "zoo/network.h"
#include "zoo/networks.h"

namespace lowtide::zoo {
namespace {

using core::fail;
using core::text;
using graph::ValueId;

struct Plan {
  std::vector<std::int64_t> blocks;
  bool three = false;  // convolutions per block: three instead of two
};

// Blocks per stage: the published splits, and for other depths the third stage takes what the
// published ones of its kind leave.
std::vector<std::int64_t> split(std::int64_t depth, std::int64_t blocks) {
  switch (depth) {
    case 18: return {2, 2, 2, 2};
    case 152: return {3, 8, 36, 3};
    default: break;
  }
  if (blocks > 10) return {3, 4, blocks - 10, 3};
  std::vector<std::int64_t> even(4, blocks / 4);
  for (std::int64_t i = 0; i < blocks % 4; ++i) ++even[static_cast<std::size_t>(i)];
  return even;
}

Plan plan_of(const ZooSettings& settings) {
  const std::int64_t depth = settings.depth;
  if (!settings.blocks.empty()) {
    const std::int64_t sum =
        std::accumulate(settings.blocks.begin(), settings.blocks.end(), std::int64_t{0});
    if (settings.blocks.size() != 4 || depth < 0 ||
        (depth != 0 && depth != 2 * sum + 2 && depth != 3 * sum + 2)) {
      throw fail(ErrorCode::kInvalidArgument,
                 "resnet has four stages and depth 2 n + 2 or 3 n + 2 for n blocks; blocks {} "
                 "with depth {} do not fit",
                 settings.blocks, depth);
    }
    for (const std::int64_t count : settings.blocks) {
      if (count < 1) throw fail(ErrorCode::kInvalidArgument, "a stage needs at least one block");
    }
    return {settings.blocks, depth == 0 || depth == 3 * sum + 2};
  }
  const std::int64_t wanted = depth == 0 ? 50 : depth;
  const bool three = wanted >= 50;
  const std::int64_t per_block = three ? 3 : 2;
  const std::int64_t blocks = (wanted - 2) / per_block;
  if (wanted < 10 || (wanted - 2) % per_block != 0) {
    throw fail(ErrorCode::kInvalidArgument,
               "resnet cannot have depth {}: below 50 it is 2 n + 2 (10, 18, 34), from 50 on "
               "3 n + 2 (50, 101, 152)",
               wanted);
  }
  return {split(wanted, blocks), three};
}

class Builder {
 public:
  explicit Builder(std::uint64_t seed) : net_(seed) {}

  graph::Graph build(const ZooSettings& settings, const Plan& plan) {
    x_ = net_.input(settings.channels, settings.size == 0 ? 224 : settings.size);
    x_ = unit("conv1", "bn1", x_, {.channels = 64, .kernel = 7, .stride = 2, .padding = 3}, true);
    net_.builder().set_scope("maxpool");
    x_ = ops::max_pool(
        net_.builder(), x_,
        {.kernel = {3, 3}, .strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
    std::int64_t width = 64;
    for (std::size_t stage = 0; stage < plan.blocks.size(); ++stage) {
      for (std::int64_t i = 0; i < plan.blocks[stage]; ++i) {
        block(text("layer{}.{}", stage + 1, i), width, i == 0 && stage > 0 ? 2 : 1, plan.three);
      }
      width *= 2;
    }
    net_.builder().set_scope("avgpool");
    x_ = net_.flatten(ops::global_average_pool(net_.builder(), x_));
    return net_.finish(net_.linear("fc", x_, settings.classes));
  }

 private:
  ValueId unit(const std::string& conv,
               const std::string& norm,
               ValueId x,
               const Convolution& layer,
               bool relu) {
    ValueId y = net_.batch_norm(norm, net_.convolution(conv, x, layer));
    if (!relu) return y;
    net_.builder().set_scope(norm + ".relu");
    return ops::relu(net_.builder(), y);
  }

  void block(const std::string& name, std::int64_t width, std::int64_t stride, bool three) {
    const std::int64_t channels = three ? 4 * width : width;
    ValueId y = x_;
    const Convolution spatial{.channels = width, .kernel = 3, .stride = stride, .padding = 1};
    if (three) {
      y = unit(name + ".conv1", name + ".bn1", y, {.channels = width, .kernel = 1}, true);
      y = unit(name + ".conv2", name + ".bn2", y, spatial, true);
      y = unit(name + ".conv3", name + ".bn3", y, {.channels = channels, .kernel = 1}, false);
    } else {
      y = unit(name + ".conv1", name + ".bn1", y, spatial, true);
      y = unit(name + ".conv2", name + ".bn2", y, {.channels = width, .kernel = 3, .padding = 1},
               false);
    }
    ValueId shortcut = x_;
    if (stride != 1 || net_.channels(x_) != channels) {
      shortcut = unit(name + ".downsample.0", name + ".downsample.1", x_,
                      {.channels = channels, .kernel = 1, .stride = stride}, false);
    }
    net_.builder().set_scope(name + ".add");
    y = ops::add(net_.builder(), y, shortcut);
    net_.builder().set_scope(name + ".relu");
    x_ = ops::relu(net_.builder(), y);
  }

  Network net_;
  ValueId x_;
};

}  // namespace

graph::Graph build_resnet(const ZooSettings& settings) {
  return Builder(settings.seed).build(settings, plan_of(settings));
}

}  // namespace lowtide::zoo
