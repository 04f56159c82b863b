// Augmentation: what training may see in place of the whole image.
#pragma once

namespace lowtide::data {

struct Augmentation {
  bool crop = false;         // a random part, as torchvision's RandomResizedCrop takes it
  bool flip = false;         // mirrored left to right, every second time
  double least_area = 0.08;  // of the crop, as a share of the image; at most 1

  [[nodiscard]] bool any() const { return crop || flip; }
};

}  // namespace lowtide::data
