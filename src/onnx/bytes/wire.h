// Protobuf's wire format: a reader over borrowed bytes that trusts nothing, and a writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lowtide::onnx {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class WireReader;

// One field of a message. Payloads are borrowed from the reader's bytes; positions count from the
// start of the outermost message, so they are file offsets where that is a whole file. Getters
// throw Error(kInvalidFile) where the field has another wire type.
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;             // of a varint or fixed field
  std::span<const std::byte> payload;  // of a kBytes field
  std::size_t begin = 0;               // of the tag
  std::size_t end = 0;                 // one past the field
  int depth = 0;                       // of the message that holds it

  [[nodiscard]] std::size_t payload_begin() const { return end - payload.size(); }
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] float real() const;
  [[nodiscard]] std::span<const std::byte> bytes() const;
  [[nodiscard]] std::string text() const;  // must be valid UTF-8 without NUL
  [[nodiscard]] WireReader message() const;

  // Repeated numbers, packed into this field or its only one.
  [[nodiscard]] std::size_t varint_count() const;
  void append_integers(std::vector<std::int64_t>& to) const;
  void append_reals(std::vector<float>& to) const;
};

// Reads the fields of one message in order.
class WireReader {
 public:
  static constexpr int kMaxDepth = 64;

  explicit WireReader(std::span<const std::byte> bytes, std::size_t origin = 0, int depth = 0)
      : bytes_(bytes), origin_(origin), depth_(depth) {}

  // The next field, or nothing at the end. Throws Error(kInvalidFile) for anything malformed:
  // overlong varints, lengths past the end, groups and unknown wire types, field number 0.
  std::optional<WireField> next();

  // The next bare varint, as packed fields hold them.
  std::uint64_t varint();
  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }

 private:
  [[nodiscard]] std::size_t position() const { return origin_ + at_; }
  std::span<const std::byte> take(std::uint64_t count);

  std::span<const std::byte> bytes_;
  std::size_t origin_;
  int depth_;
  std::size_t at_ = 0;
};

// Builds a message in memory; for everything but large tensors.
class WireWriter {
 public:
  WireWriter& integer(std::uint32_t field, std::int64_t value);
  WireWriter& real(std::uint32_t field, float value);
  WireWriter& real64(std::uint32_t field, double value);
  WireWriter& text(std::uint32_t field, std::string_view value);
  WireWriter& message(std::uint32_t field, const WireWriter& inner);
  WireWriter& packed(std::uint32_t field, std::span<const std::int64_t> values);
  WireWriter& packed(std::uint32_t field, std::span<const float> values);
  // Tag and length of a field whose payload follows from elsewhere.
  WireWriter& header(std::uint32_t field, std::uint64_t payload_bytes);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  void tag(std::uint32_t field, WireType type);

  std::string bytes_;
};

}  // namespace lowtide::onnx
