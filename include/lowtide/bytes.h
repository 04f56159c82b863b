// Bytes: a count of bytes that does not mix with other integers.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace lowtide {

// A signed number of bytes. Arithmetic is plain int64; callers keep counts below 2^62.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  [[nodiscard]] constexpr double mebibytes() const {
    return static_cast<double>(count_) / (1024.0 * 1024.0);
  }

  constexpr auto operator<=>(const Bytes&) const = default;

  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }

  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }

  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }

  friend constexpr Bytes operator*(std::int64_t n, Bytes a) { return Bytes(n * a.count_); }

  // This count rounded up to a multiple of `unit` (unit > 0).
  [[nodiscard]] constexpr Bytes rounded_up(Bytes unit) const {
    return Bytes((count_ + unit.count_ - 1) / unit.count_ * unit.count_);
  }

  // "1.5 GiB", "200 MiB", "17 B": at most one decimal, binary units.
  [[nodiscard]] std::string str() const;

  // Reads "1048576", "300MB", "512MiB", "1.5GiB", "2k": decimal suffixes (kB, MB, GB) count in
  // thousands, binary ones (KiB, MiB, GiB) in 1024; a bare K, M or G is binary.
  // Throws Error(kInvalidArgument) on anything else, negative values and overflow.
  static Bytes parse(std::string_view text);

 private:
  std::int64_t count_ = 0;
};

inline namespace literals {

consteval Bytes operator""_B(unsigned long long n) { return Bytes(static_cast<std::int64_t>(n)); }

consteval Bytes operator""_KiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) * 1024);
}

consteval Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) * 1024 * 1024);
}

consteval Bytes operator""_GiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) * 1024 * 1024 * 1024);
}

}  // namespace literals

}  // namespace lowtide
