// NpzWriter: writes arrays into an .npz that NumPy reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/bytes.h"

#include "core/dtype.h"
#include "core/file.h"
#include "core/shape.h"

namespace lowtide::data {

// Arrays go to the file one by one, uncompressed; nothing of them is kept. The archive is complete
// once finish() returns, and not before.
class NpzWriter {
 public:
  // Creates or replaces the file.
  explicit NpzWriter(const std::filesystem::path& path);

  // `bytes` are the row-major elements. Names must differ: Error(kInvalidArgument).
  void add(std::string_view name,
           core::DType dtype,
           const core::Shape& shape,
           std::span<const std::byte> bytes);

  void finish();

 private:
  struct Member {
    std::string name;
    std::uint32_t checksum;
    std::uint64_t size;
    std::uint64_t header;
  };

  static std::vector<std::byte> central_record(const Member& member);
  [[nodiscard]] std::vector<std::byte> end_record(std::uint64_t directory) const;
  void append(std::span<const std::byte> bytes);

  core::File file_;
  Bytes end_;
  std::vector<Member> members_;
  std::set<std::string> names_;
};

}  // namespace lowtide::data
