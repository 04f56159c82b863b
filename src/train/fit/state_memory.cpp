#include "train/fit/state_memory.h"

#include <cstring>

namespace lowtide::train {

void StateMemory::read(std::size_t entry, std::int64_t from, std::span<std::byte> into) const {
  const Bytes offset = places_->offsets[entry] + Bytes(from);
  if (places_->in_file[entry] != 0) {
    file_->read(offset, into);
  } else {
    std::memcpy(into.data(), arena_ + offset.count(), into.size());
  }
}

void StateMemory::write(std::size_t entry,
                        std::int64_t from,
                        std::span<const std::byte> bytes) const {
  const Bytes offset = places_->offsets[entry] + Bytes(from);
  if (places_->in_file[entry] != 0) {
    file_->write(offset, bytes);
  } else {
    std::memcpy(arena_ + offset.count(), bytes.data(), bytes.size());
  }
}

}  // namespace lowtide::train
