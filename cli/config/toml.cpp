#include "cli/config/toml.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lowtide/error.h"

namespace lowtide::cli {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 20U;

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// A number as TOML has it: digits with single underscores between them, a sign, a point, an
// exponent; or inf or nan. Returns it without underscores, or nothing.
std::string plain_number(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || !digit(i - 1) || !digit(i + 1)) {
      return {};
    }
  }
  std::string_view unsigned_part = plain;
  if (unsigned_part.starts_with('+') || unsigned_part.starts_with('-')) {
    unsigned_part.remove_prefix(1);
  }
  if (unsigned_part == "inf" || unsigned_part == "nan") return plain;
  double value = 0;
  const char* const end = unsigned_part.data() + unsigned_part.size();
  const auto [stop, error] = std::from_chars(unsigned_part.data(), end, value);
  const bool number = error == std::errc() && stop == end && !unsigned_part.empty() &&
                      unsigned_part[0] >= '0' && unsigned_part[0] <= '9' &&
                      !unsigned_part.ends_with('.');
  return number ? plain : std::string();
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<TomlEntry> parse() {
    std::set<std::pair<std::string, std::string>> keys;
    std::set<std::string> tables;
    std::vector<TomlEntry> entries;
    std::string section;
    for (skip_blank_lines(); at_ < text_.size(); skip_blank_lines()) {
      if (peek() == '[') {
        section = read_table();
        if (!tables.insert(section).second) throw fail("the table [{}] comes twice", section);
      } else {
        TomlEntry entry = read_entry();
        entry.section = section;
        if (!keys.emplace(section, entry.key).second) throw fail("'{}' comes twice", entry.key);
        entries.push_back(std::move(entry));
      }
      end_line();
    }
    return entries;
  }

 private:
  template <class... Args>
  Error fail(fmt::format_string<Args...> format, Args&&... args) const {
    return {ErrorCode::kInvalidFile, fmt::format("{}: line {}: {}", name_, line_,
                                                 fmt::format(format, std::forward<Args>(args)...))};
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\n'; }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  void skip_comment() {
    if (peek() != '#') return;
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  // To the next character that says something.
  void skip_blank_lines() {
    while (true) {
      skip_spaces();
      skip_comment();
      if (at_ >= text_.size()) return;
      if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
      if (text_[at_] != '\n') return;
      ++at_;
      ++line_;
    }
  }

  void end_line() {
    skip_spaces();
    skip_comment();
    if (at_ >= text_.size()) return;
    if (text_[at_] == '\r') ++at_;
    if (peek() != '\n') throw fail("'{}' is too much here", rest_of_line());
  }

  [[nodiscard]] std::string rest_of_line() const {
    constexpr std::size_t kShown = 40;
    const std::string_view rest = text_.substr(at_, text_.find_first_of("\r\n", at_) - at_);
    std::string shown;
    for (const char c : rest.substr(0, kShown)) shown += c >= ' ' && c < 127 ? c : '?';
    return shown;
  }

  std::string read_key() {
    if (peek() == '"' || peek() == '\'') return read_string();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_bare(text_[at_])) ++at_;
    if (at_ == begin) throw fail("a key is expected, not '{}'", rest_of_line());
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string read_table() {
    ++at_;
    if (peek() == '[') throw fail("arrays of tables are not used here");
    skip_spaces();
    std::string table = read_key();
    skip_spaces();
    if (peek() == '.') throw fail("tables within tables are not used here");
    if (peek() != ']') throw fail("']' is expected after [{}", table);
    ++at_;
    return table;
  }

  TomlEntry read_entry() {
    TomlEntry entry{.section = {}, .key = read_key(), .values = {}, .line = line_};
    skip_spaces();
    if (peek() == '.') throw fail("keys with dots are not used here");
    if (peek() != '=') throw fail("'=' is expected after '{}'", entry.key);
    ++at_;
    skip_spaces();
    if (peek() == '[') {
      read_array(entry);
    } else {
      entry.values.push_back(read_value());
    }
    return entry;
  }

  void read_array(TomlEntry& entry) {
    const int opened = line_;
    ++at_;
    while (true) {
      skip_blank_lines();
      if (at_ >= text_.size()) {
        line_ = opened;
        throw fail("the array that begins here never ends");
      }
      if (peek() == ']') break;
      if (peek() == '[') throw fail("arrays within arrays are not used here");
      entry.values.push_back(read_value());
      skip_blank_lines();
      if (peek() == ',') {
        ++at_;
      } else if (peek() != ']') {
        throw fail("',' or ']' is expected, not '{}'", rest_of_line());
      }
    }
    ++at_;
  }

  std::string read_value() {
    if (peek() == '"' || peek() == '\'') return read_string();
    if (peek() == '{') throw fail("inline tables are not used here");
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_bare(text_[at_]) || text_[at_] == '.' || text_[at_] == '+' || text_[at_] == ':')) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "false") return std::string(word);
    std::string number = plain_number(word);
    if (number.empty()) {
      at_ = begin;
      throw fail("'{}' is no value: numbers, true, false, texts in quotes and arrays are",
                 rest_of_line());
    }
    return number;
  }

  std::string read_string() {
    const char quote = text_[at_];
    if (text_.substr(at_, 3) == std::string(3, quote)) {
      throw fail("texts of several lines are not used here");
    }
    ++at_;
    std::string value;
    while (true) {
      const char c = peek();
      if (c == '\n' || at_ >= text_.size()) throw fail("a text without its closing {}", quote);
      ++at_;
      if (c == quote) return value;
      if (static_cast<unsigned char>(c) < ' ' && c != '\t') {
        throw fail("a control character in a text");
      }
      if (c == '\\' && quote == '"') {
        value += read_escape();
      } else {
        value += c;
      }
    }
  }

  char read_escape() {
    constexpr std::string_view kLetters = "\\\"ntrbf";
    constexpr std::string_view kMeaning = "\\\"\n\t\r\b\f";
    const std::size_t which = kLetters.find(peek());
    if (which == std::string_view::npos || at_ >= text_.size()) {
      throw fail("'\\{}' is no escape that is used here", peek() == '\n' ? ' ' : peek());
    }
    ++at_;
    return kMeaning[which];
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
};

std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    constexpr std::string_view kLetters = "\\\"ntrbf";
    constexpr std::string_view kMeaning = "\\\"\n\t\r\b\f";
    const std::size_t which = kMeaning.find(c);
    if (which != std::string_view::npos) {
      text += '\\';
      text += kLetters[which];
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string one_value(const std::string& value) {
  const bool bare = value == "true" || value == "false" || plain_number(value) == value;
  return bare && !value.empty() ? value : quoted(value);
}

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text, const std::string& name) {
  if (text.size() > kLongest) {
    throw Error(ErrorCode::kInvalidFile,
                fmt::format("{}: {} bytes are no configuration", name, text.size()));
  }
  return Parser(text, name).parse();
}

std::string toml_value(const std::vector<std::string>& values) {
  if (values.size() == 1) return one_value(values.front());
  std::vector<std::string> parts;
  for (const std::string& value : values) parts.push_back(one_value(value));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace lowtide::cli
