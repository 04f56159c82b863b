// libFuzzer target: opens any bytes as an .npz, reading a sample of each array, as an .npy (what
// stands behind checksums in an archive) and as an IDX file. Only lowtide::Error may come out.
#include <vector>

#include "lowtide/error.h"

#include "data/dataset.h"
#include "data/format/idx.h"
#include "data/format/npy.h"
#include "fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ld = lowtide::data;
  const lowtide::fuzz::MemoryFile file(data, size);
  try {
    const auto dataset = ld::open(file.path());
    for (std::size_t field = 0; field < dataset->fields().size(); ++field) {
      const lowtide::Bytes width = dataset->fields()[field].sample_bytes();
      if (width > lowtide::Bytes(1 << 20)) continue;
      std::vector<std::byte> out(static_cast<std::size_t>(width.count()));
      const std::int64_t last = dataset->samples() - 1;
      dataset->read(field, {&last, 1}, out);
    }
  } catch (const lowtide::Error&) {
    // Refused, as hostile files should be.
  }
  try {
    ld::open_npy(ld::ByteSource::open(file.path()));
  } catch (const lowtide::Error&) {
    // Likewise.
  }
  try {
    ld::open_idx(ld::ByteSource::open(file.path()));
  } catch (const lowtide::Error&) {
    // Likewise.
  }
  return 0;
}
