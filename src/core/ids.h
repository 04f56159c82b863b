// Typed indices: a ValueId cannot index the node table.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/check.h"

namespace lowtide::core {

// A 4-byte index of one kind of thing; default-constructed means "none".
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value_(static_cast<std::int32_t>(index)) {}

  [[nodiscard]] constexpr bool valid() const { return value_ >= 0; }

  [[nodiscard]] constexpr std::size_t index() const {
    LT_ASSERT(value_ >= 0);
    return static_cast<std::size_t>(value_);
  }

  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::int32_t value_ = -1;
};

// A vector indexed by one kind of Id. With a std::deque for storage, references to items stay valid
// while others are appended.
template <class IdType, class T, class Storage = std::vector<T>>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& fill = T()) : items_(size, fill) {}

  typename Storage::reference operator[](IdType id) {
    LT_ASSERT(id.valid() && id.index() < items_.size());
    return items_[id.index()];
  }

  typename Storage::const_reference operator[](IdType id) const {
    LT_ASSERT(id.valid() && id.index() < items_.size());
    return items_[id.index()];
  }

  IdType push_back(T item) {
    items_.push_back(std::move(item));
    return IdType(items_.size() - 1);
  }

  void resize(std::size_t size, const T& fill = T()) { items_.resize(size, fill); }

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] bool contains(IdType id) const { return id.valid() && id.index() < items_.size(); }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  Storage items_;
};

}  // namespace lowtide::core

template <class Tag>
struct std::hash<lowtide::core::Id<Tag>> {
  std::size_t operator()(lowtide::core::Id<Tag> id) const noexcept {
    return id.valid() ? id.index() : ~std::size_t{0};
  }
};
