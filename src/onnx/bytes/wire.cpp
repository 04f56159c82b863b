#include "onnx/bytes/wire.h"

#include <bit>
#include <cstring>

#include "core/text.h"

namespace lowtide::onnx {

using core::fail;

namespace {

constexpr std::uint64_t kMaxFieldNumber = (std::uint64_t{1} << 29U) - 1;

template <class T>
T little_endian(std::span<const std::byte> bytes) {
  static_assert(std::endian::native == std::endian::little, "ONNX stores little-endian numbers");
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

void expect(const WireField& field, WireType type) {
  if (field.type != type) {
    throw fail(ErrorCode::kInvalidFile,
               "malformed file: field {} at byte {} has wire type {} instead of {}", field.number,
               field.begin, static_cast<int>(field.type), static_cast<int>(type));
  }
}

// The length of the UTF-8 sequence at the front of `text`; 0 where it is not valid (also overlong
// forms, surrogates and NUL, which no name needs).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) == 0) return 0;
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return 0;
  std::uint32_t code = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

}  // namespace

std::int64_t WireField::integer() const {
  expect(*this, WireType::kVarint);
  return static_cast<std::int64_t>(value);
}

float WireField::real() const {
  expect(*this, WireType::kFixed32);
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

std::span<const std::byte> WireField::bytes() const {
  expect(*this, WireType::kBytes);
  return payload;
}

std::string WireField::text() const {
  expect(*this, WireType::kBytes);
  std::string result(reinterpret_cast<const char*>(payload.data()), payload.size());
  for (std::size_t i = 0; i < result.size();) {
    const std::size_t length = utf8_length(std::string_view(result).substr(i));
    if (length == 0) {
      throw fail(ErrorCode::kInvalidFile, "malformed file: the text at byte {} is not valid UTF-8",
                 payload_begin() + i);
    }
    i += length;
  }
  return result;
}

WireReader WireField::message() const {
  expect(*this, WireType::kBytes);
  if (depth + 1 > WireReader::kMaxDepth) {
    throw fail(ErrorCode::kInvalidFile, "malformed file: messages nest deeper than {} at byte {}",
               WireReader::kMaxDepth, begin);
  }
  return WireReader(payload, payload_begin(), depth + 1);
}

std::size_t WireField::varint_count() const {
  if (type == WireType::kVarint) return 1;
  std::size_t count = 0;
  for (const std::byte byte : bytes()) count += (byte & std::byte{0x80}) == std::byte{0} ? 1U : 0U;
  return count;
}

void WireField::append_integers(std::vector<std::int64_t>& to) const {
  if (type == WireType::kVarint) {
    to.push_back(integer());
    return;
  }
  WireReader packed(bytes(), payload_begin(), depth);
  while (!packed.done()) to.push_back(static_cast<std::int64_t>(packed.varint()));
}

void WireField::append_reals(std::vector<float>& to) const {
  if (type == WireType::kFixed32) {
    to.push_back(real());
    return;
  }
  if (bytes().size() % sizeof(float) != 0) {
    throw fail(ErrorCode::kInvalidFile, "malformed file: cut number in the list at byte {}", begin);
  }
  for (std::size_t i = 0; i < payload.size(); i += sizeof(float)) {
    to.push_back(little_endian<float>(payload.subspan(i)));
  }
}

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  const std::size_t start = position();
  for (unsigned shift = 0; shift < 70; shift += 7) {
    const auto byte = static_cast<std::uint64_t>(take(1)[0]);
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7FU) << shift;
    if (byte < 0x80) return value;
  }
  throw fail(ErrorCode::kInvalidFile, "malformed file: overlong number at byte {}", start);
}

std::span<const std::byte> WireReader::take(std::uint64_t count) {
  if (count > bytes_.size() - at_) {
    throw fail(ErrorCode::kInvalidFile,
               "malformed or truncated file: {} bytes needed at byte {}, {} left", count,
               position(), bytes_.size() - at_);
  }
  const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(count));
  at_ += taken.size();
  return taken;
}

std::optional<WireField> WireReader::next() {
  if (done()) return std::nullopt;
  WireField field;
  field.begin = position();
  field.depth = depth_;
  const std::uint64_t tag = varint();
  const std::uint64_t number = tag >> 3U;
  if (number == 0 || number > kMaxFieldNumber) {
    throw fail(ErrorCode::kInvalidFile, "malformed file: field number {} at byte {}", number,
               field.begin);
  }
  field.number = static_cast<std::uint32_t>(number);
  switch (tag & 7U) {
    case 0:
      field.type = WireType::kVarint;
      field.value = varint();
      break;
    case 1:
      field.type = WireType::kFixed64;
      field.value = little_endian<std::uint64_t>(take(sizeof(std::uint64_t)));
      break;
    case 2:
      field.type = WireType::kBytes;
      field.payload = take(varint());
      break;
    case 5:
      field.type = WireType::kFixed32;
      field.value = little_endian<std::uint32_t>(take(sizeof(std::uint32_t)));
      break;
    default:
      throw fail(ErrorCode::kInvalidFile, "malformed file: wire type {} at byte {}", tag & 7U,
                 field.begin);
  }
  field.end = position();
  return field;
}

void WireWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>((value & 0x7FU) | 0x80U);
  bytes_ += static_cast<char>(value);
}

void WireWriter::tag(std::uint32_t field, WireType type) {
  varint((std::uint64_t{field} << 3U) | static_cast<std::uint64_t>(type));
}

WireWriter& WireWriter::integer(std::uint32_t field, std::int64_t value) {
  tag(field, WireType::kVarint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

WireWriter& WireWriter::real(std::uint32_t field, float value) {
  tag(field, WireType::kFixed32);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return *this;
}

WireWriter& WireWriter::real64(std::uint32_t field, double value) {
  tag(field, WireType::kFixed64);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return *this;
}

WireWriter& WireWriter::text(std::uint32_t field, std::string_view value) {
  header(field, value.size());
  bytes_ += value;
  return *this;
}

WireWriter& WireWriter::message(std::uint32_t field, const WireWriter& inner) {
  return text(field, inner.bytes());
}

WireWriter& WireWriter::packed(std::uint32_t field, std::span<const std::int64_t> values) {
  WireWriter inner;
  for (const std::int64_t value : values) inner.varint(static_cast<std::uint64_t>(value));
  return message(field, inner);
}

WireWriter& WireWriter::packed(std::uint32_t field, std::span<const float> values) {
  header(field, values.size_bytes());
  bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return *this;
}

WireWriter& WireWriter::header(std::uint32_t field, std::uint64_t payload_bytes) {
  tag(field, WireType::kBytes);
  varint(payload_bytes);
  return *this;
}

}  // namespace lowtide::onnx
