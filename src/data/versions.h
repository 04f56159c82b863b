// The libraries that data is read with, as they are loaded.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lowtide::data {

// Name and version of each.
std::vector<std::pair<std::string, std::string>> library_versions();

// Of libjpeg-turbo, and of libpng.
std::string jpeg_version();
std::string png_version();

}  // namespace lowtide::data
