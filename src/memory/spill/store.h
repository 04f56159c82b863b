// SpillStore: a file beside memory, for tensors that are not needed for a while.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "lowtide/bytes.h"
#include "lowtide/error.h"

#include "core/file.h"
#include "memory/spill/engine.h"
#include "memory/spill/lane.h"
#include "memory/spill/transfer.h"

namespace lowtide::memory {

// Bytes a second in each direction.
struct SpillRates {
  double store = 0;
  double fetch = 0;
};

enum class SpillIo {
  kBest,      // past the page cache where the file system lets us; by io_uring where it is there
  kBlocking,  // past the page cache where the file system lets us; by pread and pwrite
};

// Two lanes, one for each direction, and the file they share. The file has no name: its space is
// given back when the store goes or the process ends, however it ends. Everything throws Error(kIo)
// naming the directory and what could not be done. For one thread beside its own two.
class SpillStore {
 public:
  explicit SpillStore(const std::filesystem::path& directory, SpillIo io = SpillIo::kBest);
  // For tests: engines of the caller's choice.
  SpillStore(const std::filesystem::path& directory,
             std::unique_ptr<Engine> store,
             std::unique_ptr<Engine> fetch);

  // Whether transfers bypass the page cache.
  [[nodiscard]] bool direct() const { return direct_; }
  // Memory that the store has for itself.
  [[nodiscard]] static Bytes memory() { return Bytes(1 << 20); }

  // What each direction moves while both are busy, and so many threads compute. Uses 8 MiB of
  // memory, which it gives back, and as much of the file; takes about a tenth of a second. Comes
  // before reserve(), whose contents it would overwrite.
  SpillRates measure(int kernel_threads);

  // Gives the file its size (a multiple of kSpillBlock), backed by space on the disk, reading as
  // zeros. Room for `transfers` at once: none of them allocates later.
  void reserve(Bytes size, std::size_t transfers);

  // The transfer is under way when this returns. Transfers of one direction happen in order; the
  // two directions do not wait for one another.
  void submit(Transfer& transfer);
  // Returns when the transfer is through; at once if it is already.
  void wait(const Transfer& transfer) const;

  // Whole tensors or parts, at once; `offset` and `bytes` need no alignment. Not while transfers
  // are under way in the same blocks.
  void read(Bytes offset, std::span<std::byte> bytes) const;
  void write(Bytes offset, std::span<const std::byte> bytes);

 private:
  void move(Direction direction, Bytes offset, std::span<std::byte> memory) const;
  [[nodiscard]] Error failure(const Transfer& transfer) const;

  std::string directory_;
  core::File file_;
  bool direct_;
  std::unique_ptr<Lane> lanes_[2];
};

}  // namespace lowtide::memory
