#include "conformance/compare.h"

#include <cmath>
#include <type_traits>

#include "core/text.h"

namespace lowtide::conformance {
namespace {

using core::text;
using graph::ConstantTensor;

template <class T>
bool agrees(T actual, T expected) {
  constexpr double kRelative = 1e-3;
  constexpr double kAbsolute = 1e-7;
  if (actual == expected) return true;
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(actual) || std::isnan(expected)) {
      return std::isnan(actual) && std::isnan(expected);
    }
    if (std::isinf(actual) || std::isinf(expected)) return false;
    const auto a = static_cast<double>(actual);
    const auto e = static_cast<double>(expected);
    return std::abs(a - e) <= kAbsolute + kRelative * std::abs(e);
  }
  return false;
}

std::string difference(const ConstantTensor& actual, const ConstantTensor& expected) {
  if (actual.type != expected.type) {
    return text("is {}, expected {}", actual.type.str(), expected.type.str());
  }
  return core::visit(expected.type.dtype, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < expected.type.shape.elements(); ++i) {
      const T a = actual.data<T>()[i];
      const T e = expected.data<T>()[i];
      if (!agrees(a, e)) return text("element {} is {}, expected {}", i, a, e);
    }
    return {};
  });
}

}  // namespace

std::string difference(const std::vector<ConstantTensor>& actual,
                       const std::vector<ConstantTensor>& expected) {
  if (actual.size() != expected.size()) {
    return text("{} outputs, expected {}", actual.size(), expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string found = difference(actual[i], expected[i]);
    if (!found.empty()) return text("output {} {}", i, found);
  }
  return {};
}

}  // namespace lowtide::conformance
