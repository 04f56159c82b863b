#include "data/source/csv_reader.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace lowtide::data {

CsvReader::CsvReader(const ByteSource& file) : file_(file), buffer_(64 * 1024) {
  constexpr std::array kMark = {std::byte{0xEF}, std::byte{0xBB}, std::byte{0xBF}};
  std::array<std::byte, 3> start = {};
  if (file_.size() < Bytes(start.size())) return;
  file_.read_at(Bytes(0), start);
  if (start == kMark) at_ = Bytes(start.size());
}

int CsvReader::peek() {
  if (begin_ == end_) {
    const Bytes left = file_.size() - at_;
    if (left <= Bytes(0)) return kEnd;
    begin_ = 0;
    end_ =
        static_cast<std::size_t>(std::min(left.count(), static_cast<std::int64_t>(buffer_.size())));
    file_.read_at(at_, std::span(buffer_).first(end_));
    at_ += Bytes(static_cast<std::int64_t>(end_));
  }
  return std::to_integer<int>(buffer_[begin_]);
}

int CsvReader::take() {
  const int c = peek();
  if (c == kEnd) return c;
  ++begin_;
  if (c == '\n') ++next_line_;
  if (c == 0) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: line {}: a byte of 0 is no text", file_.name(),
                     next_line_);
  }
  return c;
}

void CsvReader::append(std::string& field, int c) const {
  if (field.size() == kLongestField) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: line {}: a field of more than {} bytes",
                     file_.name(), line_, kLongestField);
  }
  field += static_cast<char>(c);
}

// Whether the record ends here; a carriage return counts only before a line feed.
bool CsvReader::at_line_end() {
  const int c = peek();
  return c == kEnd || c == '\n' || c == '\r';
}

void CsvReader::read_quoted(std::string& field) {
  const std::int64_t opened = next_line_;
  take();
  while (true) {
    const int c = take();
    if (c == kEnd) {
      throw core::fail(ErrorCode::kInvalidFile, "{}: line {}: the quote that opens here never ends",
                       file_.name(), opened);
    }
    if (c != '"') {
      append(field, c);
    } else if (peek() == '"') {
      append(field, take());
    } else {
      break;
    }
  }
  if (!at_line_end() && peek() != ',') {
    throw core::fail(ErrorCode::kInvalidFile, "{}: line {}: text after a closing quote",
                     file_.name(), next_line_);
  }
}

void CsvReader::read_field(std::string& field) {
  field.clear();
  if (peek() == '"') {
    read_quoted(field);
    return;
  }
  while (!at_line_end() && peek() != ',') {
    const int c = take();
    if (c == '"') {
      throw core::fail(ErrorCode::kInvalidFile,
                       "{}: line {}: a quote inside a field that does not begin with one",
                       file_.name(), next_line_);
    }
    append(field, c);
  }
}

bool CsvReader::next(std::vector<std::string>& fields) {
  while (peek() == '\n' || peek() == '\r') take();
  if (peek() == kEnd) return false;
  line_ = next_line_;
  std::size_t count = 0;
  while (true) {
    if (count == (columns_ == 0 ? kMostFields : columns_)) {
      throw core::fail(ErrorCode::kInvalidFile, "{}: line {}: more than {} fields", file_.name(),
                       line_, count);
    }
    if (count == fields.size()) fields.emplace_back();
    read_field(fields[count++]);
    if (peek() != ',') break;
    take();
  }
  fields.resize(count);
  if (columns_ == 0) columns_ = count;
  if (count != columns_) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: line {}: {} fields, where the first line has {}",
                     file_.name(), line_, count, columns_);
  }
  return true;
}

}  // namespace lowtide::data
