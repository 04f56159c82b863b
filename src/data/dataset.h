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
#include "data/image/augmentation.h"

namespace lowtide::data {

// One array of a dataset; its first axis, which counts the samples, is not part of sample_shape.
struct Field {
  std::string name;
  core::DType dtype = core::DType::kFloat32;
  core::Shape sample_shape;
  bool columns = false;  // a sample's elements are unlike quantities: each is a channel of its own

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

  // The same with the random choices of an epoch, from a dataset that makes some. They depend on
  // its seed, the epoch and the sample, never on what is read beside it, before it or by whom.
  virtual void read_in_epoch(std::size_t field,
                             std::span<const std::int64_t> samples,
                             [[maybe_unused]] std::int64_t epoch,
                             std::span<std::byte> out) const {
    read(field, samples, out);
  }

  // Where an element of a sample stands in the source, for messages; `epoch` as for
  // read_in_epoch(). "sample 3, element 2" where nothing better can be said.
  [[nodiscard]] virtual std::string place(std::size_t field,
                                          std::int64_t sample,
                                          std::int64_t element,
                                          std::optional<std::int64_t> epoch = std::nullopt) const;

  // What it holds on the heap as long as it lives, and what one call of read() does while it runs.
  // Where the latter is not nothing, samples are made rather than copied: several threads pay.
  [[nodiscard]] virtual Bytes held() const { return {}; }
  [[nodiscard]] virtual Bytes held_while_reading() const { return {}; }

  // Of a file of tokens, how many it has: more than samples tell.
  [[nodiscard]] virtual std::optional<std::int64_t> tokens() const { return std::nullopt; }

  // What integer labels stand for, label 0 first; empty where the data does not say.
  [[nodiscard]] std::span<const std::string> class_names() const { return class_names_; }
  // Of a table the columns that a sample's features come from, in their order.
  [[nodiscard]] std::span<const std::string> columns() const { return columns_; }
  // What a user should know of how the data was taken.
  [[nodiscard]] std::span<const std::string> notes() const { return notes_; }

 protected:
  Dataset(std::string name, std::int64_t samples, std::vector<Field> fields)
      : name_(std::move(name)), samples_(samples), fields_(std::move(fields)) {}

  std::vector<std::string> class_names_;
  std::vector<std::string> columns_;
  std::vector<std::string> notes_;

 private:
  std::string name_;
  std::int64_t samples_;
  std::vector<Field> fields_;
};

enum class Split { kTrain, kTest };

// How images in files become samples of one size.
struct ImageOptions {
  int channels = 3;  // 1 or 3
  std::int64_t height = 0;
  std::int64_t width = 0;
  Augmentation augmentation = {};  // in epochs
  bool skip_bad = false;           // leave out files that cannot be decoded
};

// How a file of tokens becomes samples.
struct TokenOptions {
  core::DType dtype = core::DType::kUint16;  // or kUint32
  std::int64_t sequence = 0;                 // tokens of a sample
};

struct OpenOptions {
  Split split = Split::kTrain;      // which files of an IDX folder; an .npz has no splits
  std::string label = "label";      // what an IDX folder's labels are called
  std::vector<std::string> fields;  // the arrays of an .npz or .npy's to open; empty: all
  // Where arrays of all these names and of the label are there, no others are looked at, as if they
  // were the fields.
  std::vector<std::string> inputs = {};
  std::filesystem::path temp_directory;  // for unpacking; empty: /var/tmp, then /tmp
  std::uint64_t seed = 0;                // of random choices in epochs
  // Names that labels stand for, in order, where they are settled already: any other is refused.
  std::vector<std::string> class_names = {};
  // The columns of a table in their order, where they are settled already: a file has just these.
  std::vector<std::string> columns = {};
  ImageOptions image = {};
  TokenOptions tokens = {};
};

// Opens an .npz (its arrays by name), a folder of .npy files (each named after its array) or one of
// IDX files of the MNIST family, gzipped or not:
// images as "image", {1, H, W} and uint8, and labels. Compressed contents are unpacked once into a
// temporary file. Or a folder of class folders of images (source/image_folder.h), a .csv
// (source/csv.h), or a .bin of tokens (source/token_file.h). Augmentation, where it is asked for,
// applies to images, those in arrays included (source/augmented_arrays.h). Throws Error naming the
// source, and what it holds when something is missing.
std::shared_ptr<const Dataset> open(const std::filesystem::path& source,
                                    const OpenOptions& options = {});

// The same, with a share of the samples held back, as split() does; of tokens the last ones.
struct Parts {
  std::shared_ptr<const Dataset> training;
  std::shared_ptr<const Dataset> validation;
};

Parts open_parts(const std::filesystem::path& source,
                 const OpenOptions& options,
                 double share,
                 std::uint64_t seed);

}  // namespace lowtide::data
