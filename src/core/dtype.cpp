#include "core/dtype.h"

namespace lowtide::core {

Bytes element_bytes(DType dtype) {
  return visit(dtype, [](auto tag) {
    return Bytes(static_cast<std::int64_t>(sizeof(typename decltype(tag)::type)));
  });
}

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float32";
    case DType::kFloat64: return "float64";
    case DType::kInt8: return "int8";
    case DType::kInt16: return "int16";
    case DType::kInt32: return "int32";
    case DType::kInt64: return "int64";
    case DType::kUint8: return "uint8";
    case DType::kUint16: return "uint16";
    case DType::kUint32: return "uint32";
    case DType::kUint64: return "uint64";
    case DType::kBool: return "bool";
    case DType::kOpaque: return "opaque";
  }
  return "unknown";
}

}  // namespace lowtide::core
