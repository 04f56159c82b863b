#include "support/allocation_counter.h"

#include <cstddef>
#include <cstdlib>

#include "kernels/dnnl/execute.h"

namespace {

thread_local bool counting = false;
thread_local std::int64_t allocations = 0;

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

void note_allocation() {
  if (counting && !lowtide::kernels::inside_library()) ++allocations;
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

// The C library's allocation functions, replaced for this executable. operator new goes through
// malloc, so it is counted too.
void* malloc(std::size_t size) {
  note_allocation();
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  note_allocation();
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) {
  note_allocation();
  return __libc_realloc(old, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note_allocation();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  note_allocation();
  *result = __libc_memalign(alignment, size);
  return *result == nullptr ? 12 : 0;
}

}  // extern "C"
#endif

namespace lowtide::support {

AllocationCounter::AllocationCounter() {
  allocations = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

std::int64_t AllocationCounter::count() const { return allocations; }

}  // namespace lowtide::support
