#include "data/format/stored_array.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/text.h"

namespace lowtide::data {
namespace {

core::Shape checked_shape(std::vector<std::int64_t> dims, const std::string& name) {
  try {
    return core::Shape(std::move(dims));
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidFile, error.within(name).what());
  }
}

}  // namespace

void StoredArray::read(std::int64_t first, std::span<std::byte> out) const {
  const Bytes element = core::element_bytes(dtype);
  elements.read_at(first * element, out);
  const auto width = static_cast<std::size_t>(element.count());
  if (order == std::endian::native || width == 1) return;
  for (std::size_t at = 0; at < out.size(); at += width) {
    std::ranges::reverse(out.subspan(at, width));
  }
}

StoredArray array_at(const ByteSource& source,
                     Bytes begin,
                     core::DType dtype,
                     std::vector<std::int64_t> dims,
                     std::endian order) {
  const Bytes held = source.size() - begin;
  core::Shape shape = checked_shape(std::move(dims), source.name());
  const Bytes needed = shape.elements() * core::element_bytes(dtype);
  if (held != needed) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: holds {} bytes where {}{} takes {}",
                     source.name(), held.count(), core::name(dtype), shape.str(), needed.count());
  }
  return {dtype, std::move(shape), order, source.part(begin, needed)};
}

}  // namespace lowtide::data
