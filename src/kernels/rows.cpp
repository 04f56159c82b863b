#include "kernels/rows.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"

namespace lowtide::kernels {
namespace {

constexpr std::int64_t kBytesPerThread = 64 * 1024;

}  // namespace

template <class Index>
void gather_rows(const std::byte* table, const Index* indices, std::byte* y, const RowLookup& at) {
  if (at.count == 0 || at.row_length == 0) return;
  const auto bytes = static_cast<std::size_t>(at.row_length);
  const auto share = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = row_of(indices[i % at.count], at.rows);
      std::byte* const to = y + i * at.row_length;
      if (row < 0) {
        std::memset(to, 0xFF, bytes);
      } else {
        std::memcpy(to, table + (i / at.count * at.rows + row) * at.row_length, bytes);
      }
    }
  };
  core::parallel_for(at.outer * at.count, kBytesPerThread / at.row_length + 1, share);
}

template <class Index>
void add_rows(
    const float* dy, const Index* indices, const float* onto, float* dx, const RowLookup& at) {
  if (at.rows == 0 || at.row_length == 0) return;
  const auto share = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * at.row_length;
    if (onto == nullptr) {
      std::fill(dx + first, dx + end * at.row_length, 0.0F);
    } else if (onto != dx) {
      std::copy(onto + first, onto + end * at.row_length, dx + first);
    }
    for (std::int64_t outer = begin / at.rows; outer * at.rows < end; ++outer) {
      for (std::int64_t i = 0; i < at.count; ++i) {
        const std::int64_t row = row_of(indices[i], at.rows);
        const std::int64_t place = outer * at.rows + row;
        if (row < 0 || place < begin || place >= end) continue;
        const float* const from = dy + (outer * at.count + i) * at.row_length;
        float* const to = dx + place * at.row_length;
        for (std::int64_t j = 0; j < at.row_length; ++j) to[j] += from[j];
      }
    }
  };
  core::parallel_for(at.outer * at.rows, kBytesPerThread / (at.row_length * 4) + 1, share);
}

template void gather_rows(const std::byte*, const std::int32_t*, std::byte*, const RowLookup&);
template void gather_rows(const std::byte*, const std::int64_t*, std::byte*, const RowLookup&);
template void add_rows(const float*, const std::int32_t*, const float*, float*, const RowLookup&);
template void add_rows(const float*, const std::int64_t*, const float*, float*, const RowLookup&);

}  // namespace lowtide::kernels
