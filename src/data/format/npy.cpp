#include "data/format/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "data/format/endian.h"

namespace lowtide::data {
namespace {

using core::DType;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPrefix = 8;             // magic and version
constexpr std::size_t kLongestHeader = 65535;  // what version 1.0 can hold; plenty for any array
constexpr std::size_t kMostAxes = 32;
constexpr std::size_t kAlignment = 64;

struct Entry {
  std::string_view code;
  DType dtype;
};

constexpr std::array kEntries = {
    Entry{"f4", DType::kFloat32}, Entry{"f8", DType::kFloat64}, Entry{"i1", DType::kInt8},
    Entry{"i2", DType::kInt16},   Entry{"i4", DType::kInt32},   Entry{"i8", DType::kInt64},
    Entry{"u1", DType::kUint8},   Entry{"u2", DType::kUint16},  Entry{"u4", DType::kUint32},
    Entry{"u8", DType::kUint64},  Entry{"b1", DType::kBool},
};
constexpr std::string_view kHalf = "f2";  // read as float32

// What the dictionary says.
struct Description {
  std::string descr;
  bool column_major = false;
  std::vector<std::int64_t> dims;
};

// Reads the one form of Python literal that a header may be.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Description parse() {
    std::optional<std::string> descr;
    std::optional<bool> column_major;
    std::optional<std::vector<std::int64_t>> dims;
    expect('{');
    while (!accept('}')) {
      const std::string key(quoted());
      expect(':');
      if (key == "descr" && !descr) {
        descr = element_type();
      } else if (key == "fortran_order" && !column_major) {
        column_major = boolean();
      } else if (key == "shape" && !dims) {
        dims = tuple();
      } else {
        throw malformed();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size() || !descr || !column_major || !dims) throw malformed();
    return {std::move(*descr), *column_major, std::move(*dims)};
  }

 private:
  [[nodiscard]] Error malformed() const {
    return core::fail(ErrorCode::kInvalidFile, "{}: malformed .npy header at character {}", name_,
                      at_);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  [[nodiscard]] bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) throw malformed();
  }

  std::string_view quoted() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) throw malformed();
    const std::string_view content = text_.substr(at_, end - at_);
    at_ = end + 1;
    return content;
  }

  std::string element_type() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') {
      throw core::fail(ErrorCode::kUnsupported, "{}: arrays of structures are not supported",
                       name_);
    }
    return std::string(quoted());
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::string_view(word).size();
        return value;
      }
    }
    throw malformed();
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      dims.push_back(integer());
      if (dims.size() > kMostAxes) throw malformed();
      if (!accept(',')) {
        // Python reads "(3)" as a number.
        if (dims.size() == 1) throw malformed();
        expect(')');
        break;
      }
    }
    return dims;
  }

  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) throw malformed();
    at_ += static_cast<std::size_t>(end - begin);
    // NumPy under Python 2 wrote "(3L,)".
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

std::string_view code_of(const std::string& descr) {
  return std::string_view(descr).substr(std::min<std::size_t>(1, descr.size()));
}

// "<f4" is a byte order and a type; that of halves is one of as many bytes.
std::pair<DType, std::endian> element_of(const std::string& descr, const std::string& name) {
  const std::string_view code = code_of(descr) == kHalf ? "u2" : code_of(descr);
  const auto* entry = std::ranges::find(kEntries, code, &Entry::code);
  const char order = descr.empty() ? '\0' : descr.front();
  const bool known =
      entry != kEntries.end() && (order == '<' || order == '>' || order == '|' || order == '=');
  if (!known) {
    throw core::fail(ErrorCode::kUnsupported,
                     "{}: element type '{}' is not supported; floats of 16 to 64 bits, bool and "
                     "integers of 8 to 64 bits are",
                     name, descr);
  }
  if (order == '|' && core::element_bytes(entry->dtype) != Bytes(1)) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: element type '{}' lacks a byte order", name,
                     descr);
  }
  const std::endian endian = order == '<'   ? std::endian::little
                             : order == '>' ? std::endian::big
                                            : std::endian::native;
  return {entry->dtype, endian};
}

// Where at most one axis is longer than 1, row-major and column-major are the same order.
bool order_matters(const core::Shape& shape) {
  return std::ranges::count_if(shape.dims(), [](std::int64_t dim) { return dim != 1; }) > 1;
}

// The dictionary's text and where the elements begin.
std::pair<std::string, Bytes> header_text(const ByteSource& source) {
  std::array<std::byte, kPrefix + 4> prefix = {};
  source.read_at(Bytes(0), std::span(prefix).first(kPrefix));
  for (std::size_t i = 0; i < kMagic.size(); ++i) {
    if (prefix[i] != static_cast<std::byte>(kMagic[i])) {
      throw core::fail(ErrorCode::kInvalidFile, "{}: not an .npy array", source.name());
    }
  }
  const auto major = std::to_integer<int>(prefix[6]);
  if (major < 1 || major > 3) {
    throw core::fail(ErrorCode::kUnsupported, "{}: .npy version {} is not supported", source.name(),
                     major);
  }
  const std::size_t width = major == 1 ? 2 : 4;
  const auto field = std::span(prefix).subspan(kPrefix, width);
  source.read_at(Bytes(kPrefix), field);
  const std::size_t length =
      major == 1 ? load_little<std::uint16_t>(field) : load_little<std::uint32_t>(field);
  if (length > kLongestHeader) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: .npy header of {} bytes", source.name(), length);
  }
  std::string text(length, '\0');
  source.read_at(Bytes(static_cast<std::int64_t>(kPrefix + width)),
                 std::as_writable_bytes(std::span(text)));
  return {std::move(text), Bytes(static_cast<std::int64_t>(kPrefix + width + length))};
}

}  // namespace

StoredArray open_npy(const ByteSource& source, const std::filesystem::path& temp_directory) {
  const auto [text, begin] = header_text(source);
  Description description = HeaderParser(text, source.name()).parse();
  const auto [dtype, order] = element_of(description.descr, source.name());
  StoredArray array = array_at(source, begin, dtype, std::move(description.dims), order);
  if (code_of(description.descr) == kHalf) {
    array.dtype = DType::kFloat32;
    array.halves = true;
  }
  const bool columns = description.column_major && order_matters(array.shape);
  return columns ? put_into_rows(array, temp_directory) : array;
}

std::vector<std::byte> npy_header(core::DType dtype, const core::Shape& shape) {
  const auto* entry = std::ranges::find(kEntries, dtype, &Entry::dtype);
  LT_CHECK(entry != kEntries.end(), "arrays of this type can be saved");
  const bool single = core::element_bytes(dtype) == Bytes(1);
  const char order = single ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  std::string text =
      core::text("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order,
                 entry->code, fmt::join(shape.dims(), ", "), shape.rank() == 1 ? "," : "");
  const std::size_t unpadded = kPrefix + 2 + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text.push_back('\n');

  std::vector<std::byte> header;
  for (const char c : kMagic) header.push_back(static_cast<std::byte>(c));
  header.push_back(std::byte{1});
  header.push_back(std::byte{0});
  append_little(header, static_cast<std::uint16_t>(text.size()));
  for (const char c : text) header.push_back(static_cast<std::byte>(c));
  return header;
}

}  // namespace lowtide::data
