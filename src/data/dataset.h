// Dataset: samples read by position, never held whole in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lowtide/bytes.h"

#include "core/dtype.h"
#include "core/shape.h"

namespace lowtide::data {

// One array of a dataset; its first axis, which counts the samples, is not part of sample_shape.
struct Field {
  std::string name;
  core::DType dtype = core::DType::kFloat32;
  core::Shape sample_shape;

  [[nodiscard]] Bytes sample_bytes() const {
    return sample_shape.elements() * core::element_bytes(dtype);
  }
};

// A fixed number of samples with the same fields. Immutable, and reading may happen on several
// threads at once.
class Dataset {
 public:
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  [[nodiscard]] const std::string& name() const { return name_; }  // for messages
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] std::span<const Field> fields() const { return fields_; }

  [[nodiscard]] std::optional<std::size_t> find(std::string_view field) const;

  // The same, but throws Error(kInvalidArgument) listing the fields there are.
  [[nodiscard]] std::size_t index(std::string_view field) const;

  // Writes the samples, in the order given, one after the other in the field's own type. `out` has
  // room for exactly those. Does not allocate. Throws Error(kIo) or Error(kInvalidFile).
  virtual void read(std::size_t field,
                    std::span<const std::int64_t> samples,
                    std::span<std::byte> out) const = 0;

 protected:
  Dataset(std::string name, std::int64_t samples, std::vector<Field> fields)
      : name_(std::move(name)), samples_(samples), fields_(std::move(fields)) {}

 private:
  std::string name_;
  std::int64_t samples_;
  std::vector<Field> fields_;
};

enum class Split { kTrain, kTest };

struct OpenOptions {
  Split split = Split::kTrain;           // which files of an IDX folder; an .npz has no splits
  std::string label = "label";           // what an IDX folder's labels are called
  std::vector<std::string> fields;       // the arrays of an .npz to open; empty: all
  std::filesystem::path temp_directory;  // for unpacking; empty: /var/tmp, then /tmp
};

// Opens an .npz (its arrays by name) or a folder of IDX files of the MNIST family, gzipped or not:
// images as "image", {1, H, W} and uint8, and labels. Compressed contents are unpacked once into a
// temporary file. Throws Error naming the source, and what it holds when something is missing.
std::unique_ptr<Dataset> open(const std::filesystem::path& source, const OpenOptions& options = {});

}  // namespace lowtide::data
