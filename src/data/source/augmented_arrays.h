// Arrays of images with augmentation: in epochs, a random view of each image takes its place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace lowtide::data {

// Augments every field but the label that is uint8 of {1 or 3, height, width}; the views have the
// images' own size, and are those that an image folder would choose for samples of these numbers.
class AugmentedArrays final : public Dataset {
 public:
  // Throws Error(kInvalidArgument) where no field can be augmented, and where labels are arrays
  // that would have to move with the pixels.
  AugmentedArrays(std::shared_ptr<const Dataset> arrays, const OpenOptions& options);

  void read(std::size_t field,
            std::span<const std::int64_t> samples,
            std::span<std::byte> out) const override;
  void read_in_epoch(std::size_t field,
                     std::span<const std::int64_t> samples,
                     std::int64_t epoch,
                     std::span<std::byte> out) const override;
  [[nodiscard]] Bytes held() const override { return arrays_->held(); }
  [[nodiscard]] Bytes held_while_reading() const override { return viewing_; }

 private:
  std::shared_ptr<const Dataset> arrays_;
  Augmentation augmentation_;
  std::uint64_t seed_;
  std::vector<bool> augmented_;  // by field
  Bytes viewing_;                // the most that making one view takes
};

}  // namespace lowtide::data
