// View: which part of an image a sample is, and how that is brought to the model's size.
#pragma once

#include <cstdint>

#include "lowtide/bytes.h"

#include "data/image/augmentation.h"
#include "data/image/image_reader.h"
#include "data/image/resampler.h"

namespace lowtide::data {

struct View {
  AxisMap x;
  AxisMap y;
  Turn turn;

  // The same of pixels that are stored turned: `upright` is what brings them upright. This view and
  // the output are of the upright image, the size is of the stored one.
  [[nodiscard]] View stored(const Turn& upright, ImageSize size, ImageSize output) const;
  // The same of an image decoded smaller by a whole factor.
  [[nodiscard]] View reduced(int by) const;
  // How much smaller it may be decoded with at least two pixels left for each of the output's.
  [[nodiscard]] int reduction() const;
};

// What evaluation sees: the image scaled to cover the output, and the centre of that. As
// torchvision's Resize and CenterCrop do.
View centre_view(ImageSize image, ImageSize output);

// The view of one sample in one epoch. The same arguments give the same view.
View random_view(ImageSize image,
                 ImageSize output,
                 const Augmentation& augmentation,
                 std::uint64_t seed,
                 std::int64_t epoch,
                 std::int64_t sample);

}  // namespace lowtide::data
