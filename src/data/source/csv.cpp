#include "data/source/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "data/format/stored_array.h"
#include "data/format/temporary.h"
#include "data/source/csv_reader.h"

namespace lowtide::data {
namespace {

constexpr std::size_t kMostClasses = 10'000;
constexpr std::size_t kLongestName = 256;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Of a number that lies beyond what floats hold: one that is too small is 0.
float out_of_range(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc()) return static_cast<float>(value);
  const std::size_t exponent = text.find_first_of("eE");
  const bool small = exponent != std::string_view::npos && text.substr(exponent + 1)[0] == '-';
  return small ? 0.0F : INFINITY;
}

// All of the text as a number, spaces around it aside.
template <class T>
std::optional<T> number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_same_v<T, float>) {
    if (error == std::errc::result_out_of_range) return out_of_range(text);
  }
  if (error != std::errc()) return std::nullopt;
  return value;
}

enum class LabelKind { kInteger, kFloat, kText };

// What the file holds, found by reading it once.
struct Table {
  std::vector<std::string> columns;
  std::size_t label = 0;  // its column
  std::int64_t rows = 0;
  LabelKind kind = LabelKind::kInteger;
};

class CsvDataset final : public Dataset {
 public:
  CsvDataset(std::string name,
             std::vector<Field> fields,
             StoredArray features,
             StoredArray labels,
             std::vector<std::string> class_names,
             std::vector<std::string> columns)
      : Dataset(std::move(name), features.shape[0], std::move(fields)),
        features_(std::move(features)),
        labels_(std::move(labels)) {
    class_names_ = std::move(class_names);
    columns_ = std::move(columns);
  }

  void read(std::size_t field,
            std::span<const std::int64_t> samples,
            std::span<std::byte> out) const override {
    const StoredArray& array = field == 0 ? features_ : labels_;
    const std::int64_t elements = fields()[field].sample_shape.elements();
    const auto width = static_cast<std::size_t>(fields()[field].sample_bytes().count());
    LT_CHECK(out.size() == samples.size() * width, "room for exactly the samples");
    for (std::size_t i = 0; i < samples.size(); ++i) {
      array.read(samples[i] * elements, out.subspan(i * width, width));
    }
  }

 private:
  StoredArray features_;
  StoredArray labels_;
};

std::size_t label_column(const ByteSource& file,
                         const std::vector<std::string>& columns,
                         const std::string& label) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i), columns[i]) !=
        columns.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw core::fail(ErrorCode::kInvalidFile, "{}: two columns named '{}'", file.name(),
                       columns[i]);
    }
  }
  const auto found = std::find(columns.begin(), columns.end(), label);
  if (found == columns.end()) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "{}: no column '{}' for the label (--label NAME); its first line names {}",
                     file.name(), label, fmt::join(columns, ", "));
  }
  if (columns.size() < 2) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: no column beside the label's", file.name());
  }
  return static_cast<std::size_t>(found - columns.begin());
}

// Kinds only widen: whole numbers, numbers, texts.
void look_at_label(const ByteSource& file,
                   const CsvReader& reader,
                   const std::string& text,
                   Table& table) {
  if (text.empty() || text.size() > kLongestName) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: line {}: {}", file.name(), reader.line(),
                     text.empty() ? "the label is missing" : "a label of more than 256 bytes");
  }
  if (table.kind == LabelKind::kInteger && !number<std::int64_t>(text)) {
    table.kind = LabelKind::kFloat;
  }
  if (table.kind == LabelKind::kFloat && !number<float>(text)) table.kind = LabelKind::kText;
}

Table survey(const ByteSource& file, const std::string& label) {
  CsvReader reader(file);
  Table table;
  if (!reader.next(table.columns)) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: is empty; its first line should name columns",
                     file.name());
  }
  for (std::string& column : table.columns) column = std::string(trimmed(column));
  table.label = label_column(file, table.columns, label);
  std::vector<std::string> fields;
  for (; reader.next(fields); ++table.rows) look_at_label(file, reader, fields[table.label], table);
  if (table.rows == 0) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: holds no samples", file.name());
  }
  return table;
}

float feature(const ByteSource& file,
              const CsvReader& reader,
              const std::string& column,
              const std::string& text) {
  const std::optional<float> value = number<float>(text);
  if (value && std::isfinite(*value)) return *value;
  throw core::fail(
      ErrorCode::kInvalidFile, "{}: line {}, column '{}': {}", file.name(), reader.line(), column,
      text.empty() ? "the value is missing" : core::text("'{}' is no number", text.substr(0, 40)));
}

std::vector<std::string> class_names(const ByteSource& file,
                                     const Table& table,
                                     const std::vector<std::string>& settled) {
  if (table.kind != LabelKind::kText) return {};
  std::set<std::string> names;
  CsvReader reader(file);
  std::vector<std::string> fields;
  reader.next(fields);
  while (reader.next(fields)) {
    names.insert(fields[table.label]);
    if (names.size() <= kMostClasses) continue;
    throw core::fail(ErrorCode::kInvalidFile,
                     "{}: column '{}' holds more than {} different texts; is it the label?",
                     file.name(), table.columns[table.label], kMostClasses);
  }
  if (settled.empty()) return {names.begin(), names.end()};
  for (const std::string& name : names) {
    if (std::find(settled.begin(), settled.end(), name) != settled.end()) continue;
    throw core::fail(ErrorCode::kInvalidArgument, "{}: label '{}' is none of those trained on: {}",
                     file.name(), name, fmt::join(settled, ", "));
  }
  return settled;
}

void append_label(const Table& table,
                  const std::vector<std::string>& names,
                  const std::string& text,
                  TemporaryBytes& out) {
  switch (table.kind) {
    case LabelKind::kInteger: out.append(*number<std::int64_t>(text)); return;
    case LabelKind::kFloat: out.append(*number<float>(text)); return;
    case LabelKind::kText:
      out.append(std::int64_t{std::find(names.begin(), names.end(), text) - names.begin()});
      return;
  }
}

// The columns of features: all but the label's, in the settled order where there is one.
std::vector<std::size_t> feature_columns(const ByteSource& file,
                                         const Table& table,
                                         const std::vector<std::string>& settled) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i != table.label) order.push_back(i);
  }
  if (settled.empty()) return order;
  const std::vector<std::size_t> present = order;
  order.clear();
  for (const std::string& name : settled) {
    for (const std::size_t i : present) {
      if (table.columns[i] == name) order.push_back(i);
    }
  }
  if (order.size() != settled.size() || present.size() != settled.size()) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "{}: its columns are {}, but those trained on are {}", file.name(),
                     fmt::join(table.columns, ", "), fmt::join(settled, ", "));
  }
  return order;
}

}  // namespace

std::shared_ptr<const Dataset> open_csv(const std::filesystem::path& path,
                                        const OpenOptions& options) {
  const ByteSource file = ByteSource::open(path);
  const Table table = survey(file, options.label);
  std::vector<std::string> names = class_names(file, table, options.class_names);
  const std::vector<std::size_t> order = feature_columns(file, table, options.columns);
  TemporaryBytes features(options.temp_directory);
  TemporaryBytes labels(options.temp_directory);
  CsvReader reader(file);
  std::vector<std::string> fields;
  reader.next(fields);
  while (reader.next(fields)) {
    for (const std::size_t i : order) {
      features.append(feature(file, reader, table.columns[i], fields[i]));
    }
    append_label(table, names, fields[table.label], labels);
  }
  const auto width = static_cast<std::int64_t>(order.size());
  std::vector<std::string> columns;
  for (const std::size_t i : order) columns.push_back(table.columns[i]);
  const core::DType label =
      table.kind == LabelKind::kFloat ? core::DType::kFloat32 : core::DType::kInt64;
  StoredArray numbers = array_at(std::move(features).finish(file.name()), Bytes(0),
                                 core::DType::kFloat32, {table.rows, width}, std::endian::native);
  StoredArray targets = array_at(std::move(labels).finish(file.name()), Bytes(0), label,
                                 {table.rows}, std::endian::native);
  std::vector<Field> described = {{.name = "features",
                                   .dtype = core::DType::kFloat32,
                                   .sample_shape = {width},
                                   .columns = true},
                                  {.name = options.label, .dtype = label, .sample_shape = {}}};
  return std::make_shared<CsvDataset>(file.name(), std::move(described), std::move(numbers),
                                      std::move(targets), std::move(names), std::move(columns));
}

}  // namespace lowtide::data
