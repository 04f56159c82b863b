#include "data/source/image_folder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/text.h"

namespace lowtide::data {
namespace {

namespace fs = std::filesystem;

Error unlisted(const fs::path& folder, const fs::filesystem_error& error) {
  return core::fail(ErrorCode::kIo, "{}: cannot list all of it: {}", folder.string(),
                    error.code().message());
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      entries.push_back(entry.path());
    }
  } catch (const fs::filesystem_error& error) {
    throw unlisted(folder, error);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

std::vector<fs::path> sorted_folders(const fs::path& folder) {
  std::vector<fs::path> folders = sorted_entries(folder);
  std::erase_if(folders,
                [](const fs::path& path) { return hidden(path) || !fs::is_directory(path); });
  return folders;
}

bool has_image_name(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return suffix == ".jpg" || suffix == ".jpeg" || suffix == ".png";
}

// `train` and what it is tested with, or the folder itself.
fs::path part_of(const fs::path& folder, Split split) {
  const std::vector<fs::path> folders = sorted_folders(folder);
  if (folders.size() != 2) return folder;
  std::optional<fs::path> test;
  bool train = false;
  for (const fs::path& path : folders) {
    const std::string name = path.filename().string();
    train = train || name == "train";
    if (name == "val" || name == "valid" || name == "test") test = path;
  }
  if (!train || !test) return folder;
  return split == Split::kTrain ? folder / "train" : *test;
}

// Every image file below a class folder, links that lead nowhere included: opening them says so.
// Files of other kinds are counted.
std::vector<fs::path> images_below(const fs::path& folder, std::int64_t& others) {
  std::vector<fs::path> files;
  try {
    fs::recursive_directory_iterator entry(folder);
    for (; entry != fs::recursive_directory_iterator(); ++entry) {
      if (hidden(entry->path())) {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file() || entry->status().type() == fs::file_type::not_found) {
        if (has_image_name(entry->path())) {
          files.push_back(entry->path());
        } else {
          ++others;
        }
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw unlisted(folder, error);
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Decodes an image whole and looks at nothing but errors.
void check_pixels(const ByteSource& file) {
  const std::unique_ptr<ImageReader> reader = open_image(file);
  reader->start(3, 1);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(reader->size().width) * 3);
  for (std::int64_t y = 0; y < reader->size().height; ++y) reader->read_row(row);
  reader->finish();
}

// Takes a folder's images up one by one.
class Collector {
 public:
  Collector(fs::path folder, const OpenOptions& options)
      : folder_(std::move(folder)), options_(options) {}

  ImageFolder::Content collect() {
    settle_classes();
    for (std::size_t label = 0; label < content_.class_names.size(); ++label) {
      const fs::path below = folder_ / content_.class_names[label];
      if (!fs::is_directory(below)) continue;  // a class that this part has no images of
      for (const fs::path& path : images_below(below, others_)) {
        take(path, static_cast<std::int32_t>(label));
      }
    }
    if (content_.labels.empty()) {
      throw core::fail(ErrorCode::kInvalidFile, "{}: no class folder holds a .jpg, .jpeg or .png",
                       folder_.string());
    }
    describe();
    return std::move(content_);
  }

 private:
  void settle_classes() {
    for (const fs::path& path : sorted_folders(folder_)) {
      content_.class_names.push_back(path.filename().string());
    }
    if (options_.class_names.empty()) return;
    for (const std::string& name : content_.class_names) {
      if (std::ranges::find(options_.class_names, name) != options_.class_names.end()) continue;
      throw core::fail(ErrorCode::kInvalidArgument,
                       "{}: class folder '{}' is none of the classes trained on: {}",
                       folder_.string(), name, fmt::join(options_.class_names, ", "));
    }
    content_.class_names = options_.class_names;
  }

  void take(const fs::path& path, std::int32_t label) {
    try {
      const ByteSource file = ByteSource::open(path);
      const std::unique_ptr<ImageReader> reader = open_image(file);
      const ImageSize size = reader->size();
      const ImageOptions& image = options_.image;
      const Bytes needed = reader->memory() + Bytes(3 * size.width) +
                           Resampler::memory(std::max(size.width, size.height), image.width,
                                             image.height, image.channels);
      if (options_.image.skip_bad) check_pixels(file);
      if (needed > content_.decoding) {
        content_.decoding = needed;
        largest_ = path;
      }
    } catch (const Error& error) {
      // Of a file that the disk does not give, nobody knows whether it is bad.
      if (!options_.image.skip_bad || error.code() == ErrorCode::kIo) throw;
      if (skipped_++ < kNamed) content_.notes.push_back(core::text("left out: {}", error.what()));
      return;
    }
    content_.paths.add(path.lexically_relative(folder_).string());
    content_.labels.push_back(label);
  }

  void describe() {
    std::vector<std::string>& notes = content_.notes;
    if (skipped_ > kNamed) notes.push_back(core::text("left out: {} more", skipped_ - kNamed));
    if (others_ > 0) {
      notes.push_back(core::text("{}: {} files are not .jpg, .jpeg or .png and are left out",
                                 folder_.string(), others_));
    }
    constexpr Bytes kMuch = Bytes(16 * 1024 * 1024);
    if (content_.decoding > kMuch) {
      notes.push_back(core::text("decoding {} takes {} a thread: it can only be decoded whole",
                                 largest_.string(), content_.decoding.str()));
    }
  }

  static constexpr std::int64_t kNamed = 10;

  fs::path folder_;
  const OpenOptions& options_;
  ImageFolder::Content content_;
  fs::path largest_;
  std::int64_t others_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace

void ImageFolder::Names::add(std::string_view path) {
  text_ += path;
  ends_.push_back(text_.size());
}

std::string_view ImageFolder::Names::operator[](std::size_t i) const {
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

Bytes ImageFolder::Names::held() const {
  return Bytes(
      static_cast<std::int64_t>(text_.capacity() + ends_.capacity() * sizeof(std::uint64_t)));
}

std::shared_ptr<const Dataset> ImageFolder::open(const fs::path& folder,
                                                 const OpenOptions& options) {
  if (options.image.width < 1 || options.image.height < 1) {
    throw core::fail(ErrorCode::kInvalidArgument,
                     "{}: the size that its images are to have is not known: the model has no "
                     "input of [batch, channels, height, width] that says; give --image-size",
                     folder.string());
  }
  const fs::path part = part_of(folder, options.split);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  return std::shared_ptr<const Dataset>(
      new ImageFolder(part, Collector(part, options).collect(), options));
}

ImageFolder::ImageFolder(fs::path folder, Content content, const OpenOptions& options)
    : Dataset(folder.string(),
              static_cast<std::int64_t>(content.labels.size()),
              {{"image", core::DType::kUint8,
                core::Shape{options.image.channels, options.image.height, options.image.width}},
               {options.label, core::DType::kInt64, core::Shape()}}),
      folder_(std::move(folder)),
      options_(options.image),
      seed_(options.seed),
      paths_(std::move(content.paths)),
      labels_(std::move(content.labels)),
      decoding_(content.decoding) {
  class_names_ = std::move(content.class_names);
  notes_ = std::move(content.notes);
}

Bytes ImageFolder::held() const {
  return paths_.held() +
         Bytes(static_cast<std::int64_t>(labels_.capacity() * sizeof(std::int32_t)));
}

template <class Choose>
void ImageFolder::read_images(std::span<const std::int64_t> samples,
                              std::span<std::byte> out,
                              Choose&& choose) const {
  const auto width = static_cast<std::size_t>(fields()[0].sample_bytes().count());
  LT_CHECK(out.size() == samples.size() * width, "room for exactly the samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const fs::path path = folder_ / paths_[static_cast<std::size_t>(samples[i])];
    const std::span<std::byte> place = out.subspan(i * width, width);
    decode_image(ByteSource::open(path), options_,
                 [&](ImageSize size) { return choose(size, samples[i]); },
                 {reinterpret_cast<std::uint8_t*>(place.data()), place.size()});
  }
}

void ImageFolder::read(std::size_t field,
                       std::span<const std::int64_t> samples,
                       std::span<std::byte> out) const {
  const ImageSize output = {.width = options_.width, .height = options_.height};
  if (field == 0) {
    read_images(samples, out,
                [&](ImageSize size, std::int64_t) { return centre_view(size, output); });
    return;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t label = labels_[static_cast<std::size_t>(samples[i])];
    std::memcpy(out.data() + i * sizeof(label), &label, sizeof(label));
  }
}

void ImageFolder::read_in_epoch(std::size_t field,
                                std::span<const std::int64_t> samples,
                                std::int64_t epoch,
                                std::span<std::byte> out) const {
  if (field != 0 || !options_.augmentation.any()) {
    read(field, samples, out);
    return;
  }
  const ImageSize output = {.width = options_.width, .height = options_.height};
  read_images(samples, out, [&](ImageSize size, std::int64_t sample) {
    return random_view(size, output, options_.augmentation, seed_, epoch, sample);
  });
}

bool is_image_folder(const fs::path& folder) {
  bool folders = false;
  for (const fs::path& path : sorted_entries(folder)) {
    if (path.filename().string().find("-ubyte") != std::string::npos) return false;
    folders = folders || (!hidden(path) && fs::is_directory(path));
  }
  return folders;
}

void decode_image(const ByteSource& file,
                  const ImageOptions& options,
                  const std::function<View(ImageSize)>& choose,
                  std::span<std::uint8_t> out) {
  const std::unique_ptr<ImageReader> reader = open_image(file);
  const ImageSize size = reader->size();
  const Turn& upright = reader->upright();
  const ImageSize output = {.width = options.width, .height = options.height};
  const View whole =
      choose(upright.transposed ? size.transposed() : size).stored(upright, size, output);
  const int by = reader->start(options.channels, whole.reduction());
  const View view = whole.reduced(by);
  const ImageSize made = upright.transposed ? output.transposed() : output;
  Resampler resampler(view.x, made.width, view.y, made.height, options.channels);
  const std::int64_t width = (size.width + by - 1) / by;
  std::vector<std::uint8_t> row(static_cast<std::size_t>(width * options.channels));
  if (resampler.first_row() > 0) reader->skip_rows(resampler.first_row());
  for (std::int64_t y = resampler.first_row(); y < resampler.end_row(); ++y) {
    reader->read_row(row);
    resampler.add_row(y, row);
  }
  resampler.write(view.turn, out);
}

}  // namespace lowtide::data
