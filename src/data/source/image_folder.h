// A folder of class folders of images: the class of an image is the name of its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/image/image_reader.h"
#include "data/image/view.h"

namespace lowtide::data {

// Fields: "image", uint8 of {channels, height, width}, and the label, int64, which counts the class
// folders by name. Images lie in class folders at any depth, in the order of their names; files
// that do not end in .jpg, .jpeg or .png are left out. Where the folder holds nothing but `train`
// and one of `val`, `valid` and `test` (and files), the split decides which of the two is opened.
//
// Opening reads every file's header, so that sizes, and with them the memory that decoding takes,
// are known. A file that is no image is an error, or left out; to leave out those whose pixels are
// damaged, opening decodes every image once. A file that cannot be read is an error in any case.
class ImageFolder final : public Dataset {
 public:
  static std::shared_ptr<const Dataset> open(const std::filesystem::path& folder,
                                             const OpenOptions& options);

  void read(std::size_t field,
            std::span<const std::int64_t> samples,
            std::span<std::byte> out) const override;
  void read_in_epoch(std::size_t field,
                     std::span<const std::int64_t> samples,
                     std::int64_t epoch,
                     std::span<std::byte> out) const override;
  [[nodiscard]] Bytes held() const override;
  [[nodiscard]] Bytes held_while_reading() const override { return decoding_; }

  // The images' paths, one after the other.
  class Names {
   public:
    void add(std::string_view path);
    [[nodiscard]] std::size_t size() const { return ends_.size(); }
    [[nodiscard]] std::string_view operator[](std::size_t i) const;
    [[nodiscard]] Bytes held() const;

   private:
    std::string text_;
    std::vector<std::uint64_t> ends_;
  };

  struct Content {
    Names paths;  // relative to the folder
    std::vector<std::int32_t> labels;
    std::vector<std::string> class_names;
    std::vector<std::string> notes;
    Bytes decoding;  // the most that one image takes
  };

 private:
  ImageFolder(std::filesystem::path folder, Content content, const OpenOptions& options);

  template <class Choose>
  void read_images(std::span<const std::int64_t> samples,
                   std::span<std::byte> out,
                   Choose&& choose) const;

  std::filesystem::path folder_;
  ImageOptions options_;
  std::uint64_t seed_;
  Names paths_;
  std::vector<std::int32_t> labels_;
  Bytes decoding_;
};

// Whether a folder holds folders and no IDX files.
bool is_image_folder(const std::filesystem::path& folder);

// Decodes the part of an image that is chosen once its size is known: planes of uint8. Its memory
// is what the reader says, a row and Resampler::memory().
void decode_image(const ByteSource& file,
                  const ImageOptions& options,
                  const std::function<View(ImageSize)>& choose,
                  std::span<std::uint8_t> out);

}  // namespace lowtide::data
