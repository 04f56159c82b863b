// libFuzzer target: reads any bytes as a CSV file. Only lowtide::Error may come out.
#include "lowtide/error.h"

#include "data/source/csv.h"
#include "fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lowtide::fuzz::MemoryFile file(data, size);
  try {
    lowtide::data::open_csv(file.path(), {.label = "l"});
  } catch (const lowtide::Error&) {
    // Refused, as hostile files should be.
  }
  return 0;
}
