// How often any thread of this executable has taken memory from the heap through new.
#pragma once

#include <cstdint>

namespace lowtide::data {

std::int64_t allocation_count();

}  // namespace lowtide::data
