// OutputFile: a file that appears only when it is complete.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace lowtide::core {

// A file under way: written to a temporary beside `path`, which nothing else can hold, and renamed
// over it by `commit`. A link at `path` is replaced, never followed. Without `commit` no trace is
// left, unless the process is killed: see remove_stale_outputs(). Everything throws Error(kIo)
// naming `path`.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  void write(std::span<const std::byte> bytes);
  // Makes what was written last, as far as the disk keeps its word. `commit` does it too.
  void sync();
  // The file is in place, and stays there through a power cut, when this returns.
  void commit();

 private:
  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
  bool synced_ = false;  // nothing was written since
};

// The folder that a file's name stands in.
std::filesystem::path folder_of(const std::filesystem::path& path);

// Removes the temporaries that killed processes left beside `path`; one that is being written
// stays.
void remove_stale_outputs(const std::filesystem::path& path);

}  // namespace lowtide::core
