// TensorBoard's event files: records of a length and an Event message, each with a checksum.
// https://github.com/tensorflow/tensorboard/tree/master/tensorboard/compat/proto: event.proto,
// summary.proto; the framing is TensorFlow's core/lib/io/record_writer.h.
#include "lowtide/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string_view>
#include <system_error>

#include "core/output/crc32c.h"
#include "core/text.h"
#include "onnx/bytes/wire.h"

namespace lowtide {
namespace {

namespace fs = std::filesystem;
using onnx::WireWriter;

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kDigits = 10;  // of the number that follows it

// Fields of Event, Summary, Summary.Value and SessionLog.
constexpr std::uint32_t kWallTime = 1;
constexpr std::uint32_t kStep = 2;
constexpr std::uint32_t kFileVersion = 3;
constexpr std::uint32_t kSummary = 5;
constexpr std::uint32_t kSessionLog = 7;
constexpr std::uint32_t kValue = 1;
constexpr std::uint32_t kTag = 1;
constexpr std::uint32_t kSimpleValue = 2;
constexpr std::uint32_t kStatus = 1;
constexpr std::int64_t kStart = 1;

double seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Stored checksums are masked: a checksum of bytes that hold checksums themselves would say little.
std::uint32_t masked_checksum(std::string_view bytes) {
  core::Crc32c crc;
  crc.add(std::as_bytes(std::span(bytes)));
  constexpr std::uint32_t kMask = 0xA282EAD8U;
  return (crc.value() >> 15U | crc.value() << 17U) + kMask;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> 8U * i & 0xFFU);
  return bytes;
}

std::string record(const std::string& event) {
  const std::string length = little_endian(std::uint64_t{event.size()});
  return length + little_endian(masked_checksum(length)) + event +
         little_endian(masked_checksum(event));
}

std::string summary_of(std::span<const Scalar> scalars) {
  WireWriter summary;
  for (const Scalar& scalar : scalars) {
    summary.message(
        kValue,
        WireWriter().text(kTag, scalar.name).real(kSimpleValue, static_cast<float>(scalar.value)));
  }
  return summary.bytes();
}

// The number that the name of an event file begins with; -1 for other files.
std::int64_t number_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kDigits) return -1;
  std::int64_t number = -1;
  const char* const digits = name.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(digits, digits + kDigits, number);
  return error == std::errc() && end == digits + kDigits ? number : -1;
}

// The second, or where a file of this second or a later one is there, the number behind that.
std::int64_t next_number(const fs::path& folder) {
  auto next = static_cast<std::int64_t>(seconds_now());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    next = std::max(next, number_of(entry.path().filename().string()) + 1);
  }
  return next;
}

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

Error cannot(const char* what, const fs::path& path, int error) {
  return core::fail(ErrorCode::kIo, "{}: cannot {}: {}", path.string(), what,
                    std::generic_category().message(error));
}

}  // namespace

EventFile::EventFile(const fs::path& folder, std::int64_t first_step) {
  try {
    fs::create_directories(folder);
    path_ = folder / core::text("{}{:0{}}.{}.{}", kPrefix, next_number(folder), kDigits,
                                host_name(), ::getpid());
  } catch (const fs::filesystem_error& error) {
    throw cannot("keep event files", folder, error.code().value());
  }
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw cannot("create", path_, errno);
  try {
    begin(first_step);
  } catch (const Error&) {
    ::close(descriptor_);
    ::unlink(path_.c_str());
    throw;
  }
}

void EventFile::begin(std::int64_t first_step) {
  append(WireWriter().real64(kWallTime, seconds_now()).text(kFileVersion, "brain.Event:2").bytes());
  append(WireWriter()
             .real64(kWallTime, seconds_now())
             .integer(kStep, first_step)
             .message(kSessionLog, WireWriter().integer(kStatus, kStart))
             .bytes());
}

EventFile::~EventFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void EventFile::write(std::int64_t step, std::span<const Scalar> scalars) {
  append(WireWriter()
             .real64(kWallTime, seconds_now())
             .integer(kStep, step)
             .text(kSummary, summary_of(scalars))
             .bytes());
}

void EventFile::append(const std::string& event) {
  const std::string bytes = record(event);
  for (std::string_view rest = bytes; !rest.empty();) {
    const ::ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : ENOSPC;
      // A viewer would wait for ever for the rest of a record.
      static_cast<void>(::ftruncate(descriptor_, size_));
      static_cast<void>(::lseek(descriptor_, size_, SEEK_SET));
      throw cannot("write", path_, error);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += static_cast<std::int64_t>(bytes.size());
}

}  // namespace lowtide
