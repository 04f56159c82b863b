#include "cli/train/files.h"

#include <cstdio>
#include <system_error>

#include "lowtide/error.h"

namespace lowtide::cli {
namespace {

namespace fs = std::filesystem;

// However they are written, and through whatever links.
bool same(const fs::path& a, const fs::path& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code error;
  if (fs::equivalent(a, b, error) && !error) return fs::is_regular_file(a, error);
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

void check_pair(const File& one, const File& other) {
  if (!same(one.path, other.path)) return;
  throw Error(ErrorCode::kInvalidArgument, one.path.string() + ": is given as " + one.name +
                                               " and as " + other.name +
                                               ": one would replace the other");
}

}  // namespace

void check_distinct(std::span<const File> inputs, std::span<const File> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (i > 0 || k > 0) check_pair(outputs[i], inputs[k]);
    }
    for (std::size_t k = i + 1; k < outputs.size(); ++k) check_pair(outputs[i], outputs[k]);
  }
}

void check_writable(const fs::path& out) {
  if (out.empty()) return;
  std::error_code error;
  const fs::path folder = out.parent_path().empty() ? fs::path(".") : out.parent_path();
  if (!fs::is_directory(folder, error)) {
    throw Error(ErrorCode::kIo, out.string() + ": there is no folder " + folder.string());
  }
  if (fs::is_directory(out, error)) {
    throw Error(ErrorCode::kIo, out.string() + ": is a folder");
  }
  const fs::path probe = out.string() + ".probe";
  std::FILE* const file = std::fopen(probe.c_str(), "wx");
  if (file == nullptr && !fs::exists(probe, error)) {
    throw Error(ErrorCode::kIo, out.string() + ": cannot be written");
  }
  if (file != nullptr) {
    std::fclose(file);
    fs::remove(probe, error);
  }
}

}  // namespace lowtide::cli
