#include "plan/packing/buffers_csv.h"

#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "core/text.h"

namespace lowtide::plan {

namespace {

std::vector<std::string_view> cells(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> result;
  for (;;) {
    const std::size_t comma = line.find(',');
    result.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return result;
    line.remove_prefix(comma + 1);
  }
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), file_(path) {
    std::string header;
    if (!std::getline(file_, header))
      throw core::fail(ErrorCode::kInvalidFile, "{}: no header", name());
    const std::vector<std::string_view> names = cells(header);
    for (std::size_t i = 0; i < std::size(kColumns); ++i) {
      std::size_t at = 0;
      while (at < names.size() && names[at] != kColumns[i]) ++at;
      if (at == names.size()) {
        throw core::fail(ErrorCode::kInvalidFile, "{}: no column '{}'", name(), kColumns[i]);
      }
      places_[i] = at;
    }
  }

  std::vector<Item> read() {
    std::vector<Item> items;
    for (std::string line; std::getline(file_, line);) {
      ++line_;
      if (line.empty()) continue;
      const std::vector<std::string_view> row = cells(line);
      const std::int64_t lower = number(row, 0);
      const std::int64_t upper = number(row, 1);
      const std::int64_t size = number(row, 2);
      const bool sound = lower >= 0 && upper > lower && size >= 0 &&
                         upper <= std::numeric_limits<std::int32_t>::max();
      if (!sound) throw core::fail(ErrorCode::kInvalidFile, "{}:{}: no such buffer", name(), line_);
      items.push_back(
          {Bytes(size), static_cast<std::int32_t>(lower), static_cast<std::int32_t>(upper - 1)});
    }
    return items;
  }

 private:
  static constexpr std::string_view kColumns[] = {"lower", "upper", "size"};

  [[nodiscard]] std::string name() const { return path_.string(); }

  [[nodiscard]] std::int64_t number(const std::vector<std::string_view>& row,
                                    std::size_t column) const {
    std::int64_t value = 0;
    if (places_[column] < row.size()) {
      const std::string_view cell = row[places_[column]];
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      if (error == std::errc() && end == cell.data() + cell.size()) return value;
    }
    throw core::fail(ErrorCode::kInvalidFile, "{}:{}: no number for '{}'", name(), line_,
                     kColumns[column]);
  }

  std::filesystem::path path_;
  std::ifstream file_;
  int line_ = 1;
  std::size_t places_[std::size(kColumns)] = {};
};

}  // namespace

std::vector<Item> read_buffers(const std::filesystem::path& path) { return Reader(path).read(); }

}  // namespace lowtide::plan
