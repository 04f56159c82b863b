// StoredArray: one array in a file, read piece by piece.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
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

}  // namespace lowtide::data
