#include "data/format/stored_array.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/half.h"
#include "core/text.h"
#include "data/format/temporary.h"

namespace lowtide::data {
namespace {

core::Shape checked_shape(std::vector<std::int64_t> dims, const std::string& name) {
  try {
    return core::Shape(std::move(dims));
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidFile, error.within(name).what());
  }
}

// The halves that fill the end of `out` become floats that fill all of it.
void widen(std::span<std::byte> out) {
  const std::size_t count = out.size() / sizeof(float);
  const std::byte* const halves = out.data() + count * sizeof(std::uint16_t);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, halves + i * sizeof(half), sizeof(half));
    const float value = core::from_float16(half);
    std::memcpy(out.data() + i * sizeof(float), &value, sizeof(value));
  }
}

// Goes through the places in a row of the array in the order of the file's columns.
class ColumnPlaces {
 public:
  explicit ColumnPlaces(const core::Shape& shape)
      : shape_(shape), at_(shape.rank(), 0), strides_(shape.rank(), 1) {
    for (std::size_t axis = shape.rank(); axis-- > 1;) {
      strides_[axis - 1] = strides_[axis] * static_cast<std::size_t>(shape[axis]);
    }
  }

  [[nodiscard]] std::size_t place() const { return place_; }

  void advance() {
    for (std::size_t axis = 1; axis < at_.size(); ++axis) {
      place_ += strides_[axis];
      if (++at_[axis] < shape_[axis]) return;
      place_ -= static_cast<std::size_t>(at_[axis]) * strides_[axis];
      at_[axis] = 0;
    }
  }

 private:
  const core::Shape& shape_;
  std::vector<std::int64_t> at_;
  std::vector<std::size_t> strides_;
  std::size_t place_ = 0;
};

}  // namespace

std::size_t StoredArray::stored_width() const {
  return halves ? sizeof(std::uint16_t)
                : static_cast<std::size_t>(core::element_bytes(dtype).count());
}

void StoredArray::read(std::int64_t first, std::span<std::byte> out) const {
  const std::size_t width = stored_width();
  const std::span<std::byte> stored = halves ? out.last(out.size() / 2) : out;
  elements.read_at(first * Bytes(static_cast<std::int64_t>(width)), stored);
  if (order != std::endian::native && width > 1) {
    for (std::size_t at = 0; at < stored.size(); at += width) {
      std::ranges::reverse(stored.subspan(at, width));
    }
  }
  if (halves) widen(out);
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

StoredArray put_into_rows(const StoredArray& columns, const std::filesystem::path& directory) {
  constexpr std::size_t kHeld = 4 << 20;
  constexpr std::size_t kLongestRow = 64 << 20;
  if (columns.shape.elements() == 0) return columns;
  const std::size_t width = columns.stored_width();
  const auto rows = static_cast<std::size_t>(columns.shape[0]);
  const std::size_t length = static_cast<std::size_t>(columns.shape.elements()) / rows;
  if (length > kLongestRow / width) {
    throw core::fail(ErrorCode::kUnsupported,
                     "{}: column-major (Fortran) order, with {} elements in a row; save it in C's",
                     columns.elements.name(), length);
  }
  const std::size_t most = std::clamp<std::size_t>(kHeld / (length * width), 1, rows);
  std::vector<std::byte> column(most * width);
  std::vector<std::byte> whole(most * length * width);
  TemporaryBytes result(directory);
  for (std::size_t first = 0; first < rows; first += most) {
    const std::size_t count = std::min(most, rows - first);
    ColumnPlaces places(columns.shape);
    for (std::size_t i = 0; i < length; ++i, places.advance()) {
      columns.elements.read_at(Bytes(static_cast<std::int64_t>((i * rows + first) * width)),
                               std::span(column).first(count * width));
      for (std::size_t row = 0; row < count; ++row) {
        std::memcpy(whole.data() + (row * length + places.place()) * width,
                    column.data() + row * width, width);
      }
    }
    result.append(std::span<const std::byte>(whole).first(count * length * width));
  }
  StoredArray array = columns;
  array.elements = std::move(result).finish(columns.elements.name());
  return array;
}

}  // namespace lowtide::data
