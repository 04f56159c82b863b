#include "data/dataset.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "core/text.h"
#include "data/format/idx.h"
#include "data/format/npy.h"
#include "data/format/stored_array.h"
#include "data/format/zip.h"
#include "data/source/augmented_arrays.h"
#include "data/source/csv.h"
#include "data/source/image_folder.h"
#include "data/source/token_file.h"
#include "data/split.h"

namespace lowtide::data {
namespace {

namespace fs = std::filesystem;

struct NamedArray {
  std::string name;
  StoredArray array;
};

// Arrays in files, side by side.
class ArrayDataset final : public Dataset {
 public:
  ArrayDataset(std::string name,
               std::int64_t samples,
               std::vector<Field> fields,
               std::vector<NamedArray> arrays)
      : Dataset(std::move(name), samples, std::move(fields)), arrays_(std::move(arrays)) {}

  void read(std::size_t field,
            std::span<const std::int64_t> samples,
            std::span<std::byte> out) const override {
    const Field& what = fields()[field];
    const auto width = static_cast<std::size_t>(what.sample_bytes().count());
    LT_CHECK(out.size() == samples.size() * width, "room for exactly the samples");
    // Neighbours in the file that are neighbours in the batch are read at once.
    for (std::size_t at = 0; at < samples.size();) {
      std::size_t run = 1;
      while (at + run < samples.size() && samples[at + run] == samples[at + run - 1] + 1) ++run;
      LT_CHECK(samples[at] >= 0 && samples[at + run - 1] < this->samples(),
               "samples lie in the dataset");
      arrays_[field].array.read(samples[at] * what.sample_shape.elements(),
                                out.subspan(at * width, run * width));
      at += run;
    }
  }

 private:
  std::vector<NamedArray> arrays_;
};

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : core::text("{}", fmt::join(names, ", "));
}

std::vector<std::int64_t> without_first(const std::vector<std::int64_t>& dims) {
  return {dims.begin() + 1, dims.end()};
}

// Arrays become a dataset when they all count the same samples.
std::unique_ptr<Dataset> assemble(const std::string& name, std::vector<NamedArray> arrays) {
  std::vector<Field> fields;
  std::vector<std::string> counts;
  bool agree = true;
  for (const NamedArray& entry : arrays) {
    const core::Shape& shape = entry.array.shape;
    if (shape.rank() == 0) {
      throw core::fail(ErrorCode::kInvalidFile, "{}: array '{}' is a scalar, not a row of samples",
                       name, entry.name);
    }
    agree = agree && shape[0] == arrays.front().array.shape[0];
    counts.push_back(core::text("'{}' {}", entry.name, shape[0]));
    fields.push_back({entry.name, entry.array.dtype, core::Shape(without_first(shape.dims()))});
  }
  if (!agree) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: arrays differ in their number of samples: {}",
                     name, listed(counts));
  }
  const std::int64_t samples = arrays.empty() ? 0 : arrays.front().array.shape[0];
  if (samples == 0) throw core::fail(ErrorCode::kInvalidFile, "{}: holds no samples", name);
  return std::make_unique<ArrayDataset>(name, samples, std::move(fields), std::move(arrays));
}

// Which of the arrays that are there the options ask for, in their order.
std::vector<std::size_t> wanted(const std::string& source,
                                const std::vector<std::string>& present,
                                const OpenOptions& options) {
  const auto there = [&](const std::string& name) {
    return std::ranges::find(present, name) != present.end();
  };
  std::vector<std::string> names = options.fields.empty() ? present : options.fields;
  if (options.fields.empty() && !options.inputs.empty() && there(options.label) &&
      std::ranges::all_of(options.inputs, there)) {
    names = options.inputs;
    if (std::ranges::find(names, options.label) == names.end()) names.push_back(options.label);
  }
  std::vector<std::size_t> result;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(present, name);
    if (found == present.end()) {
      throw core::fail(ErrorCode::kInvalidArgument, "{}: no array '{}'; it holds {}", source, name,
                       listed(present));
    }
    result.push_back(static_cast<std::size_t>(found - present.begin()));
  }
  return result;
}

std::unique_ptr<Dataset> open_npz(const fs::path& source, const OpenOptions& options) {
  const ZipArchive archive(source);
  std::vector<std::string> present;
  std::vector<const ZipMember*> members;
  for (const ZipMember& member : archive.members()) {
    constexpr std::string_view kSuffix = ".npy";
    if (!member.name.ends_with(kSuffix)) continue;
    std::string name = member.name.substr(0, member.name.size() - kSuffix.size());
    if (std::ranges::find(present, name) != present.end()) {
      throw core::fail(ErrorCode::kInvalidFile, "{}: two arrays named '{}'", archive.name(), name);
    }
    present.push_back(std::move(name));
    members.push_back(&member);
  }
  std::vector<NamedArray> arrays;
  for (const std::size_t i : wanted(archive.name(), present, options)) {
    const fs::path& temp = options.temp_directory;
    arrays.push_back({present[i], open_npy(archive.open(*members[i], temp), temp)});
  }
  return assemble(archive.name(), std::move(arrays));
}

std::vector<std::string> npy_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".npy") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::unique_ptr<Dataset> open_npy_folder(const fs::path& folder,
                                         const std::vector<std::string>& present,
                                         const OpenOptions& options) {
  std::vector<NamedArray> arrays;
  for (const std::size_t i : wanted(folder.string(), present, options)) {
    arrays.push_back({present[i], open_npy(ByteSource::open(folder / (present[i] + ".npy")),
                                           options.temp_directory)});
  }
  return assemble(folder.string(), std::move(arrays));
}

// The file of an IDX folder with this stem, plain before gzipped.
ByteSource open_idx_file(const fs::path& folder,
                         std::string_view stem,
                         int rank,
                         const OpenOptions& options) {
  for (const char separator : {'-', '.'}) {
    const fs::path plain = folder / core::text("{}{}idx{}-ubyte", stem, separator, rank);
    if (fs::exists(plain)) return ByteSource::open(plain);
    const fs::path zipped = plain.string() + ".gz";
    if (fs::exists(zipped)) {
      return unpack(ByteSource::open(zipped),
                    {.packing = Packing::kGzip, .directory = options.temp_directory});
    }
  }
  std::vector<std::string> present;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    present.push_back(entry.path().filename().string());
  }
  std::ranges::sort(present);
  throw core::fail(ErrorCode::kInvalidArgument,
                   "{}: no {}-idx{}-ubyte or {}-idx{}-ubyte.gz; it holds {}", folder.string(), stem,
                   rank, stem, rank, listed(present));
}

std::unique_ptr<Dataset> open_idx_folder(const fs::path& folder, const OpenOptions& options) {
  const std::string_view prefix = options.split == Split::kTrain ? "train" : "t10k";
  StoredArray images = open_idx(open_idx_file(folder, core::text("{}-images", prefix), 3, options));
  StoredArray labels = open_idx(open_idx_file(folder, core::text("{}-labels", prefix), 1, options));
  if (images.shape.rank() != 3) {
    throw core::fail(ErrorCode::kInvalidFile, "{}: images of shape {} instead of [N, H, W]",
                     images.elements.name(), images.shape.str());
  }
  images.shape = core::Shape({images.shape[0], 1, images.shape[1], images.shape[2]});
  std::vector<NamedArray> arrays;
  arrays.push_back({"image", std::move(images)});
  arrays.push_back({options.label, std::move(labels)});
  return assemble(folder.string(), std::move(arrays));
}

std::shared_ptr<const Dataset> augmented(std::shared_ptr<const Dataset> dataset,
                                         const OpenOptions& options) {
  if (!options.image.augmentation.any()) return dataset;
  return std::make_shared<AugmentedArrays>(std::move(dataset), options);
}

}  // namespace

std::optional<std::size_t> Dataset::find(std::string_view field) const {
  const auto found = std::ranges::find(fields_, field, &Field::name);
  if (found == fields_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - fields_.begin());
}

std::size_t Dataset::index(std::string_view field) const {
  if (const auto found = find(field)) return *found;
  std::vector<std::string> names;
  for (const Field& present : fields_) names.push_back(present.name);
  throw core::fail(ErrorCode::kInvalidArgument, "{}: no array '{}'; it holds {}", name_, field,
                   listed(names));
}

std::string Dataset::place(std::size_t field,
                           std::int64_t sample,
                           std::int64_t element,
                           std::optional<std::int64_t> /*epoch*/) const {
  if (fields_[field].sample_shape.elements() == 1) return core::text("sample {}", sample);
  return core::text("sample {}, element {}", sample, element);
}

std::shared_ptr<const Dataset> open(const fs::path& source, const OpenOptions& options) {
  std::error_code ignored;
  const bool folder = fs::is_directory(source, ignored);
  if (folder && is_image_folder(source)) return ImageFolder::open(source, options);
  std::shared_ptr<const Dataset> dataset;
  if (folder) {
    const std::vector<std::string> arrays = npy_names(source);
    dataset = arrays.empty() ? open_idx_folder(source, options)
                             : open_npy_folder(source, arrays, options);
  } else if (source.extension() == ".npy") {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "{}: one array is no data set; give the folder that holds it and the labels",
                     source.string());
  } else if (source.extension() == ".csv") {
    dataset = open_csv(source, options);
  } else if (source.extension() == ".bin") {
    dataset = TokenFile::open(source, options);
  } else {
    dataset = open_npz(source, options);
  }
  return augmented(std::move(dataset), options);
}

Parts open_parts(const fs::path& source,
                 const OpenOptions& options,
                 double share,
                 std::uint64_t seed) {
  if (source.extension() == ".bin") {
    Parts parts = TokenFile::open_parts(source, options, share);
    parts.training = augmented(std::move(parts.training), options);
    return parts;
  }
  return split(open(source, options), share, seed);
}

}  // namespace lowtide::data
