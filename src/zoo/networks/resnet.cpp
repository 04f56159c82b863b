// ResNet with blocks of two or three convolutions; with groups and other widths ResNeXt and the
// wide ResNets of its size.
#include <algorithm>
#include <numeric>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "zoo/network.h"
#include "zoo/networks/networks.h"

namespace lowtide::zoo {
namespace {

using core::fail;
using core::text;
using graph::ValueId;

struct Plan {
  std::vector<std::int64_t> blocks = {};  // per stage
  bool three = false;                     // convolutions per block: three instead of two
  std::int64_t groups = 1;                // of the middle one
  std::int64_t group_width = 64;          // its channels in a group, in the first stage
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

// Whether blocks have three convolutions: as asked for, else as the depth has it.
bool has_three(const ZooSettings& settings) {
  if (settings.block == "basic") return false;
  if (settings.block == "bottleneck") return true;
  if (!settings.block.empty()) {
    throw fail(ErrorCode::kInvalidArgument, "resnet has basic and bottleneck blocks, not '{}'",
               settings.block);
  }
  if (settings.blocks.empty()) return settings.depth >= 50;
  const auto blocks =
      std::accumulate(settings.blocks.begin(), settings.blocks.end(), std::int64_t{0});
  return settings.depth != 2 * blocks + 2;
}

std::vector<std::int64_t> given_blocks(const ZooSettings& settings, std::int64_t per_block) {
  const auto blocks =
      std::accumulate(settings.blocks.begin(), settings.blocks.end(), std::int64_t{0});
  if (settings.blocks.size() != 4 ||
      (settings.depth != 0 && settings.depth != per_block * blocks + 2)) {
    throw fail(ErrorCode::kInvalidArgument,
               "resnet has four stages and depth 2 n + 2 or 3 n + 2 for n blocks; blocks {} "
               "with depth {} do not fit",
               settings.blocks, settings.depth);
  }
  if (std::any_of(settings.blocks.begin(), settings.blocks.end(),
                  [](std::int64_t count) { return count < 1; })) {
    throw fail(ErrorCode::kInvalidArgument, "a stage needs at least one block");
  }
  return settings.blocks;
}

Plan plan_of(const ZooSettings& settings) {
  const bool three = has_three(settings);
  if (!three && (settings.groups != 1 || settings.group_width != 64)) {
    throw fail(ErrorCode::kInvalidArgument, "resnet has groups in bottleneck blocks only");
  }
  Plan plan{.three = three, .groups = settings.groups, .group_width = settings.group_width};
  const std::int64_t per_block = three ? 3 : 2;
  if (!settings.blocks.empty()) {
    plan.blocks = given_blocks(settings, per_block);
    return plan;
  }
  const std::int64_t blocks = (settings.depth - 2) / per_block;
  if (blocks < 4 || (settings.depth - 2) % per_block != 0) {
    throw fail(ErrorCode::kInvalidArgument,
               "resnet cannot have depth {}: with basic blocks (below 50) it is 2 n + 2 (10, 18, "
               "34), with bottlenecks (from 50 on) 3 n + 2 (50, 101, 152)",
               settings.depth);
  }
  plan.blocks = split(settings.depth, blocks);
  return plan;
}

// Appends the layers of one network.
class Builder {
 public:
  explicit Builder(std::uint64_t seed) : net_(seed) {}

  graph::Graph build(const ZooSettings& settings, const Plan& plan) {
    x_ = net_.image(settings.channels, settings.size);
    x_ = unit("conv1", "bn1", x_, {.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
    x_ = net_.relu("bn1", x_);
    x_ = net_.max_pool(
        "maxpool", x_,
        {.kernel = {3, 3}, .strides = {2, 2}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
    std::int64_t width = 64;
    for (std::size_t stage = 0; stage < plan.blocks.size(); ++stage) {
      for (std::int64_t i = 0; i < plan.blocks[stage]; ++i) {
        block(text("layer{}.{}", stage + 1, i), width, i == 0 && stage > 0 ? 2 : 1, plan);
      }
      width *= 2;
    }
    return net_.finish(net_.linear("fc", net_.average(x_), settings.classes));
  }

 private:
  ValueId unit(const std::string& conv,
               const std::string& norm,
               ValueId x,
               const Convolution& layer) {
    return net_.batch_norm(norm, net_.convolution(conv, x, layer));
  }

  ValueId active_unit(const std::string& name, int i, ValueId x, const Convolution& layer) {
    const std::string norm = text("{}.bn{}", name, i);
    return net_.relu(norm, unit(text("{}.conv{}", name, i), norm, x, layer));
  }

  void block(const std::string& name, std::int64_t width, std::int64_t stride, const Plan& plan) {
    const std::int64_t channels = plan.three ? 4 * width : width;
    ValueId y = x_;
    if (plan.three) {
      const std::int64_t middle = width * plan.group_width / 64 * plan.groups;
      y = active_unit(name, 1, y, {.channels = middle, .kernel = 1});
      y = active_unit(name, 2, y,
                      {.channels = middle, .stride = stride, .padding = 1, .groups = plan.groups});
      y = unit(name + ".conv3", name + ".bn3", y, {.channels = channels, .kernel = 1});
    } else {
      y = active_unit(name, 1, y, {.channels = width, .stride = stride, .padding = 1});
      y = unit(name + ".conv2", name + ".bn2", y, {.channels = width, .padding = 1});
    }
    ValueId shortcut = x_;
    if (stride != 1 || net_.channels(x_) != channels) {
      shortcut = unit(name + ".downsample.0", name + ".downsample.1", x_,
                      {.channels = channels, .kernel = 1, .stride = stride});
    }
    x_ = net_.relu(name, ops::add(net_.at(name + ".add"), y, shortcut));
  }

  Network net_;
  ValueId x_;
};

}  // namespace

graph::Graph build_resnet(const ZooSettings& settings) {
  return Builder(settings.seed).build(settings, plan_of(settings));
}

}  // namespace lowtide::zoo
