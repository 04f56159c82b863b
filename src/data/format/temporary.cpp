#include "data/format/temporary.h"

#include <memory>
#include <utility>

#include "lowtide/error.h"

namespace lowtide::data {
namespace {

constexpr std::size_t kBuffer = 64 * 1024;

}  // namespace

core::File temporary_file(const std::filesystem::path& directory) {
  if (!directory.empty()) return core::File::temporary(directory);
  try {
    return core::File::temporary("/var/tmp");
  } catch (const Error&) {
    return core::File::temporary("/tmp");
  }
}

TemporaryBytes::TemporaryBytes(const std::filesystem::path& directory)
    : file_(temporary_file(directory)) {
  buffer_.reserve(kBuffer);
}

void TemporaryBytes::append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() > kBuffer) {
    file_.write_at(end_, bytes);
    end_ += Bytes(static_cast<std::int64_t>(bytes.size()));
    return;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void TemporaryBytes::flush() {
  file_.write_at(end_, buffer_);
  end_ += Bytes(static_cast<std::int64_t>(buffer_.size()));
  buffer_.clear();
}

ByteSource TemporaryBytes::finish(std::string name) && {
  flush();
  return {std::make_shared<const core::File>(std::move(file_)), Bytes(0), end_, std::move(name)};
}

}  // namespace lowtide::data
