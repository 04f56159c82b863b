#include "data/image/exif.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "data/format/endian.h"

namespace lowtide::data {
namespace {

// By the value of the tag: 1 stands upright, 2 is mirrored, 3 is upside down, 6 has its top at the
// right, 8 at the left, and 4, 5 and 7 are mirrored besides.
constexpr std::array<Turn, 9> kTurns = {
    Turn{},
    Turn{},
    Turn{.mirror_x = true},
    Turn{.mirror_x = true, .mirror_y = true},
    Turn{.mirror_y = true},
    Turn{.transposed = true},
    Turn{.transposed = true, .mirror_y = true},
    Turn{.transposed = true, .mirror_x = true, .mirror_y = true},
    Turn{.transposed = true, .mirror_x = true},
};

// Numbers of a TIFF file in its own byte order; 0 beyond its end.
class Tiff {
 public:
  explicit Tiff(std::span<const std::byte> bytes) : bytes_(bytes) {
    constexpr std::byte kLittle{'I'};
    little_ = !bytes.empty() && bytes[0] == kLittle;
  }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  template <class T>
  [[nodiscard]] T at(std::size_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return 0;
    const auto part = bytes_.subspan(offset);
    return little_ ? load_little<T>(part) : load_big<T>(part);
  }

 private:
  std::span<const std::byte> bytes_;
  bool little_ = false;
};

}  // namespace

Turn turn_of_exif(std::span<const std::byte> content) {
  constexpr std::uint16_t kMagic = 42;
  constexpr std::uint16_t kOrientation = 0x0112;
  constexpr std::uint16_t kShort = 3;
  constexpr std::size_t kEntry = 12;
  const Tiff tiff(content);
  if (tiff.at<std::uint16_t>(2) != kMagic) return {};
  const std::size_t directory = tiff.at<std::uint32_t>(4);
  const std::size_t entries = tiff.at<std::uint16_t>(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntry;
    if (entry > tiff.size()) break;
    if (tiff.at<std::uint16_t>(entry) != kOrientation) continue;
    const std::size_t value = tiff.at<std::uint16_t>(entry + 8);
    const bool sound = tiff.at<std::uint16_t>(entry + 2) == kShort && value < kTurns.size();
    return sound ? kTurns[value] : Turn{};
  }
  return {};
}

Turn turn_of_jpeg(const ByteSource& file) {
  constexpr int kSegments = 16;  // it belongs before everything but JFIF's own
  constexpr std::byte kMarker{0xFF};
  constexpr std::byte kApp1{0xE1};
  constexpr std::byte kScan{0xDA};
  constexpr std::array kName = {std::byte{'E'}, std::byte{'x'}, std::byte{'i'},
                                std::byte{'f'}, std::byte{0},   std::byte{0}};
  std::int64_t at = 2;
  for (int i = 0; i < kSegments; ++i) {
    std::array<std::byte, 4> head = {};
    if (file.size() < Bytes(at) + Bytes(head.size())) return {};
    file.read_at(Bytes(at), head);
    const std::int64_t length = load_big<std::uint16_t>(std::span(head).subspan(2));
    if (head[0] != kMarker || head[1] == kScan || length < 2) return {};
    at += 2 + length;
    if (head[1] != kApp1 || file.size() < Bytes(at)) continue;
    std::vector<std::byte> content(static_cast<std::size_t>(length - 2));
    file.read_at(Bytes(at - length + 2), content);
    if (content.size() < kName.size()) continue;
    if (!std::equal(kName.begin(), kName.end(), content.begin())) continue;
    return turn_of_exif(std::span(content).subspan(kName.size()));
  }
  return {};
}

}  // namespace lowtide::data
