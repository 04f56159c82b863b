#include "onnx/bytes/tensor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/text.h"
#include "onnx/bytes/file.h"

namespace lowtide::onnx {

using core::DType;
using core::fail;

namespace {

constexpr std::size_t kMaxRank = 32;
constexpr std::uint32_t kFloatData = 4;
constexpr std::uint32_t kInt32Data = 5;
constexpr std::uint32_t kInt64Data = 7;
constexpr std::uint32_t kRawData = 9;
constexpr std::uint32_t kDoubleData = 10;
constexpr std::uint32_t kUint64Data = 11;

// The fields of a TensorProto before they are checked against each other.
struct RawTensor {
  std::string name;
  std::vector<std::int64_t> dims;
  std::int64_t type = 0;
  std::vector<WireField> data;  // of one field number only
  Metadata external;
  bool is_external = false;
  Metadata metadata;
};

void add_data(RawTensor& raw, const WireField& field) {
  if (!raw.data.empty() && (raw.data.front().number != field.number || field.number == kRawData)) {
    throw fail(ErrorCode::kInvalidFile, "the data is given twice");
  }
  raw.data.push_back(field);
}

RawTensor parse(const WireField& message) {
  RawTensor raw;
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 1: field->append_integers(raw.dims); break;
      case 2: raw.type = field->integer(); break;
      case 3: throw fail(ErrorCode::kUnsupported, "tensor segments");
      case kFloatData:
      case kInt32Data:
      case kInt64Data:
      case kRawData:
      case kDoubleData:
      case kUint64Data: add_data(raw, *field); break;
      case 8: raw.name = field->text(); break;
      case 13: read_entry(*field, raw.external); break;
      case 14: raw.is_external = field->integer() == 1; break;
      case 16: read_entry(*field, raw.metadata); break;
      default: break;
    }
  }
  return raw;
}

std::uint32_t typed_field(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return kFloatData;
    case DType::kFloat64: return kDoubleData;
    case DType::kInt64: return kInt64Data;
    case DType::kUint32:
    case DType::kUint64: return kUint64Data;
    default: return kInt32Data;
  }
}

// Halves lie in the file like uint16.
core::TensorType checked_type(const RawTensor& raw) {
  const auto dtype = half_of(raw.type) == Half::kNone ? dtype_of(raw.type) : DType::kUint16;
  if (!dtype) {
    throw fail(ErrorCode::kUnsupported, "element type {}; networks are exported in float32",
               onnx_type_name(raw.type));
  }
  if (raw.dims.size() > kMaxRank) {
    throw fail(ErrorCode::kInvalidFile, "{} dimensions", raw.dims.size());
  }
  try {
    return {*dtype, core::Shape(raw.dims), core::Layout::kPlain};
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidFile, error.what());
  }
}

void check_size(const core::TensorType& type, std::uint64_t got) {
  if (got != static_cast<std::uint64_t>(type.bytes().count())) {
    throw fail(ErrorCode::kInvalidFile, "{} needs {} bytes, the file gives {}", type.str(),
               type.bytes().count(), got);
  }
}

// Elements that are kept as varints, after checking that they are as many as they should be.
template <class T>
std::vector<std::byte> decode_varints(const RawTensor& raw, const core::TensorType& type) {
  std::size_t count = 0;
  for (const WireField& field : raw.data) count += field.varint_count();
  check_size(type, std::uint64_t{count} * sizeof(T));
  std::vector<std::byte> bytes(count * sizeof(T));
  std::vector<std::int64_t> part;
  std::size_t at = 0;
  for (const WireField& field : raw.data) {
    part.clear();
    field.append_integers(part);
    for (const std::int64_t value : part) {
      if constexpr (sizeof(T) < sizeof(std::int64_t)) {
        if (value < std::int64_t{std::numeric_limits<T>::min()} ||
            value > std::int64_t{std::numeric_limits<T>::max()}) {
          throw fail(ErrorCode::kInvalidFile, "element {} is outside {}", value, type.str());
        }
      }
      const T element = static_cast<T>(value);
      std::memcpy(bytes.data() + at, &element, sizeof(T));
      at += sizeof(T);
    }
  }
  return bytes;
}

// Floats and doubles in several fields: their payloads one after the other.
std::vector<std::byte> join_fixed(const RawTensor& raw, const core::TensorType& type) {
  const WireType single = type.dtype == DType::kFloat32 ? WireType::kFixed32 : WireType::kFixed64;
  const auto width = static_cast<std::size_t>(core::element_bytes(type.dtype).count());
  std::uint64_t total = 0;
  for (const WireField& field : raw.data) {
    total += field.type == single ? width : field.bytes().size();
  }
  check_size(type, total);
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(total));
  for (const WireField& field : raw.data) {
    if (field.type == single) {
      const auto* first = reinterpret_cast<const std::byte*>(&field.value);
      bytes.insert(bytes.end(), first, first + width);
    } else {
      bytes.insert(bytes.end(), field.payload.begin(), field.payload.end());
    }
  }
  return bytes;
}

std::vector<std::byte> decode(const RawTensor& raw, const core::TensorType& type) {
  if (core::is_float(type.dtype)) return join_fixed(raw, type);
  return core::visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      return decode_varints<T>(raw, type);
    } else {
      return join_fixed(raw, type);
    }
  });
}

void keep(TensorRef& tensor, std::vector<std::byte> bytes) {
  tensor.bytes = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

// Bytes that lie in the model as the type has them.
void place_inline(TensorRef& tensor, const WireField& field, const Origin& origin) {
  check_size(tensor.type, field.bytes().size());
  tensor.file = origin.file;
  tensor.offset = static_cast<std::int64_t>(field.payload_begin());
  if (origin.file.empty() || tensor.type.bytes() <= kSmallTensor) {
    keep(tensor, {field.payload.begin(), field.payload.end()});
  }
}

std::int64_t number(const Metadata& entries, const std::string& key, std::int64_t fallback) {
  const auto found = entries.find(key);
  if (found == entries.end()) return fallback;
  const std::string& text = found->second;
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw fail(ErrorCode::kInvalidFile, "external data: {} '{}' is no number", key, text);
  }
  return value;
}

void place_external(TensorRef& tensor, const RawTensor& raw, const Origin& origin) {
  if (!raw.data.empty()) throw fail(ErrorCode::kInvalidFile, "the data is given twice");
  if (!origin.external_allowed) {
    throw fail(ErrorCode::kInvalidFile, "external data, but the model has no folder");
  }
  const auto location = raw.external.find("location");
  tensor.location = location == raw.external.end() ? "" : location->second;
  const InputFile file = InputFile::open_external(origin.folder, tensor.location);
  const std::int64_t length = tensor.type.bytes().count();
  tensor.offset = number(raw.external, "offset", 0);
  check_size(tensor.type, static_cast<std::uint64_t>(number(raw.external, "length", length)));
  if (tensor.offset > file.size() || length > file.size() - tensor.offset) {
    throw fail(ErrorCode::kInvalidFile, "external data '{}' has {} bytes, {} needed at offset {}",
               tensor.location, file.size(), length, tensor.offset);
  }
  tensor.file = file.path();
  if (tensor.type.bytes() <= kSmallTensor) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    file.read(tensor.offset, bytes);
    keep(tensor, std::move(bytes));
  }
}

// A bool that is neither 0 nor 1 would be undefined behaviour in every kernel.
void check_bools(const TensorRef& tensor) {
  const auto bytes = load(tensor);
  if (std::any_of(bytes->begin(), bytes->end(), [](std::byte b) { return b > std::byte{1}; })) {
    throw fail(ErrorCode::kInvalidFile, "a bool is neither 0 nor 1");
  }
}

void place(TensorRef& tensor, const RawTensor& raw, const Origin& origin) {
  if (raw.is_external) return place_external(tensor, raw, origin);
  if (raw.data.empty()) {
    check_size(tensor.type, 0);
    return keep(tensor, {});
  }
  const WireField& first = raw.data.front();
  if (first.number == kRawData) return place_inline(tensor, first, origin);
  if (first.number != typed_field(tensor.type.dtype)) {
    throw fail(ErrorCode::kInvalidFile, "{} has its data in field {}", tensor.type.str(),
               first.number);
  }
  const bool contiguous =
      core::is_float(tensor.type.dtype) && raw.data.size() == 1 && first.type == WireType::kBytes;
  if (contiguous) return place_inline(tensor, first, origin);
  keep(tensor, decode(raw, tensor.type));
}

// Names an error's tensor, which may be known only after the field that is at fault.
std::string name_of(const WireField& message) {
  std::string name;
  WireReader reader = message.message();
  while (const auto field = reader.next()) {
    if (field->number == 8) name = field->text();
  }
  return name;
}

}  // namespace

TensorRef read_tensor(const WireField& field, const Origin& origin) {
  const std::string name = name_of(field);
  try {
    RawTensor raw = parse(field);
    TensorRef tensor;
    tensor.name = name;
    tensor.type = checked_type(raw);
    tensor.metadata = std::move(raw.metadata);
    place(tensor, raw, origin);
    tensor.half = half_of(raw.type);
    if (tensor.half != Half::kNone) {
      keep(tensor, widened(tensor.half, *load(tensor)));
      tensor.type.dtype = DType::kFloat32;
    }
    if (tensor.type.dtype == DType::kBool) check_bools(tensor);
    return tensor;
  } catch (const Error& error) {
    throw error.within(core::text("tensor '{}'", name));
  }
}

Bytes TensorRef::bytes_in_file() const {
  return half == Half::kNone ? type.bytes() : Bytes(type.bytes().count() / 2);
}

std::shared_ptr<const std::vector<std::byte>> load(const TensorRef& tensor) {
  if (tensor.bytes) return tensor.bytes;
  const InputFile file = InputFile::open(tensor.file);
  if (tensor.offset > file.size() || tensor.type.bytes().count() > file.size() - tensor.offset) {
    throw fail(ErrorCode::kIo, "{}: has shrunk since it was read", tensor.file);
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.type.bytes().count()));
  file.read(tensor.offset, bytes);
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

namespace {

struct TypeRow {
  DType dtype;
  std::int64_t onnx;
};

constexpr std::array<TypeRow, 11> kTypes = {{{DType::kFloat32, 1},
                                             {DType::kUint8, 2},
                                             {DType::kInt8, 3},
                                             {DType::kUint16, 4},
                                             {DType::kInt16, 5},
                                             {DType::kInt32, 6},
                                             {DType::kInt64, 7},
                                             {DType::kBool, 9},
                                             {DType::kFloat64, 11},
                                             {DType::kUint32, 12},
                                             {DType::kUint64, 13}}};

constexpr std::array<std::string_view, 17> kTypeNames = {
    "undefined", "float",  "uint8",     "int8",       "uint16",  "int16",
    "int32",     "int64",  "string",    "bool",       "float16", "double",
    "uint32",    "uint64", "complex64", "complex128", "bfloat16"};

constexpr std::int64_t kOnnxFloat16 = 10;
constexpr std::int64_t kOnnxBfloat16 = 16;

}  // namespace

Half half_of(std::int64_t onnx_type) {
  if (onnx_type == kOnnxFloat16) return Half::kFloat16;
  return onnx_type == kOnnxBfloat16 ? Half::kBfloat16 : Half::kNone;
}

std::int64_t onnx_type_of(const TensorRef& tensor) {
  if (tensor.half == Half::kFloat16) return kOnnxFloat16;
  return tensor.half == Half::kBfloat16 ? kOnnxBfloat16 : onnx_type_of(tensor.type.dtype);
}

std::optional<DType> dtype_of(std::int64_t onnx_type) {
  if (half_of(onnx_type) != Half::kNone) return DType::kFloat32;
  for (const TypeRow& row : kTypes) {
    if (row.onnx == onnx_type) return row.dtype;
  }
  return std::nullopt;
}

std::string onnx_type_name(std::int64_t onnx_type) {
  if (onnx_type >= 0 && onnx_type < static_cast<std::int64_t>(kTypeNames.size())) {
    return std::string(kTypeNames[static_cast<std::size_t>(onnx_type)]);
  }
  return core::text("number {}", onnx_type);
}

std::int64_t onnx_type_of(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row.onnx;
  }
  LT_CHECK(false, "an element type that ONNX does not have");
}

void read_entry(const WireField& field, Metadata& to) {
  std::string key;
  std::string value;
  WireReader reader = field.message();
  while (const auto part = reader.next()) {
    if (part->number == 1) key = part->text();
    if (part->number == 2) value = part->text();
  }
  if (!to.emplace(key, value).second) {
    throw fail(ErrorCode::kInvalidFile, "malformed file: key '{}' is given twice", key);
  }
}

}  // namespace lowtide::onnx
