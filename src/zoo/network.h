// Network: layers with named fresh weights on top of a graph builder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/random.h"
#include "graph/builder.h"
#include "ops/pool/pool.h"

namespace lowtide::zoo {

// How a tensor starts: see core::Draw.
struct Init {
  core::Distribution distribution = core::Distribution::kConstant;
  double scale = 0;
};

constexpr Init normal(double deviation) { return {core::Distribution::kNormal, deviation}; }
constexpr Init truncated_normal(double deviation) {
  return {core::Distribution::kTruncatedNormal, deviation};
}

// He's normal initialisation for a ReLU behind or before so many weights.
Init he_normal(std::int64_t fan);

struct Convolution {
  std::int64_t channels = 0;
  std::int64_t kernel = 3;
  std::int64_t kernel_width = 0;  // where it is not square; padding then keeps the image's size
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool bias = false;
  bool fan_in = false;  // He's initialisation by fan-in instead of fan-out
};

// Builds one network. Each tensor is drawn from its own stream of the seed: He's normal
// initialisation for convolutions, uniform by fan-in for linear layers where nothing else is asked
// for, ones and zeros for normalisation. Weights are recipes until they are written, so a network
// takes no memory to speak of.
class Network {
 public:
  explicit Network(std::uint64_t seed) : builder_(graph_), seed_(seed) {}

  // The input: an image (1, channels, size, size), or token numbers (1, length).
  graph::ValueId image(std::int64_t channels, std::int64_t size);
  graph::ValueId tokens(std::int64_t length);

  graph::ValueId parameter(std::string name, core::Shape shape, const Init& init);

  graph::ValueId convolution(std::string_view name, graph::ValueId x, const Convolution& layer);
  graph::ValueId batch_norm(std::string_view name, graph::ValueId x, double epsilon = 1e-5);
  // A convolution and its batch norm.
  graph::ValueId normalized_convolution(const std::string& name,
                                        graph::ValueId x,
                                        const Convolution& layer,
                                        double epsilon = 1e-5);
  // A transposed convolution of 2x2 windows that do not overlap, with a bias: twice the size.
  graph::ValueId doubling(std::string_view name, graph::ValueId x, std::int64_t channels);
  graph::ValueId layer_norm(std::string_view name, graph::ValueId x, double epsilon);
  // Of (N, features).
  graph::ValueId linear(std::string_view name,
                        graph::ValueId x,
                        std::int64_t features,
                        const std::optional<Init>& init = {});
  graph::ValueId relu(std::string_view name, graph::ValueId x);
  graph::ValueId max_pool(std::string_view name, graph::ValueId x, const ops::Pool& window);
  // (N, C, H, W) to (N, C), the mean of each channel.
  graph::ValueId average(graph::ValueId x);
  // (N, C, H, W) to (N, C H W), for any N.
  graph::ValueId flatten(graph::ValueId x);

  [[nodiscard]] std::int64_t channels(graph::ValueId x) const { return builder_.type(x).shape[1]; }
  [[nodiscard]] graph::GraphBuilder& builder() { return builder_; }
  // The builder, its next nodes named so.
  graph::GraphBuilder& at(std::string_view name);
  // Ends the network; it must not be used afterwards.
  graph::Graph finish(graph::ValueId output);

 private:
  graph::ValueId vector(std::string name, std::int64_t size, double value);

  graph::Graph graph_;
  graph::GraphBuilder builder_;
  std::uint64_t seed_;
  std::uint32_t streams_ = 0;
};

}  // namespace lowtide::zoo
