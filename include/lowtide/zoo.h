// Well-known networks with fresh weights, written as ONNX.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lowtide {

// Which network, and what it is to be like. What each takes, and with which usual values, is told
// by zoo_networks(). 0, false and empty mean the usual value; one that a network does not take must
// be left so.
struct ZooSettings {
  std::string name;
  std::int64_t depth = 0;                 // layers
  std::int64_t width = 0;                 // hidden units, or a widening factor
  std::vector<std::int64_t> blocks = {};  // per stage, instead of a depth
  std::string block = {};                 // resnet: "basic" or "bottleneck"
  std::int64_t groups = 0;                // of a block's middle convolution
  std::int64_t group_width = 0;
  std::int64_t growth = 0;      // channels that a dense layer adds
  bool batch_norm = false;      // after each convolution
  std::int64_t heads = 0;       // of attention
  std::int64_t vocabulary = 0;  // tokens that there are
  std::int64_t sequence = 0;    // tokens of a sample
  std::int64_t patch = 0;       // height and width of what becomes one token
  std::int64_t classes = 0;
  std::int64_t channels = 0;  // of the image
  std::int64_t size = 0;      // height and width of the image
  std::uint64_t seed = 0;
};

struct ZooOption {
  std::string name;   // a member of ZooSettings, with '-' for '_'
  std::string usual;  // its value where none is given; empty where there is none
  std::string meaning;
};

struct ZooNetwork {
  std::string name;
  std::string about;
  std::vector<ZooOption> options = {};
  std::int64_t parameters = 0;  // with the usual values
};

// Every network there is.
std::vector<ZooNetwork> zoo_networks();
std::vector<std::string> zoo_names();

// Writes the network: batch left open, input named "input", output "logits". The same settings give
// the same weights. Returns how many parameters there are. Throws Error(kInvalidArgument) for what
// the network cannot have.
std::int64_t write_zoo(const ZooSettings& settings, const std::filesystem::path& path);

}  // namespace lowtide
