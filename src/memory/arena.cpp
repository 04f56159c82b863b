#include "memory/arena.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "memory/small_pages.h"

namespace lowtide::memory {
namespace {

// The size of a transparent huge page on x86-64 and on arm64 with small pages.
constexpr std::int64_t kHugePage = 2 << 20;

// Reserves whole pages from a multiple of `alignment`, one or more pages, on; null when the system
// refuses.
std::byte* reserve(std::size_t size, std::size_t alignment) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  size = (size + page - 1) / page * page;
  const std::size_t slack = alignment - page;
  void* const address = ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  const std::size_t skip = (0 - reinterpret_cast<std::uintptr_t>(address)) % alignment;
  auto* const data = static_cast<std::byte*>(address) + skip;
  if (skip > 0) ::munmap(address, skip);
  if (slack > skip) ::munmap(data + size, slack - skip);
  return data;
}

// Huge pages only where they lie whole inside: the system may join neighbouring mappings, and one
// that reached over the end would make memory resident that nobody asked for. The advice may be
// refused; the arena works without.
void advise_huge(std::byte* data, std::int64_t size) {
  const std::int64_t whole = size / kHugePage * kHugePage;
  if (whole == 0) return;
  static_cast<void>(::madvise(data, static_cast<std::size_t>(whole), MADV_HUGEPAGE));
}

}  // namespace

Arena::Arena(Bytes size, Pages pages) : size_(size) {
  if (size < Bytes(0)) {
    throw core::fail(ErrorCode::kInvalidArgument, "an arena of {} bytes", size.count());
  }
  if (size == Bytes(0)) return;
  malloc_trim(0);  // what was freed until now, by planning above all, must not lie beside it
  keep_pages_small();
  const bool huge = pages == Pages::kHuge && size >= Bytes(kHugePage);
  const std::int64_t alignment = huge ? kHugePage : ::sysconf(_SC_PAGESIZE);
  data_ = reserve(static_cast<std::size_t>(size.count()), static_cast<std::size_t>(alignment));
  if (data_ == nullptr) {
    throw core::fail(ErrorCode::kIo, "cannot reserve {} ({} bytes) of memory: {}", size.str(),
                     size.count(), std::generic_category().message(errno));
  }
  // A system set to use huge pages everywhere would round the resident size up.
  static_cast<void>(::madvise(data_, static_cast<std::size_t>(size.count()), MADV_NOHUGEPAGE));
  if (huge) advise_huge(data_, size.count());
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, Bytes(0))) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(size_.count()));
}

void Arena::release(Bytes offset, Bytes size) {
  LT_CHECK(offset >= Bytes(0) && size >= Bytes(0) && offset <= size_ && size <= size_ - offset,
           "released bytes lie inside the arena");
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t begin = offset.rounded_up(Bytes(page)).count();
  // The last page of the mapping holds nothing but the arena's own end.
  const std::int64_t end = offset + size == size_ ? size_.rounded_up(Bytes(page)).count()
                                                  : (offset + size).count() / page * page;
  if (begin >= end) return;
  const int result = ::madvise(data_ + begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED);
  LT_CHECK(result == 0, "the system takes back pages of a private mapping");
}

}  // namespace lowtide::memory
