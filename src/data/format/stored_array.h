// StoredArray: one array in a file, read piece by piece.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "data/format/byte_source.h"

namespace lowtide::data {

// Row-major elements; `elements` holds exactly shape.elements() of them, in the given byte order.
struct StoredArray {
  core::DType dtype = core::DType::kFloat32;
  core::Shape shape;
  std::endian order = std::endian::native;
  ByteSource elements;
  bool halves = false;  // float32 that the file keeps as float16

  // Of one element in the file.
  [[nodiscard]] std::size_t stored_width() const;

  // Fills `out`, a whole number of elements, in native byte order from flat index `first` on.
  void read(std::int64_t first, std::span<std::byte> out) const;
};

// The array whose elements fill `source` from `begin` to its end. Throws Error(kInvalidFile) when
// the dimensions make no shape or the shape does not take exactly those bytes.
StoredArray array_at(const ByteSource& source,
                     Bytes begin,
                     core::DType dtype,
                     std::vector<std::int64_t> dims,
                     std::endian order);

// The array whose elements stand column after column in the file (Fortran's order). They are put
// into rows once, in a temporary file in `directory` (empty: /var/tmp, then /tmp). Throws
// Error(kUnsupported) for rows too long to be held.
StoredArray put_into_rows(const StoredArray& columns, const std::filesystem::path& directory);

}  // namespace lowtide::data
