#include "core/output/crc32c.h"

#include <array>
#include <cstring>

namespace lowtide::core {
namespace {

using Table = std::array<std::uint32_t, 256>;

// Table k takes a byte that k others follow.
constexpr std::array<Table, 8> make_tables() {
  constexpr std::uint32_t kReversedPolynomial = 0x82F63B78U;
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kReversedPolynomial : 0U);
    }
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

}  // namespace

void Crc32c::add(std::span<const std::byte> bytes) {
  std::uint32_t crc = state_;
  // Eight bytes at once, each through its own table: several times as fast as one by one.
  while (bytes.size() >= 8) {
    std::array<std::uint8_t, 8> next{};
    std::memcpy(next.data(), bytes.data(), next.size());
    for (std::size_t i = 0; i < 4; ++i) next[i] ^= static_cast<std::uint8_t>(crc >> (8 * i));
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][next[i]];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes) {
    crc = (crc >> 8U) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xFFU];
  }
  state_ = crc;
}

}  // namespace lowtide::core
