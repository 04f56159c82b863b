// Attrs: the attributes of one node, typed for the op that owns them and opaque to all others.
#pragma once

#include <concepts>
#include <memory>
#include <typeinfo>
#include <utility>

#include "core/check.h"

namespace lowtide::graph {

// An immutable, shared attribute struct. Only the op itself knows the type.
class Attrs {
 public:
  Attrs() = default;

  template <std::equality_comparable A>
  static Attrs of(A attributes) {
    Attrs result;
    result.type_ = &typeid(A);
    result.data_ = std::make_shared<const A>(std::move(attributes));
    result.equal_ = [](const void* a, const void* b) {
      return *static_cast<const A*>(a) == *static_cast<const A*>(b);
    };
    return result;
  }

  // Whether two nodes of one op with these attributes compute the same.
  bool operator==(const Attrs& other) const {
    if (data_ == other.data_) return true;
    return type_ != nullptr && other.type_ != nullptr && *type_ == *other.type_ &&
           equal_ != nullptr && equal_(data_.get(), other.data_.get());
  }

  template <class A>
  [[nodiscard]] const A& as() const {
    LT_CHECK(type_ != nullptr && *type_ == typeid(A), "attributes of another op");
    return *static_cast<const A*>(data_.get());
  }

 private:
  std::shared_ptr<const void> data_;
  const std::type_info* type_ = nullptr;
  bool (*equal_)(const void*, const void*) = nullptr;
};

}  // namespace lowtide::graph
