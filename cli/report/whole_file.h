// Writing files that are there whole or not at all.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <system_error>

#include "lowtide/error.h"

namespace lowtide::cli {

// Calls write(stream) on another name in the same folder and renames the result. Throws Error(kIo):
// "plan.json: cannot write the plan: No space left on device".
template <class F>
void write_whole(const std::filesystem::path& path, const std::string& what, F&& write) {
  const std::filesystem::path part = path.string() + ".part";
  std::error_code error;
  std::filesystem::remove(part, error);  // what a killed run left; a link is not followed
  std::ofstream file(part, std::ios::binary);
  if (file) write(static_cast<std::ostream&>(file));
  file.close();
  if (!file) error.assign(errno, std::generic_category());
  if (file) std::filesystem::rename(part, path, error);
  if (file && !error) return;
  const std::string reason = error.message();
  std::filesystem::remove(part, error);
  throw Error(ErrorCode::kIo, path.string() + ": cannot write the " + what + ": " + reason);
}

}  // namespace lowtide::cli
