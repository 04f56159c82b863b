// NumPy's .npy: an array behind a header that is a Python dictionary in text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "data/format/stored_array.h"

namespace lowtide::data {

// Versions 1.0 to 3.0, both byte orders, float16 as float32. An array in column-major order is put
// into rows, in a temporary file in `temp_directory`. Throws Error(kInvalidFile) when the header is
// malformed or disagrees with the number of bytes that follow, Error(kUnsupported) for element
// types Lowtide does not know (complex, text, structures).
StoredArray open_npy(const ByteSource& source, const std::filesystem::path& temp_directory = {});

// The header of a row-major array in native byte order, padded as NumPy pads it.
std::vector<std::byte> npy_header(core::DType dtype, const core::Shape& shape);

}  // namespace lowtide::data
