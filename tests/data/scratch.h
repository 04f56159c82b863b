// What tests of files need: a folder of their own, whole files as bytes, expected errors.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lowtide/error.h"

namespace lowtide::data {

inline const std::filesystem::path kFiles = LOWTIDE_TEST_FILES;

using FileBytes = std::vector<std::uint8_t>;

// A folder that goes with its files.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "lowtide-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
  }

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(std::string_view name, const FileBytes& bytes) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(file.good());
    return path;
  }

 private:
  std::filesystem::path path_;
};

inline FileBytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return FileBytes(std::istreambuf_iterator<char>(file), {});
}

inline FileBytes gzipped(const FileBytes& bytes) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "x.gz").string();
  const gzFile file = ::gzopen(path.c_str(), "wb");
  if (!bytes.empty()) ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  EXPECT_EQ(::gzclose(file), Z_OK);
  return read_file(path);
}

// Calls f(bit) on the file of these bytes with some of its bits flipped, one at a time; every byte
// has its turn.
template <class F>
void for_each_flip(const std::filesystem::path& path, const FileBytes& whole, F&& f) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, unsigned value) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(value));
    file.flush();
    ASSERT_TRUE(file.good());
  };
  constexpr std::size_t kStride = 3;  // shares no factor with 8, so every place in a byte is hit
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += kStride) {
    put(bit / 8, whole[bit / 8] ^ 1U << bit % 8);
    f(bit);
    put(bit / 8, whole[bit / 8]);
  }
}

// Calls f() on the file cut to every length shorter than its own.
template <class F>
void for_each_truncation(const std::filesystem::path& path, F&& f) {
  for (std::uintmax_t length = std::filesystem::file_size(path); length-- > 0;) {
    std::filesystem::resize_file(path, length);
    f();
  }
}

// Runs f, which must throw an Error of this code whose message has all these parts.
template <class F>
void expect_error(ErrorCode code, const std::vector<std::string>& parts, F&& f) {
  try {
    f();
    ADD_FAILURE() << "no error; expected one that names " << testing::PrintToString(parts);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "'" << part << "' is not in: " << error.what();
    }
  }
}

}  // namespace lowtide::data
