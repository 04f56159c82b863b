// Integers of a fixed byte order, as file formats store them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lowtide::data {

// The integer T from the first sizeof(T) bytes, least significant byte first.
template <class T>
T load_little(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;)
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[i]);
  return static_cast<T>(value);
}

// The same, most significant byte first.
template <class T>
T load_big(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[i]);
  return static_cast<T>(value);
}

// Appends `value` to anything with push_back(std::byte), least significant byte first.
template <class T, class Out>
void append_little(Out& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xffU));
  }
}

}  // namespace lowtide::data
