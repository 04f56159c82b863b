// Attrs: the attributes of one node, typed for the op that owns them and opaque to all others.
#pragma once

#include <memory>
#include <typeinfo>
#include <utility>

#include "core/check.h"

namespace lowtide::graph {

// An immutable, shared attribute struct. Only the op itself knows the type.
class Attrs {
 public:
  Attrs() = default;

  template <class A>
  static Attrs of(A attributes) {
    Attrs result;
    result.type_ = &typeid(A);
    result.data_ = std::make_shared<const A>(std::move(attributes));
    return result;
  }

  template <class A>
  [[nodiscard]] const A& as() const {
    LT_CHECK(type_ != nullptr && *type_ == typeid(A), "attributes of another op");
    return *static_cast<const A*>(data_.get());
  }

 private:
  std::shared_ptr<const void> data_;
  const std::type_info* type_ = nullptr;
};

}  // namespace lowtide::graph
