// Reading small NumPy arrays: class weights and the like.
#pragma once

#include <filesystem>
#include <vector>

namespace lowtide {

// All elements of an .npy of floats or integers in row-major order. Throws Error: kIo,
// kInvalidFile, kInvalidArgument for bool, kUnsupported for other element types.
std::vector<float> read_npy_floats(const std::filesystem::path& path);

}  // namespace lowtide
