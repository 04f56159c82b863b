// Inception v4.
#include <algorithm>
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

// The shapes of convolutions, as the paper's figures label them: what is not 1x1 or marked `valid`
// keeps the image's size.
Convolution one(std::int64_t channels) { return {.channels = channels, .kernel = 1}; }
Convolution square(std::int64_t channels) { return {.channels = channels, .padding = 1}; }
Convolution valid(std::int64_t channels, std::int64_t stride = 1) {
  return {.channels = channels, .stride = stride};
}
Convolution flat(std::int64_t channels, std::int64_t width) {
  return {.channels = channels, .kernel = 1, .kernel_width = width};
}
Convolution tall(std::int64_t channels, std::int64_t height) {
  return {.channels = channels, .kernel = height, .kernel_width = 1};
}

class Builder {
 public:
  explicit Builder(const ZooSettings& settings) : net_(settings.seed), width_(settings.width) {}

  graph::Graph build(const ZooSettings& settings) {
    x_ = net_.image(settings.channels, settings.size);
    stem();
    const auto repeat = [&](char kind, std::int64_t count, void (Builder::*module)()) {
      for (std::int64_t i = 0; i < count; ++i) {
        name_ = text("{}{}", kind, i);
        (this->*module)();
      }
    };
    repeat('a', settings.blocks[0], &Builder::module_a);
    name_ = "reduction_a";
    join({chain(x_, "1", {valid(384, 2)}), chain(x_, "2", {one(192), square(224), valid(256, 2)}),
          shrunk()});
    repeat('b', settings.blocks[1], &Builder::module_b);
    name_ = "reduction_b";
    join({chain(x_, "1", {one(192), valid(192, 2)}),
          chain(x_, "2", {one(256), flat(256, 7), tall(320, 7), valid(320, 2)}), shrunk()});
    repeat('c', settings.blocks[2], &Builder::module_c);
    return net_.finish(net_.linear("classifier", net_.average(x_), settings.classes));
  }

 private:
  void stem() {
    name_ = "stem";
    x_ = chain(x_, "first", {valid(32, 2), valid(32), square(64)});
    name_ = "stem1";
    join({shrunk(), chain(x_, "1", {valid(96, 2)})});
    name_ = "stem2";
    join({chain(x_, "1", {one(64), valid(96)}),
          chain(x_, "2", {one(64), flat(64, 7), tall(64, 7), valid(96)})});
    name_ = "stem3";
    join({chain(x_, "1", {valid(192, 2)}), shrunk()});
  }

  void module_a() {
    join({chain(x_, "1", {one(96)}), chain(x_, "2", {one(64), square(96)}),
          chain(x_, "3", {one(64), square(96), square(96)}), pooled(96)});
  }

  void module_b() {
    join({chain(x_, "1", {one(384)}), chain(x_, "2", {one(192), flat(224, 7), tall(256, 7)}),
          chain(x_, "3", {one(192), tall(192, 7), flat(224, 7), tall(224, 7), flat(256, 7)}),
          pooled(128)});
  }

  void module_c() {
    const ValueId two = chain(x_, "2", {one(384)});
    const ValueId three = chain(x_, "3", {one(384), tall(448, 3), flat(512, 3)});
    join({chain(x_, "1", {one(256)}), chain(two, "2a", {flat(256, 3)}),
          chain(two, "2b", {tall(256, 3)}), chain(three, "3a", {flat(256, 3)}),
          chain(three, "3b", {tall(256, 3)}), pooled(256)});
  }

  // Convolutions one after the other, each with batch norm and ReLU.
  ValueId chain(ValueId x, const char* branch, const std::vector<Convolution>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      Convolution layer = layers[i];
      layer.channels = std::max<std::int64_t>(layer.channels * width_ / 100, 1);
      layer.fan_in = true;
      const std::string name = text("{}.{}.{}", name_, branch, i);
      x = net_.relu(name, net_.normalized_convolution(name, x, layer, 1e-3));
    }
    return x;
  }

  // The mean around each pixel, then a 1x1 convolution.
  ValueId pooled(std::int64_t channels) {
    const ValueId mean = ops::average_pool(
        net_.at(name_ + ".mean"), x_, {.kernel = {3, 3}, .pads_begin = {1, 1}, .pads_end = {1, 1}});
    return chain(mean, "pool", {one(channels)});
  }

  ValueId shrunk() {
    return net_.max_pool(name_ + ".max", x_, {.kernel = {3, 3}, .strides = {2, 2}});
  }

  void join(std::vector<ValueId> branches) {
    x_ = ops::concat(net_.at(name_ + ".concat"), std::move(branches), 1);
  }

  Network net_;
  std::int64_t width_;
  std::string name_;
  ValueId x_;
};

}  // namespace

graph::Graph build_inception(const ZooSettings& settings) {
  ZooSettings complete = settings;
  if (complete.blocks.empty()) complete.blocks = {4, 7, 3};
  if (complete.blocks.size() != 3 || *std::ranges::min_element(complete.blocks) < 0) {
    throw fail(ErrorCode::kInvalidArgument, "inception has three kinds of modules; blocks {}",
               complete.blocks);
  }
  if (complete.size < 75) {
    throw fail(ErrorCode::kInvalidArgument, "inception needs images of 75 pixels or more");
  }
  return Builder(complete).build(complete);
}

}  // namespace lowtide::zoo
