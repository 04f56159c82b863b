// Packing problems as files: comma-separated, as those that minimalloc comes with.
#pragma once

#include <filesystem>
#include <vector>

#include "plan/packing/item.h"

namespace lowtide::plan {

// A header line names the columns, of which `lower`, `upper` and `size` are read: a buffer of
// `size` bytes is in use from `lower` to before `upper`. Throws Error(kInvalidFile) where a column
// is missing, a line has no number there, or a buffer ends before it begins.
std::vector<Item> read_buffers(const std::filesystem::path& path);

}  // namespace lowtide::plan
