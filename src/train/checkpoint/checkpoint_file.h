// Checkpoint files: safetensors that hold a run's state, whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lowtide/bytes.h"

#include "core/file.h"
#include "core/tensor_type.h"
#include "onnx/bytes/output.h"
#include "train/checkpoint/safetensors.h"

namespace lowtide::train {

// What writing and reading hold at once, beside the header.
inline constexpr Bytes kCheckpointPiece{256 * 1024};

// Texts by name: the metadata of the file.
using CheckpointRecord = std::map<std::string, std::string>;
inline constexpr const char* kStepKey = "step";  // updates done

struct CheckpointTensor {
  std::string name;
  core::TensorType type;
  onnx::ByteSource bytes;
};

// A checkpoint that has been read through once: its checksum is right.
class CheckpointFile {
 public:
  // Throws Error: kIo where it cannot be read, kInvalidFile where it is cut, changed, foreign or of
  // a newer version. The message names the file, and an older checkpoint beside it that is good.
  static CheckpointFile open(const std::filesystem::path& path);

  [[nodiscard]] const std::string& name() const { return file_.name(); }
  [[nodiscard]] const CheckpointRecord& record() const { return header_.metadata; }
  // A number of the record; throws Error(kInvalidFile) where it is none.
  [[nodiscard]] std::int64_t number(const std::string& key) const;
  // Without the checksum.
  [[nodiscard]] std::span<const SafeTensor> tensors() const;
  // Bytes of one tensor, from `from` on.
  void read(const SafeTensor& tensor, std::int64_t from, std::span<std::byte> into) const;

 private:
  CheckpointFile(core::File file, SafetensorsHeader header);
  static CheckpointFile open_this(const std::filesystem::path& path);
  static std::string older_one(const std::filesystem::path& path);
  void verify() const;

  core::File file_;
  SafetensorsHeader header_;
};

// Where the checkpoint goes that is `age` saves older than the newest, which is 0.
std::filesystem::path aged_checkpoint(const std::filesystem::path& path, int age);

// Writes a checkpoint to `path`, streaming: it holds one piece. Up to keep - 1 older ones stay, as
// `path`.1, `path`.2, ...; what stands at `path` becomes the first of them where `rotate` is set,
// and is replaced where not. There is a checkpoint at `path` at every moment, the old one or the
// new one; a link is replaced. Throws Error(kIo) with the old ones as they were, and
// Error(kNumeric) for a number that is not finite.
struct KeepRule {
  int keep = 2;
  bool rotate = true;
};
void write_checkpoint(const std::filesystem::path& path,
                      CheckpointRecord record,
                      std::span<const CheckpointTensor> tensors,
                      const KeepRule& rule);

// Bytes that writing or reading one with that many tensors takes.
Bytes checkpoint_memory(std::size_t tensors);

}  // namespace lowtide::train
