// IDX, the format of the MNIST family: a big-endian array behind its type and dimensions.
#pragma once

#include "data/format/stored_array.h"

namespace lowtide::data {

// Throws Error(kInvalidFile) when the header is malformed or disagrees with the file's size.
StoredArray open_idx(const ByteSource& source);

}  // namespace lowtide::data
