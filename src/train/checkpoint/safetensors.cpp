#include "train/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "core/json.h"
#include "core/text.h"

namespace lowtide::train {
namespace {

using core::DType;
using core::fail;
using core::Json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::size_t kPrefix = sizeof(std::uint64_t);  // the header's length
constexpr std::int64_t kMostHeader = 100'000'000;       // as other readers have it
constexpr std::size_t kAlignment = 64;
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::array<std::pair<DType, std::string_view>, 11> kNames = {{
    {DType::kFloat32, "F32"},
    {DType::kFloat64, "F64"},
    {DType::kInt8, "I8"},
    {DType::kInt16, "I16"},
    {DType::kInt32, "I32"},
    {DType::kInt64, "I64"},
    {DType::kUint8, "U8"},
    {DType::kUint16, "U16"},
    {DType::kUint32, "U32"},
    {DType::kUint64, "U64"},
    {DType::kBool, "BOOL"},
}};

std::optional<DType> dtype_named(std::string_view name) {
  for (const auto& [dtype, text] : kNames) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

std::string_view name_of(DType dtype) {
  for (const auto& [known, text] : kNames) {
    if (known == dtype) return text;
  }
  LT_CHECK(false, "the format has no such type");
  return {};
}

// Takes the header's JSON as it is read, so that no more than the result is ever held. Every
// function returns false to stop at what the format does not allow; reason() then says what it was.
class HeaderReader {
 public:
  [[nodiscard]] const std::string& reason() const { return reason_; }
  std::map<std::string, std::string> metadata;
  std::vector<SafeTensor> tensors;  // offset: where the file says the data begins
  std::vector<std::int64_t> ends;   // likewise

  // Called by the parser, under its names.
  bool null() { return refuse("a null"); }
  bool boolean(bool /*value*/) { return refuse("a truth value"); }
  bool number_integer(std::int64_t /*value*/) { return refuse("a negative number"); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return refuse("a fraction"); }
  bool binary(Json::binary_t& /*value*/) { return refuse("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ != Place::kShape && place_ != Place::kOffsets) return refuse("a number");
    if (value > static_cast<std::uint64_t>(INT64_MAX)) return refuse("a number past 2^63");
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::kTexts) {
      if (!metadata.emplace(key_, std::move(value)).second) return refuse("a name given twice");
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") return refuse("a text");
    dtype_ = dtype_named(value);
    if (!dtype_) return refuse("the type '" + value.substr(0, 20) + "'");
    return true;
  }

  bool start_object(std::size_t /*count*/) {
    switch (place_) {
      case Place::kOutside: place_ = Place::kTop; return true;
      case Place::kTop: break;
      case Place::kTexts:
      case Place::kTensor:
      case Place::kShape:
      case Place::kOffsets: return refuse("an object");
    }
    if (key_ == kMetadata) {
      place_ = Place::kTexts;
      return true;
    }
    place_ = Place::kTensor;
    tensor_ = {.name = key_, .type = {}, .offset = Bytes(-1)};
    dtype_.reset();
    shape_.reset();
    return true;
  }

  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }

  bool end_object() {
    if (place_ == Place::kTop) {
      place_ = Place::kOutside;
      return true;
    }
    const bool tensor = place_ == Place::kTensor;
    place_ = Place::kTop;
    return tensor ? finish_tensor() : true;
  }

  bool start_array(std::size_t /*count*/) {
    if (place_ != Place::kTensor) return refuse("a list");
    if (key_ != "shape" && key_ != "data_offsets") return refuse("a list");
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    numbers_.clear();
    return true;
  }

  bool end_array() {
    const bool shape = place_ == Place::kShape;
    place_ = Place::kTensor;
    if (shape) return finish_shape();
    if (numbers_.size() != 2) return refuse("offsets that are not two numbers");
    tensor_.offset = Bytes(numbers_[0]);
    end_ = numbers_[1];
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const Json::exception&) {
    reason_ = core::text("no JSON from byte {} on", position);
    return false;
  }

 private:
  enum class Place { kOutside, kTop, kTexts, kTensor, kShape, kOffsets };

  bool refuse(const std::string& what) {
    reason_ = core::text("{} where '{}' stands", what, key_.substr(0, 100));
    return false;
  }

  bool finish_shape() {
    try {
      shape_ = core::Shape(numbers_);
    } catch (const Error&) {
      return refuse("a shape of too many elements");
    }
    return true;
  }

  bool finish_tensor() {
    if (!dtype_ || !shape_ || tensor_.offset < Bytes(0)) {
      reason_ = core::text("tensor '{}' lacks its type, shape or offsets", tensor_.name);
      return false;
    }
    tensor_.type = {*dtype_, std::move(*shape_)};
    const std::int64_t width = core::element_bytes(*dtype_).count();
    if (tensor_.type.shape.elements() > INT64_MAX / width ||
        end_ - tensor_.offset.count() != tensor_.type.shape.elements() * width) {
      reason_ = core::text("tensor '{}' has bytes from {} to {}, which {} does not fill",
                           tensor_.name, tensor_.offset.count(), end_, tensor_.type.shape.str());
      return false;
    }
    tensors.push_back(std::move(tensor_));
    ends.push_back(end_);
    return true;
  }

  Place place_ = Place::kOutside;
  std::string key_;
  std::string reason_;
  SafeTensor tensor_;
  std::optional<DType> dtype_;
  std::optional<core::Shape> shape_;
  std::int64_t end_ = 0;
  std::vector<std::int64_t> numbers_;
};

// In the order of their bytes, which must follow each other from the header to the file's end.
void settle_offsets(SafetensorsHeader& header, Bytes file_size, const std::string& file_name) {
  const auto key = [](const SafeTensor& tensor) {
    return std::pair(tensor.offset, tensor.type.bytes());
  };
  std::sort(header.tensors.begin(), header.tensors.end(),
            [&](const SafeTensor& a, const SafeTensor& b) { return key(a) < key(b); });
  Bytes end;
  for (SafeTensor& tensor : header.tensors) {
    if (tensor.offset != end) {
      throw fail(ErrorCode::kInvalidFile,
                 "{}: tensor '{}' begins at byte {} of the data, not at {}", file_name, tensor.name,
                 tensor.offset.count(), end.count());
    }
    // Each is within the file, so that sums stay small.
    if (tensor.type.bytes() > file_size - header.end - end) {
      throw fail(ErrorCode::kInvalidFile, "{}: the file is cut: it ends within tensor '{}'",
                 file_name, tensor.name);
    }
    tensor.offset = header.end + end;
    end += tensor.type.bytes();
  }
  if (header.end + end != file_size) {
    throw fail(ErrorCode::kInvalidFile, "{}: {} bytes follow the last tensor", file_name,
               (file_size - header.end - end).count());
  }
}

}  // namespace

const SafeTensor& SafetensorsHeader::tensor(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const SafeTensor& tensor) { return tensor.name == name; });
  if (found == tensors.end()) {
    throw fail(ErrorCode::kInvalidFile, "there is no tensor '{}'", name);
  }
  return *found;
}

SafetensorsHeader parse_safetensors_header(std::span<const char> json,
                                           Bytes file_size,
                                           const std::string& file_name) {
  HeaderReader reader;
  if (!Json::sax_parse(json.begin(), json.end(), &reader)) {
    throw fail(ErrorCode::kInvalidFile, "{}: the header has {}", file_name, reader.reason());
  }
  SafetensorsHeader header{.metadata = std::move(reader.metadata),
                           .tensors = std::move(reader.tensors),
                           .end = Bytes(static_cast<std::int64_t>(kPrefix + json.size()))};
  settle_offsets(header, file_size, file_name);
  std::vector<std::string_view> names;
  for (const SafeTensor& tensor : header.tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw fail(ErrorCode::kInvalidFile, "{}: there are two tensors '{}'", file_name, *twice);
  }
  return header;
}

SafetensorsHeader read_safetensors_header(const core::File& file) {
  const Bytes size = file.size();
  if (size < Bytes(kPrefix + 2)) {
    throw fail(ErrorCode::kInvalidFile, "{}: {} bytes are too few for a safetensors file",
               file.name(), size.count());
  }
  std::uint64_t length = 0;
  file.read_at(Bytes(0), std::as_writable_bytes(std::span(&length, 1)));
  const auto most = static_cast<std::uint64_t>(std::min(size.count() - 8, kMostHeader));
  if (length > most) {
    throw fail(ErrorCode::kInvalidFile,
               "{}: is cut, or no safetensors file: its header would have {} bytes", file.name(),
               length);
  }
  std::vector<char> json(length);
  file.read_at(Bytes(kPrefix), std::as_writable_bytes(std::span(json)));
  return parse_safetensors_header(json, size, file.name());
}

std::string safetensors_header(const std::map<std::string, std::string>& metadata,
                               std::span<const SafeTensor> tensors) {
  Json header = Json::object();
  header[std::string(kMetadata)] = metadata;
  Bytes end;
  for (const SafeTensor& tensor : tensors) {
    const Bytes begin = std::exchange(end, end + tensor.type.bytes());
    header[tensor.name] = {{"dtype", name_of(tensor.type.dtype)},
                           {"shape", tensor.type.shape.dims()},
                           {"data_offsets", {begin.count(), end.count()}}};
  }
  std::string json = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  json.append((kAlignment - (kPrefix + json.size()) % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = json.size();
  std::string result(kPrefix, '\0');
  std::memcpy(result.data(), &length, sizeof(length));
  return result + json;
}

}  // namespace lowtide::train
