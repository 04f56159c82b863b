// nlohmann's JSON behind one header. Heavy: include it in sources only.
#pragma once

#include <nlohmann/json.hpp>

namespace lowtide::core {

using Json = nlohmann::ordered_json;  // keeps keys in the order they were set

}  // namespace lowtide::core
