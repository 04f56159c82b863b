// Element types, and the one function that turns a run-time type into a C++ type.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "lowtide/bytes.h"

#include "core/check.h"

namespace lowtide::core {

// What one element of a tensor is. kBool and kUint8 take a byte each. kOpaque is a byte whose
// meaning only the op that wrote it knows (bit masks, packed indices); shapes then count bytes.
enum class DType : std::uint8_t {
  kFloat32,
  kFloat64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  kOpaque,
};

Bytes element_bytes(DType dtype);
std::string_view name(DType dtype);  // "float32", "int64", ... as numpy writes them

constexpr bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

constexpr bool is_integer(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kUint64; }

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::kInt8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::kInt16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kUint8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::kUint16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::kUint32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::kUint64;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
}

// Carries a C++ type as a value:
//   visit(dtype, [&](auto tag) { using T = typename decltype(tag)::type; ... });
template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<float>) or f(TypeTag<double>); any other dtype is a broken invariant.
template <class F>
decltype(auto) visit_float(DType dtype, F&& f) {
  if (dtype == DType::kFloat64) return f(TypeTag<double>{});
  LT_CHECK(dtype == DType::kFloat32, "a float dtype is needed here");
  return f(TypeTag<float>{});
}

// Calls f with the TypeTag of any dtype (kBool as bool, kOpaque as uint8_t).
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32: return f(TypeTag<float>{});
    case DType::kFloat64: return f(TypeTag<double>{});
    case DType::kInt8: return f(TypeTag<std::int8_t>{});
    case DType::kInt16: return f(TypeTag<std::int16_t>{});
    case DType::kInt32: return f(TypeTag<std::int32_t>{});
    case DType::kInt64: return f(TypeTag<std::int64_t>{});
    case DType::kUint8: return f(TypeTag<std::uint8_t>{});
    case DType::kUint16: return f(TypeTag<std::uint16_t>{});
    case DType::kUint32: return f(TypeTag<std::uint32_t>{});
    case DType::kUint64: return f(TypeTag<std::uint64_t>{});
    case DType::kBool: return f(TypeTag<bool>{});
    case DType::kOpaque: break;
  }
  return f(TypeTag<std::uint8_t>{});
}

}  // namespace lowtide::core
