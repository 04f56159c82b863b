#include "data/source/augmented_arrays.h"

#include <algorithm>

#include "core/check.h"
#include "core/text.h"
#include "data/image/view.h"

namespace lowtide::data {
namespace {

bool holds_images(const Field& field) {
  const core::Shape& shape = field.sample_shape;
  return field.dtype == core::DType::kUint8 && shape.rank() == 3 &&
         (shape[0] == 1 || shape[0] == 3) && shape[1] > 0 && shape[2] > 0;
}

ImageSize size_of(const Field& field) {
  return {.width = field.sample_shape[2], .height = field.sample_shape[1]};
}

Bytes viewing_memory(const Field& field) {
  const ImageSize size = size_of(field);
  const std::int64_t channels = field.sample_shape[0];
  return field.sample_bytes() + Bytes(size.width * channels) +
         Resampler::memory(std::max(size.width, size.height), size.width, size.height,
                           static_cast<int>(channels));
}

// Replaces an image, planes of bytes, by a view of it.
void replace(const View& view, const Field& field, std::span<std::uint8_t> image) {
  const std::vector<std::uint8_t> whole(image.begin(), image.end());
  const ImageSize size = size_of(field);
  const auto channels = static_cast<std::size_t>(field.sample_shape[0]);
  const auto width = static_cast<std::size_t>(size.width);
  const std::size_t plane = whole.size() / channels;
  std::vector<std::uint8_t> row(width * channels);
  Resampler resampler(view.x, size.width, view.y, size.height, static_cast<int>(channels));
  for (std::int64_t y = resampler.first_row(); y < resampler.end_row(); ++y) {
    const std::uint8_t* const from = whole.data() + static_cast<std::size_t>(y) * width;
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t x = 0; x < width; ++x) row[x * channels + c] = from[c * plane + x];
    }
    resampler.add_row(y, row);
  }
  resampler.write(view.turn, image);
}

}  // namespace

AugmentedArrays::AugmentedArrays(std::shared_ptr<const Dataset> arrays, const OpenOptions& options)
    : Dataset(
          arrays->name(), arrays->samples(), {arrays->fields().begin(), arrays->fields().end()}),
      arrays_(std::move(arrays)),
      augmentation_(options.image.augmentation),
      seed_(options.seed) {
  std::vector<std::string> others;
  for (const Field& field : fields()) {
    const bool label = field.name == options.label;
    augmented_.push_back(!label && holds_images(field));
    if (augmented_.back()) viewing_ = std::max(viewing_, viewing_memory(field));
    const std::string what =
        core::text("'{}' is {} {}", field.name, core::name(field.dtype), field.sample_shape.str());
    if (label && field.sample_shape.rank() > 1) {
      throw core::fail(ErrorCode::kInvalidArgument,
                       "{}: images cannot be augmented where labels have places: {}", name(), what);
    }
    if (!label) others.push_back(what);
  }
  if (viewing_ > Bytes()) return;
  throw core::fail(
      ErrorCode::kInvalidArgument,
      "{}: nothing to augment: images are arrays of uint8 with samples of [1 or 3, "
      "height, width], and {}",
      name(), others.empty() ? "there is no array" : core::text("{}", fmt::join(others, ", ")));
}

void AugmentedArrays::read(std::size_t field,
                           std::span<const std::int64_t> samples,
                           std::span<std::byte> out) const {
  arrays_->read(field, samples, out);
}

void AugmentedArrays::read_in_epoch(std::size_t field,
                                    std::span<const std::int64_t> samples,
                                    std::int64_t epoch,
                                    std::span<std::byte> out) const {
  arrays_->read(field, samples, out);
  if (!augmented_[field]) return;
  const Field& what = fields()[field];
  const ImageSize size = size_of(what);
  const auto bytes = static_cast<std::size_t>(what.sample_bytes().count());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::span<std::byte> place = out.subspan(i * bytes, bytes);
    replace(random_view(size, size, augmentation_, seed_, epoch, samples[i]), what,
            {reinterpret_cast<std::uint8_t*>(place.data()), place.size()});
  }
}

}  // namespace lowtide::data
