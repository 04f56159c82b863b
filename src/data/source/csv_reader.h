// CsvReader: the records of a CSV file, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/format/byte_source.h"

namespace lowtide::data {

// RFC 4180: fields between commas; one in quotes may hold commas, line ends and doubled quotes.
// Lines end in LF or CRLF; empty ones are passed over, as is a byte order mark. Memory is bounded
// by kLongestField times the columns of the first record.
class CsvReader {
 public:
  explicit CsvReader(const ByteSource& file);

  // The next record's fields; false at the end. Throws Error(kInvalidFile) with the line of a
  // misplaced or open quote, a byte of 0, a field that is too long, or another number of fields
  // than the first record has.
  bool next(std::vector<std::string>& fields);

  // Where the record begins that came last, counted from 1.
  [[nodiscard]] std::int64_t line() const { return line_; }

  static constexpr std::size_t kLongestField = 64 * 1024;
  static constexpr std::size_t kMostFields = 64 * 1024;

 private:
  static constexpr int kEnd = -1;

  int peek();
  int take();
  void read_field(std::string& field);
  void read_quoted(std::string& field);
  void append(std::string& field, int c) const;
  [[nodiscard]] bool at_line_end();

  ByteSource file_;
  Bytes at_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // in the buffer
  std::size_t end_ = 0;
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
  std::size_t columns_ = 0;  // of the first record; 0 before it
};

}  // namespace lowtide::data
