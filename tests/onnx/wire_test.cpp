// The wire format: round trips, and every kind of malformed bytes.
#include "onnx/bytes/wire.h"

#include <bit>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "onnx/toy.h"

namespace lowtide::onnx {
namespace {

std::span<const std::byte> bytes_in(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Walks every field and, as far as they parse, the messages in them. Returns the fields seen.
int walk(WireReader reader) {
  int count = 0;
  while (const auto field = reader.next()) {
    ++count;
    if (field->type == WireType::kBytes) {
      try {
        count += walk(field->message());
      } catch (const Error&) {
        // A text, most likely: it need not be a message.
      }
    }
  }
  return count;
}

TEST(Wire, WritesDoublesAsTheyLie) {
  WireWriter writer;
  writer.real64(1, -0.1);
  WireReader reader(bytes_in(writer.bytes()));
  const auto field = reader.next();
  ASSERT_TRUE(field.has_value());
  EXPECT_EQ(field->type, WireType::kFixed64);
  EXPECT_EQ(std::bit_cast<double>(field->value), -0.1);
  EXPECT_TRUE(reader.done());
}

TEST(Wire, ReadsWhatItWrites) {
  const std::vector<std::int64_t> integers = {0,   1,  127,
                                              128, -1, std::numeric_limits<std::int64_t>::min()};
  const std::vector<float> reals = {0.5F, -3.0F};
  WireWriter writer;
  writer.integer(1, -5).real(2, 1.25F).text(3, "höhe").packed(4, integers).packed(5, reals);
  writer.message(6, WireWriter().integer(1, 7));
  WireReader reader(bytes_in(writer.bytes()));
  EXPECT_EQ(reader.next()->integer(), -5);
  EXPECT_EQ(reader.next()->real(), 1.25F);
  EXPECT_EQ(reader.next()->text(), "höhe");
  std::vector<std::int64_t> integers_back;
  const auto packed = reader.next();
  packed->append_integers(integers_back);
  EXPECT_EQ(integers_back, integers);
  EXPECT_EQ(packed->varint_count(), integers.size());
  std::vector<float> reals_back;
  reader.next()->append_reals(reals_back);
  EXPECT_EQ(reals_back, reals);
  const auto message = reader.next();
  EXPECT_EQ(message->end, writer.bytes().size());
  EXPECT_EQ(message->message().next()->integer(), 7);
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Wire, PositionsAreThoseOfTheWholeBuffer) {
  const std::string text = WireWriter().message(7, WireWriter().text(2, "abc")).bytes();
  WireReader reader(bytes_in(text));
  const auto inner = reader.next()->message().next();
  EXPECT_EQ(text.substr(inner->payload_begin(), 3), "abc");
  EXPECT_EQ(inner->begin, 2U);
}

TEST(Wire, RefusesMalformedBytes) {
  const std::string max_varint = std::string(9, '\xff') + "\x01";
  EXPECT_EQ(WireReader(bytes_in("\x08" + max_varint)).next()->integer(), -1);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x08" + std::string(9, '\xff') + "\x02", "overlong number"},
      {"\x08" + std::string(10, '\xff') + "\x01", "overlong number"},
      {"\x08\x80", "truncated"},
      {"\x0a\x05"
       "abc",
       "truncated"},
      {"\x0a" + max_varint, "truncated"},  // a length of 2^64 - 1
      {"\x09"
       "1234567",
       "truncated"},
      {"\x0d"
       "123",
       "truncated"},
      {std::string("\0\1", 2), "field number 0"},
      {"\x0b", "wire type 3"},
      {"\x0c", "wire type 4"},
      {"\x0e", "wire type 6"},
      {"\x0f", "wire type 7"},
      {"\xf8\xff\xff\xff\x7f\x01", "field number"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message =
        toy::message_of([&] { walk(WireReader(bytes_in(text))); }, ErrorCode::kInvalidFile);
    EXPECT_NE(message.find(expected), std::string::npos) << message << " instead of " << expected;
  }
}

TEST(Wire, RefusesOtherWireTypesThanAskedFor) {
  const std::string text = WireWriter().integer(1, 3).text(2, "x").bytes();
  WireReader reader(bytes_in(text));
  const auto number = reader.next();
  const auto string = reader.next();
  EXPECT_THROW(static_cast<void>(number->text()), Error);
  EXPECT_THROW(static_cast<void>(number->message()), Error);
  EXPECT_THROW(static_cast<void>(number->real()), Error);
  EXPECT_THROW(static_cast<void>(string->integer()), Error);
  std::vector<float> reals;
  EXPECT_THROW(string->append_reals(reals), Error);
}

TEST(Wire, TextMustBeUtf8WithoutNul) {
  for (const std::string& good :
       {std::string("a"), std::string("\u00e9\u20ac\U0001F600"), std::string()}) {
    EXPECT_EQ(WireReader(bytes_in(WireWriter().text(1, good).bytes())).next()->text(), good);
  }
  for (const std::string& bad : {std::string("a\0b", 3), std::string("\xff"), std::string("\xc3"),
                                 std::string("\xc0\x80"), std::string("\xed\xa0\x80"),
                                 std::string("\xf4\x90\x80\x80"), std::string("\xe2\x28\xa1")}) {
    const std::string text = WireWriter().text(1, bad).bytes();
    EXPECT_THROW(static_cast<void>(WireReader(bytes_in(text)).next()->text()), Error);
  }
}

TEST(Wire, NestingIsCapped) {
  WireWriter deep;
  for (int i = 0; i < 200; ++i) deep = WireWriter().message(1, deep);
  const std::string text = deep.bytes();
  WireReader reader(bytes_in(text));
  const std::string message = toy::message_of(
      [&] {
        while (true) reader = reader.next()->message();
      },
      ErrorCode::kInvalidFile);
  EXPECT_NE(message.find("nest deeper than 64"), std::string::npos) << message;
}

TEST(Wire, EveryPrefixIsReadOrRefused) {
  const std::string text = toy::model(toy::small_network());
  const int whole = walk(WireReader(bytes_in(text)));
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    try {
      EXPECT_LT(walk(WireReader(bytes_in(cut))), whole);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidFile);
    }
  }
}

}  // namespace
}  // namespace lowtide::onnx
