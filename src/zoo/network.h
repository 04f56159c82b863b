// Network: layers with named fresh weights on top of a graph builder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/random.h"
#include "graph/builder.h"

namespace lowtide::zoo {

struct Convolution {
  std::int64_t channels = 0;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool bias = false;
};

// Builds one network. Weights are drawn in the order of the layers from one stream, so a seed fixes
// them all: He's normal initialisation by fan-out for convolutions, uniform by fan-in for linear
// layers, ones and zeros for batch norm.
class Network {
 public:
  explicit Network(std::uint64_t seed) : builder_(graph_), random_(seed, 0) {}

  graph::ValueId input(std::int64_t channels, std::int64_t size);
  graph::ValueId convolution(std::string_view name, graph::ValueId x, const Convolution& layer);
  graph::ValueId batch_norm(std::string_view name, graph::ValueId x);
  graph::ValueId linear(std::string_view name, graph::ValueId x, std::int64_t features);
  // (N, C, H, W) to (N, C H W), for any N.
  graph::ValueId flatten(graph::ValueId x);

  [[nodiscard]] std::int64_t channels(graph::ValueId x) const { return builder_.type(x).shape[1]; }
  [[nodiscard]] graph::GraphBuilder& builder() { return builder_; }
  // Ends the network; it must not be used afterwards.
  graph::Graph finish(graph::ValueId output);

 private:
  graph::ValueId parameter(std::string name, core::Shape shape, const std::vector<float>& values);
  graph::ValueId filled(std::string name, std::int64_t size, float value);

  graph::Graph graph_;
  graph::GraphBuilder builder_;
  core::RandomStream random_;
};

}  // namespace lowtide::zoo
