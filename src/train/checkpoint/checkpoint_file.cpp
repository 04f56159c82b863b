#include "train/checkpoint/checkpoint_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include "core/output/crc32c.h"
#include "core/output/output_file.h"
#include "core/text.h"

namespace lowtide::train {
namespace {

using core::fail;
using core::text;

constexpr const char* kVersionKey = "lowtide.checkpoint";
constexpr std::int64_t kVersion = 1;
// The last tensor: of all bytes before it, the header's included.
constexpr const char* kChecksum = "lowtide.crc32c";
constexpr int kOldest = 9;  // how far back a good one is looked for

std::optional<std::int64_t> parse_number(const std::string& digits) {
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || last != end || digits.empty()) return std::nullopt;
  return value;
}

void check_finite(const std::string& name, core::DType dtype, std::span<const std::byte> bytes) {
  if (dtype != core::DType::kFloat32) return;
  const auto* const first = reinterpret_cast<const float*>(bytes.data());
  const auto* const last = first + bytes.size() / sizeof(float);
  const auto* const bad = std::find_if(first, last, [](float x) { return !std::isfinite(x); });
  if (bad == last) return;
  throw fail(ErrorCode::kNumeric, "no checkpoint is made of a spoilt state: '{}' holds {}", name,
             *bad);
}

// Calls f(offset, count) for a length piece by piece.
template <class F>
void in_pieces(Bytes length, F f) {
  for (Bytes at; at < length; at += kCheckpointPiece) {
    f(at.count(), static_cast<std::size_t>(std::min(kCheckpointPiece, length - at).count()));
  }
}

// Gives what stands at `path` a second name, so that both hold until one is replaced.
void keep_as(const std::filesystem::path& path, const std::filesystem::path& older) {
  const std::string between = text("{}.keep", older.string());
  ::unlink(between.c_str());
  if (::link(path.c_str(), between.c_str()) == 0) {
    if (std::rename(between.c_str(), older.c_str()) == 0) return;
    ::unlink(between.c_str());
  } else if (errno == ENOENT) {
    return;
  } else if (std::rename(path.c_str(), older.c_str()) == 0) {
    return;  // a file system without second names
  }
  throw fail(ErrorCode::kIo, "{}: cannot be kept as {}: {}", path.string(), older.string(),
             std::generic_category().message(errno));
}

void rotate(const std::filesystem::path& path, int keep) {
  for (int age = keep - 1; age > 1; --age) {
    const auto younger = aged_checkpoint(path, age - 1);
    if (std::rename(younger.c_str(), aged_checkpoint(path, age).c_str()) != 0 && errno != ENOENT) {
      throw fail(ErrorCode::kIo, "{}: cannot be renamed: {}", younger.string(),
                 std::generic_category().message(errno));
    }
  }
  if (keep > 1) keep_as(path, aged_checkpoint(path, 1));
}

}  // namespace

std::filesystem::path aged_checkpoint(const std::filesystem::path& path, int age) {
  return age == 0 ? path : std::filesystem::path(text("{}.{}", path.string(), age));
}

CheckpointFile::CheckpointFile(core::File file, SafetensorsHeader header)
    : file_(std::move(file)), header_(std::move(header)) {}

CheckpointFile CheckpointFile::open_this(const std::filesystem::path& path) {
  core::File file = core::File::open(path);
  SafetensorsHeader header = read_safetensors_header(file);
  CheckpointFile result(std::move(file), std::move(header));
  if (!result.record().contains(kVersionKey)) {
    throw fail(ErrorCode::kInvalidFile, "{}: holds tensors, but no checkpoint", path.string());
  }
  const std::int64_t version = result.number(kVersionKey);
  if (version != kVersion) {
    throw fail(ErrorCode::kInvalidFile, "{}: is a checkpoint of version {}; this program reads {}",
               path.string(), version, kVersion);
  }
  result.verify();
  return result;
}

// The youngest good one beside `path`, in words; empty where there is none.
std::string CheckpointFile::older_one(const std::filesystem::path& path) {
  for (int age = 1; age <= kOldest; ++age) {
    const std::filesystem::path older = aged_checkpoint(path, age);
    std::error_code ignored;
    if (!std::filesystem::exists(older, ignored)) continue;
    try {
      return text("; an older checkpoint is good: {}, of step {}", older.string(),
                  open_this(older).number(kStepKey));
    } catch (const Error&) {
      continue;  // not good
    }
  }
  return "";
}

CheckpointFile CheckpointFile::open(const std::filesystem::path& path) {
  try {
    return open_this(path);
  } catch (const Error& error) {
    throw fail(error.code(), "{}{}", error.what(), older_one(path));
  }
}

std::int64_t CheckpointFile::number(const std::string& key) const {
  const auto found = record().find(key);
  const auto value = found == record().end() ? std::nullopt : parse_number(found->second);
  if (!value || *value < 0) {
    throw fail(ErrorCode::kInvalidFile, "{}: its record has no number '{}'", name(), key);
  }
  return *value;
}

std::span<const SafeTensor> CheckpointFile::tensors() const {
  return std::span(header_.tensors).first(header_.tensors.size() - 1);
}

void CheckpointFile::read(const SafeTensor& tensor,
                          std::int64_t from,
                          std::span<std::byte> into) const {
  file_.read_at(tensor.offset + Bytes(from), into);
}

void CheckpointFile::verify() const {
  const core::TensorType type{core::DType::kUint32, core::Shape{1}};
  if (header_.tensors.empty() || header_.tensors.back().name != kChecksum ||
      header_.tensors.back().type != type) {
    throw fail(ErrorCode::kInvalidFile, "{}: has no checksum at its end", name());
  }
  const Bytes end = header_.tensors.back().offset;
  core::Crc32c crc;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kCheckpointPiece, end).count()));
  in_pieces(end, [&](std::int64_t at, std::size_t count) {
    const auto bytes = std::span(piece).first(count);
    file_.read_at(Bytes(at), bytes);
    crc.add(bytes);
  });
  std::uint32_t expected = 0;
  file_.read_at(end, std::as_writable_bytes(std::span(&expected, 1)));
  if (crc.value() != expected) {
    throw fail(ErrorCode::kInvalidFile, "{}: has been changed or damaged: its checksum is wrong",
               name());
  }
}

void write_checkpoint(const std::filesystem::path& path,
                      CheckpointRecord record,
                      std::span<const CheckpointTensor> tensors,
                      const KeepRule& rule) {
  record[kVersionKey] = std::to_string(kVersion);
  std::vector<SafeTensor> entries;
  for (const CheckpointTensor& tensor : tensors) {
    entries.push_back({tensor.name, tensor.type, Bytes()});
  }
  entries.push_back({kChecksum, {core::DType::kUint32, core::Shape{1}}, Bytes()});
  core::OutputFile file(path);
  core::Crc32c crc;
  const auto write = [&](std::span<const std::byte> bytes) {
    crc.add(bytes);
    file.write(bytes);
  };
  const std::string header = safetensors_header(record, entries);
  write(std::as_bytes(std::span(header)));
  std::vector<std::byte> piece(static_cast<std::size_t>(kCheckpointPiece.count()));
  for (const CheckpointTensor& tensor : tensors) {
    in_pieces(tensor.type.bytes(), [&](std::int64_t at, std::size_t count) {
      const auto bytes = std::span(piece).first(count);
      tensor.bytes(at, bytes);
      check_finite(tensor.name, tensor.type.dtype, bytes);
      write(bytes);
    });
  }
  const std::uint32_t checksum = crc.value();
  file.write(std::as_bytes(std::span(&checksum, 1)));
  file.sync();
  if (rule.rotate) rotate(path, rule.keep);
  file.commit();
}

Bytes checkpoint_memory(std::size_t tensors) {
  constexpr Bytes kPerTensor{2 * 1024};  // the header as text and as values, more than once
  return kCheckpointPiece + static_cast<std::int64_t>(tensors) * kPerTensor;
}

}  // namespace lowtide::train
