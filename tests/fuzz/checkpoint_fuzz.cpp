// libFuzzer target: reads any bytes as a checkpoint file. Only lowtide::Error may come out.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lowtide/error.h"

#include "train/checkpoint/checkpoint_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int descriptor = ::memfd_create("checkpoint", MFD_CLOEXEC);
  if (descriptor < 0 || ::pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  try {
    const auto file =
        lowtide::train::CheckpointFile::open("/proc/self/fd/" + std::to_string(descriptor));
    static_cast<void>(file.number(lowtide::train::kStepKey));
  } catch (const lowtide::Error&) {
    // Refused, as hostile files should be.
  }
  ::close(descriptor);
  return 0;
}
