#include "data/format/idx.h"

#include <array>
#include <utility>
#include <vector>

#include "core/text.h"
#include "data/format/endian.h"

namespace lowtide::data {
namespace {

using core::DType;

DType dtype_of_code(unsigned code, const std::string& name) {
  switch (code) {
    case 0x08: return DType::kUint8;
    case 0x09: return DType::kInt8;
    case 0x0B: return DType::kInt16;
    case 0x0C: return DType::kInt32;
    case 0x0D: return DType::kFloat32;
    case 0x0E: return DType::kFloat64;
    default: break;
  }
  throw core::fail(ErrorCode::kInvalidFile, "{}: {:#04x} is not an IDX element type", name, code);
}

}  // namespace

StoredArray open_idx(const ByteSource& source) {
  std::array<std::byte, 4> magic = {};
  source.read_at(Bytes(0), magic);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: not an IDX file", source.name());
  }
  const DType dtype = dtype_of_code(std::to_integer<unsigned>(magic[2]), source.name());
  const auto rank = std::to_integer<std::size_t>(magic[3]);
  std::vector<std::byte> header(4 * rank);
  source.read_at(Bytes(4), header);
  std::vector<std::int64_t> dims(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    dims[axis] = load_big<std::uint32_t>(std::span(header).subspan(4 * axis));
  }
  const Bytes begin(static_cast<std::int64_t>(magic.size() + header.size()));
  return array_at(source, begin, dtype, std::move(dims), std::endian::big);
}

}  // namespace lowtide::data
