#include "data/versions.h"

#include <zlib.h>

namespace lowtide::data {

std::vector<std::pair<std::string, std::string>> library_versions() {
  return {{"zlib", zlibVersion()}, {"libjpeg-turbo", jpeg_version()}, {"libpng", png_version()}};
}

}  // namespace lowtide::data
