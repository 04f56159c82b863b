// Damaged files: the changes that make them, how many a test tries, and what each may cost.
//   LOWTIDE_HOSTILE_ROUNDS=10000 LOWTIDE_HOSTILE_SEED=1 ./check -R
//   'Hostile|Spoilt|Damaged|AnyBytes'
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <gtest/gtest.h>

#include "lowtide/bytes.h"

#include "core/random.h"

namespace lowtide::support {

// How many damaged files of a kind a test tries.
inline int hostile_rounds(int standard) {
  const char* const wanted = std::getenv("LOWTIDE_HOSTILE_ROUNDS");
  return wanted == nullptr ? standard : std::atoi(wanted);
}

inline std::uint64_t hostile_seed() {
  const char* const wanted = std::getenv("LOWTIDE_HOSTILE_SEED");
  return wanted == nullptr ? 0 : std::strtoull(wanted, nullptr, 10);
}

// What chooses the damages of a test.
inline core::RandomStream hostile_stream(std::uint64_t test) { return {hostile_seed(), test}; }

// One to eight changes to a string or vector of bytes: a bit, a byte, a run filled, cut out or
// copied to another place, a digit, brackets that nest, a cut end.
template <class FileBytes>
FileBytes damaged(FileBytes bytes, core::RandomStream& random) {
  using Byte = typename FileBytes::value_type;
  const auto byte = [](std::uint64_t value) { return static_cast<Byte>(value & 0xFFU); };
  for (std::uint64_t change = random.below(8) + 1; change > 0 && !bytes.empty(); --change) {
    const auto at = static_cast<std::ptrdiff_t>(random.below(bytes.size()));
    const std::uint64_t wanted = random.below(16) + 1;
    const auto begin = bytes.begin() + at;
    const auto end =
        begin + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(wanted), bytes.end() - begin);
    switch (random.below(8)) {
      case 0: *begin = byte(static_cast<std::uint64_t>(*begin) ^ (1U << random.below(8))); break;
      case 1: *begin = byte(random.below(256)); break;
      case 2: std::fill(begin, end, byte(random.below(2) == 0 ? 0 : 255)); break;
      case 3: bytes.erase(begin, end); break;
      case 4: {
        const FileBytes copy(begin, end);
        const auto place = static_cast<std::ptrdiff_t>(random.below(bytes.size()));
        bytes.insert(bytes.begin() + place, copy.begin(), copy.end());
        break;
      }
      case 5: {
        const auto digit = std::find_if(begin, bytes.end(),
                                        [](Byte b) { return b >= Byte('0') && b <= Byte('9'); });
        if (digit != bytes.end()) *digit = byte('0' + random.below(10));
        break;
      }
      case 6: bytes.insert(begin, wanted, Byte('[')); break;
      default:
        if (random.below(8) == 0) bytes.resize(static_cast<std::size_t>(at));
        break;
    }
  }
  return bytes;
}

// The time that one damaged file may take on its CPUs; told at the end of its scope. What hangs and
// does nothing never gets there.
class Patience {
 public:
  explicit Patience(int round) : round_(round) {}
  ~Patience() { EXPECT_LT((std::clock() - start_) / CLOCKS_PER_SEC, 5) << "round " << round_; }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  Patience(Patience&&) = delete;
  Patience& operator=(Patience&&) = delete;

 private:
  int round_;
  std::clock_t start_ = std::clock();
};

// The most memory that this process ever had.
inline Bytes peak_memory() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return Bytes(usage.ru_maxrss * 1024);
}

}  // namespace lowtide::support
