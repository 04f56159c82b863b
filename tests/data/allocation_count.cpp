// Replaces the global operator new with one that counts.
#include "data/allocation_count.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t>& count() {
  static std::atomic<std::int64_t> value = 0;
  return value;
}

}  // namespace

void* operator new(std::size_t size) {
  ++count();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }

void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace lowtide::data {

std::int64_t allocation_count() { return count(); }

}  // namespace lowtide::data
