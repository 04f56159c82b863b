// libFuzzer target: decodes any bytes as an image, once for evaluation and once augmented. Only
// lowtide::Error may come out.
#include <array>

#include "lowtide/error.h"

#include "data/source/image_folder.h"
#include "fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ld = lowtide::data;
  const lowtide::fuzz::MemoryFile file(data, size);
  std::array<std::uint8_t, 3 * 7 * 5> out = {};
  constexpr ld::ImageSize kOutput = {.width = 5, .height = 7};
  for (const bool augmented : {false, true}) {
    try {
      ld::decode_image(
          ld::ByteSource::open(file.path()), {.channels = 3, .height = 7, .width = 5},
          [&](ld::ImageSize image) {
            return augmented
                       ? ld::random_view(image, kOutput, {.crop = true, .flip = true}, 1, 2, 3)
                       : ld::centre_view(image, kOutput);
          },
          out);
    } catch (const lowtide::Error&) {
      // Refused, as hostile files should be.
    }
  }
  return 0;
}
