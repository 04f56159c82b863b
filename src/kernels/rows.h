// Rows of a table by index: look-up, and its opposite, adding up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide::kernels {

// `outer` tables of `rows` rows each, and `count` indices that are looked up in every table.
struct RowLookup {
  std::int64_t outer = 1;
  std::int64_t rows = 0;
  std::int64_t count = 0;
  std::int64_t row_length = 0;  // bytes for gather_rows, floats for add_rows
};

// The place of an index counted from the back where negative; -1 where it lies outside.
template <class Index>
std::int64_t row_of(Index index, std::int64_t rows) {
  const auto at = static_cast<std::int64_t>(index);
  const std::int64_t row = at < 0 ? at + rows : at;
  return row >= 0 && row < rows ? row : -1;
}

// y row (o, i) = table row (o, indices[i]). A row for an index outside [-rows, rows) gets the byte
// 0xFF throughout, which is NaN for floats. For std::int32_t and std::int64_t.
template <class Index>
void gather_rows(const std::byte* table, const Index* indices, std::byte* y, const RowLookup& at);

// dx row (o, r) = onto row (o, r), or zero where `onto` is null, plus dy rows (o, i) for all i with
// indices[i] == r, in order of i. `onto` may be dx: then only rows that an index names are touched.
// Indices outside are left out. Every thread owns a range of rows, so the sum is the same for any
// number.
template <class Index>
void add_rows(
    const float* dy, const Index* indices, const float* onto, float* dx, const RowLookup& at);

}  // namespace lowtide::kernels
