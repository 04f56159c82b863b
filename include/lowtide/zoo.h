// Well-known networks with fresh weights, written as ONNX.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lowtide {

struct ZooSettings {
  std::string name;                       // "mlp", "lenet", "resnet", "vgg", "wrn"
  std::int64_t depth = 0;                 // 0: the network's usual one
  std::int64_t width = 0;                 // hidden units or widening factor
  std::vector<std::int64_t> blocks = {};  // resnet: blocks per stage instead of a depth
  std::int64_t classes = 10;
  std::int64_t channels = 3;
  std::int64_t size = 0;  // height and width of the image; 0: the usual one
  std::uint64_t seed = 0;
};

// Names that write_zoo knows.
std::vector<std::string> zoo_names();

// Writes the network: batch left open, input named "input", output "logits". Throws
// Error(kInvalidArgument) for depths and sizes that the network cannot have.
void write_zoo(const ZooSettings& settings, const std::filesystem::path& path);

}  // namespace lowtide
