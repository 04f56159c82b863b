// How many images a second the loader decodes, scales and augments, by size of the file and number
// of threads that read. To compare with the samples a second that training takes.
#include "data/loader.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/text.h"
#include "support/folder.h"
#include "support/pictures.h"

namespace lowtide {
namespace {

constexpr std::int64_t kImages = 64;
constexpr std::int64_t kBatch = 32;

double images_per_second(const std::filesystem::path& folder, int readers) {
  data::OpenOptions options;
  options.image = {.channels = 3,
                   .height = 64,
                   .width = 64,
                   .augmentation = {.crop = true, .flip = true, .least_area = 0.3}};
  const auto dataset = data::open(folder, options);
  data::Loader loader(*dataset, data::Sampler(dataset->samples(), kBatch, {}),
                      {{.field = 0, .normalization = data::Normalization{{0.5F}, {0.25F}}},
                       {.field = 1, .dtype = core::DType::kInt64}},
                      {.in_epochs = true, .readers = readers});
  loader.next();
  const auto start = std::chrono::steady_clock::now();
  std::int64_t images = 0;
  double seconds = 0;
  do {
    images += loader.next().samples;
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  } while (seconds < 2);
  return static_cast<double>(images) / seconds;
}

void measure(std::int64_t side) {
  const support::Folder folder;
  std::filesystem::create_directories(folder / "class");
  for (std::int64_t i = 0; i < kImages; ++i) {
    support::write_jpeg(folder.path() / "class" / (std::to_string(i) + ".jpg"),
                        support::smooth_picture(side, side, 3, static_cast<int>(i)));
  }
  for (const int readers : {1, 2}) {
    fmt::print("{0} x {0} to 64 x 64, {1} readers: {2:.0f} images/s\n", side, readers,
               images_per_second(folder.path(), readers));
  }
}

}  // namespace
}  // namespace lowtide

int main() {
  for (const std::int64_t side : {64, 256, 500, 2000}) lowtide::measure(side);
  return EXIT_SUCCESS;
}
