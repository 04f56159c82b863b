// Which way a camera was held: the orientation that it writes beside the pixels.
#pragma once

#include <cstddef>
#include <span>

#include "data/format/byte_source.h"
#include "data/image/resampler.h"

namespace lowtide::data {

// What turns the pixels of a JPEG file upright, as the first Exif segment says; nothing where there
// is none among the first segments, or no sense in it. Throws Error(kIo) only.
Turn turn_of_jpeg(const ByteSource& file);

// The same from the content of such a segment, or of a PNG's chunk eXIf, which has the form of a
// TIFF file (Exif 2.32, 4.6.4: tag 0x0112).
Turn turn_of_exif(std::span<const std::byte> content);

}  // namespace lowtide::data
