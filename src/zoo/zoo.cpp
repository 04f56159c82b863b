#include "zoo/zoo.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "zoo/networks.h"

namespace lowtide::zoo {
namespace {

struct Entry {
  const char* name;
  graph::Graph (*build)(const ZooSettings&);
};

constexpr std::array kNetworks = {
    Entry{"mlp", build_mlp}, Entry{"lenet", build_lenet}, Entry{"resnet", build_resnet},
    Entry{"vgg", build_vgg}, Entry{"wrn", build_wrn},
};

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const Entry& entry : kNetworks) result.emplace_back(entry.name);
  return result;
}

graph::Graph build(const ZooSettings& settings) {
  const auto* const entry =
      std::find_if(kNetworks.begin(), kNetworks.end(),
                   [&](const Entry& candidate) { return settings.name == candidate.name; });
  if (entry == kNetworks.end()) {
    throw core::fail(ErrorCode::kInvalidArgument, "'{}' is not in the zoo; there are: {}",
                     settings.name, fmt::join(names(), ", "));
  }
  return entry->build(settings);
}

}  // namespace lowtide::zoo
