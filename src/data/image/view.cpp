#include "data/image/view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/random.h"

namespace lowtide::data {
namespace {

// Of the generator: no other part of the program uses this counter.
constexpr std::uint64_t kViewStream = (std::uint64_t{1} << 63U) + 1;

AxisMap reduced_axis(const AxisMap& map, int by) {
  return {.scale = map.scale / by,
          .first = map.first,
          .begin = map.begin / by,
          .end = (map.end + by - 1) / by};
}

// The same pixels of an axis that runs the other way.
AxisMap mirrored_axis(const AxisMap& map, std::int64_t source, std::int64_t output) {
  return {
      .scale = map.scale,
      .first = static_cast<double>(source) / map.scale - map.first - static_cast<double>(output),
      .begin = source - map.end,
      .end = source - map.begin};
}

// The centre of an axis that is scaled from `source` to `scaled` pixels.
AxisMap centre_axis(std::int64_t source, std::int64_t scaled, std::int64_t output) {
  return {.scale = static_cast<double>(source) / static_cast<double>(scaled),
          .first = std::nearbyint(static_cast<double>(scaled - output) / 2),
          .begin = 0,
          .end = source};
}

// [begin, begin + length) of an axis, brought to the output's size.
AxisMap crop_axis(std::int64_t begin, std::int64_t length, std::int64_t output) {
  const double scale = static_cast<double>(length) / static_cast<double>(output);
  return {.scale = scale,
          .first = static_cast<double>(begin) / scale,
          .begin = begin,
          .end = begin + length};
}

struct Crop {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// A share of the area and a ratio of the sides; ten tries, then the centre.
Crop random_crop(ImageSize image, double least_area, core::RandomStream& random) {
  constexpr double kWidest = 4.0 / 3.0;
  const double area = static_cast<double>(image.width) * static_cast<double>(image.height);
  for (int tries = 0; tries < 10; ++tries) {
    const double target = area * (least_area + (1 - least_area) * random.uniform());
    const double ratio = std::exp(std::log(kWidest) * (2 * random.uniform() - 1));
    const std::int64_t width = std::llround(std::sqrt(target * ratio));
    const std::int64_t height = std::llround(std::sqrt(target / ratio));
    if (width < 1 || height < 1 || width > image.width || height > image.height) continue;
    const auto place = [&](std::int64_t room) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(room) + 1));
    };
    const std::int64_t y = place(image.height - height);
    return {.x = place(image.width - width), .y = y, .width = width, .height = height};
  }
  const double ratio = static_cast<double>(image.width) / static_cast<double>(image.height);
  std::int64_t width = image.width;
  std::int64_t height = image.height;
  if (ratio < 1 / kWidest) height = std::llround(static_cast<double>(width) * kWidest);
  if (ratio > kWidest) width = std::llround(static_cast<double>(height) * kWidest);
  return {.x = (image.width - width) / 2,
          .y = (image.height - height) / 2,
          .width = width,
          .height = height};
}

}  // namespace

View View::stored(const Turn& upright, ImageSize size, ImageSize output) const {
  View view{.x = x, .y = y, .turn = upright};
  if (upright.transposed) {
    std::swap(view.x, view.y);
    std::swap(output.width, output.height);
  }
  if (upright.mirror_x) view.x = mirrored_axis(view.x, size.width, output.width);
  if (upright.mirror_y) view.y = mirrored_axis(view.y, size.height, output.height);
  // What mirrors the upright image mirrors the axis that becomes its x.
  bool& mirror = upright.transposed ? view.turn.mirror_y : view.turn.mirror_x;
  mirror = mirror != turn.mirror_x;
  return view;
}

View View::reduced(int by) const {
  return {.x = reduced_axis(x, by), .y = reduced_axis(y, by), .turn = turn};
}

int View::reduction() const {
  constexpr double kLeft = 2;
  for (const int by : {8, 4, 2}) {
    if (std::min(x.scale, y.scale) / by >= kLeft) return by;
  }
  return 1;
}

View centre_view(ImageSize image, ImageSize output) {
  const double factor =
      std::max(static_cast<double>(output.width) / static_cast<double>(image.width),
               static_cast<double>(output.height) / static_cast<double>(image.height));
  const auto scaled = [&](std::int64_t source, std::int64_t least) {
    // The side that decides is exact; the other is rounded down.
    const auto size = static_cast<std::int64_t>(static_cast<double>(source) * factor + 1e-9);
    return std::max(size, least);
  };
  return {.x = centre_axis(image.width, scaled(image.width, output.width), output.width),
          .y = centre_axis(image.height, scaled(image.height, output.height), output.height)};
}

View random_view(ImageSize image,
                 ImageSize output,
                 const Augmentation& augmentation,
                 std::uint64_t seed,
                 std::int64_t epoch,
                 std::int64_t sample) {
  const core::Philox key = core::philox(seed, static_cast<std::uint64_t>(epoch), kViewStream);
  core::RandomStream random(std::uint64_t{key[0]} << 32U | key[1],
                            static_cast<std::uint64_t>(sample));
  View view = centre_view(image, output);
  // Drawn first, so that it does not depend on how many tries a crop takes.
  const bool mirrored = random.below(2) == 1;
  if (augmentation.crop) {
    const Crop crop = random_crop(image, augmentation.least_area, random);
    view = {.x = crop_axis(crop.x, crop.width, output.width),
            .y = crop_axis(crop.y, crop.height, output.height)};
  }
  if (augmentation.flip && mirrored) view.turn.mirror_x = true;
  return view;
}

}  // namespace lowtide::data
