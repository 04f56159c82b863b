// The loader: batches in order, the same with and without its thread, and errors where they belong.
#include "data/loader.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "data/allocation_count.h"
#include "data/memory_dataset.h"
#include "data/scratch.h"
#include "data/split.h"

namespace lowtide::data {
namespace {

using core::DType;

// Ten samples: x = {n, n + 0.5}, image = {n}, label = n % 3.
std::unique_ptr<MemoryDataset> ten_samples() {
  std::vector<Field> fields = {{"x", DType::kFloat32, core::Shape({2})},
                               {"image", DType::kUint8, core::Shape({1, 1, 1})},
                               {"label", DType::kUint8, core::Shape()}};
  auto dataset = std::make_unique<MemoryDataset>(10, std::move(fields));
  std::vector<float> x;
  std::vector<std::uint8_t> image;
  std::vector<std::uint8_t> label;
  for (int n = 0; n < 10; ++n) {
    x.push_back(static_cast<float>(n));
    x.push_back(static_cast<float>(n) + 0.5F);
    image.push_back(static_cast<std::uint8_t>(n));
    label.push_back(static_cast<std::uint8_t>(n % 3));
  }
  dataset->set(0, x);
  dataset->set(1, image);
  dataset->set(2, label);
  return dataset;
}

std::vector<Target> targets() {
  return {{.field = 0},
          {.field = 1, .normalization = Normalization{{0.5F}, {0.5F}}},
          {.field = 2, .dtype = DType::kInt64, .labels = IntegerRange{.end = 3}}};
}

template <class T>
std::vector<T> copy(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class Loading : public testing::TestWithParam<bool> {
 protected:
  LoaderOptions options() const { return {.prefetch = GetParam()}; }
};

TEST_P(Loading, YieldsTheSamplersBatchesInOrder) {
  const auto dataset = ten_samples();
  Sampler expected(10, 4, {.seed = 8});
  Loader loader(*dataset, expected, targets(), options());
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    for (std::int64_t index = 0; index < 3; ++index) {
      const Batch& batch = loader.next();
      const auto samples = expected.batch(epoch, index);
      ASSERT_EQ(batch.epoch, epoch);
      ASSERT_EQ(batch.index, index);
      ASSERT_EQ(batch.samples, index == 2 ? 2 : 4);
      const auto x = copy<float>(batch.arrays[0]);
      const auto image = copy<float>(batch.arrays[1]);
      const auto label = copy<std::int64_t>(batch.arrays[2]);
      ASSERT_EQ(x.size(), 2 * samples.size());
      ASSERT_EQ(image.size(), samples.size());
      ASSERT_EQ(label.size(), samples.size());
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto n = static_cast<float>(samples[i]);
        EXPECT_EQ(x[2 * i], n);
        EXPECT_EQ(x[2 * i + 1], n + 0.5F);
        EXPECT_EQ(image[i], (n / 255.0F - 0.5F) / 0.5F);
        EXPECT_EQ(label[i], samples[i] % 3);
      }
    }
  }
}

TEST_P(Loading, StartsAnywhere) {
  const auto dataset = ten_samples();
  LoaderOptions start = options();
  start.epoch = 7;
  start.batch = 2;
  Sampler expected(10, 4, {.seed = 8});
  Loader loader(*dataset, expected, {{.field = 0}}, start);
  const auto expect_next = [&](std::int64_t epoch, std::int64_t index) {
    const Batch& batch = loader.next();
    EXPECT_EQ(batch.epoch, epoch);
    EXPECT_EQ(batch.index, index);
    EXPECT_EQ(copy<float>(batch.arrays[0])[0], static_cast<float>(expected.batch(epoch, index)[0]));
  };
  expect_next(7, 2);
  expect_next(8, 0);
  loader.start_at(2, 1);
  expect_next(2, 1);
  expect_next(2, 2);
  loader.start_at(0, 0);
  loader.start_at(1, 0);
  expect_next(1, 0);
}

TEST_P(Loading, ThrowsErrorsAtTheirBatch) {
  const auto dataset = ten_samples();
  dataset->fail_at(9);
  Loader loader(*dataset, Sampler(10, 4, {.shuffle = false}), targets(), options());
  EXPECT_EQ(loader.next().index, 0);
  EXPECT_EQ(loader.next().index, 1);
  for (int attempt = 0; attempt < 2; ++attempt) {
    expect_error(ErrorCode::kIo, {"sample 9 is gone"}, [&] { loader.next(); });
  }
  loader.start_at(0, 1);
  EXPECT_EQ(loader.next().index, 1);
}

TEST_P(Loading, ChecksValues) {
  MemoryDataset dataset(
      2, {{"x", DType::kFloat32, core::Shape()}, {"label", DType::kInt64, core::Shape()}});
  dataset.set<float>(0, {1, std::numeric_limits<float>::infinity()});
  dataset.set<std::int64_t>(1, {0, 5});
  const Sampler sampler(2, 2, {.shuffle = false});
  Loader checked(dataset, sampler, {{.field = 0}}, options());
  expect_error(ErrorCode::kNumeric, {"'x', sample 1"}, [&] { checked.next(); });
  Loader unchecked(dataset, sampler, {{.field = 0, .check_finite = false}}, options());
  EXPECT_EQ(unchecked.next().samples, 2);
  MemoryDataset odds(2, {{"x", DType::kFloat32, core::Shape()}});
  odds.set<float>(0, {1, 1.5F});
  Loader shares(odds, sampler, {{.field = 0, .check_shares = true}}, options());
  expect_error(ErrorCode::kInvalidArgument, {"'x', sample 1: 1.5 is outside [0, 1]"},
               [&] { shares.next(); });
  Loader labels(dataset, sampler,
                {{.field = 1, .dtype = DType::kInt64, .labels = IntegerRange{.end = 5}}},
                options());
  expect_error(ErrorCode::kInvalidArgument, {"'label', sample 1: label 5"}, [&] { labels.next(); });
}

TEST_P(Loading, NamesIndicesThatPickNoRow) {
  const auto dataset = std::make_shared<MemoryDataset>(
      4, std::vector<Field>{{"ids", DType::kInt32, core::Shape({2})}});
  dataset->set<std::int32_t>(0, {0, 1, 2, 3, -4, 0, 1, 4});
  const Sampler sampler(4, 2, {.shuffle = false});
  Loader loader(*dataset, sampler, {{.field = 0, .dtype = DType::kInt64, .indices = indices_of(4)}},
                options());
  loader.next();
  expect_error(ErrorCode::kInvalidArgument,
               {"memory: array 'ids', sample 3, element 1: 4 is outside the 4 rows", "0 to 3"},
               [&] { loader.next(); });
  // Of a part the samples are named as the whole counts them.
  const Subset part(dataset, {1, 3});
  Loader of_part(part, Sampler(2, 1, {.shuffle = false}),
                 {{.field = 0, .dtype = DType::kInt32, .indices = indices_of(4)}}, options());
  of_part.next();
  expect_error(ErrorCode::kInvalidArgument, {"sample 3, element 1: 4"}, [&] { of_part.next(); });
}

TEST_P(Loading, AllocatesNothingOnceItRuns) {
  const auto dataset = open(kFiles / "stored.npz");
  Loader loader(
      *dataset, Sampler(6, 4, {}),
      {{.field = dataset->index("x")}, {.field = dataset->index("label"), .dtype = DType::kInt32}},
      options());
  for (int i = 0; i < 4; ++i) loader.next();
  const std::int64_t before = allocation_count();
  for (int i = 0; i < 100; ++i) loader.next();
  EXPECT_EQ(allocation_count() - before, 0);
}

TEST_P(Loading, CountsItsBuffers) {
  const auto dataset = ten_samples();
  const Loader loader(*dataset, Sampler(10, 4, {}), targets(), options());
  const Bytes batch = 4 * (8_B + 4_B + 8_B);
  const Bytes raw = 4_B;  // x is read in place; image and label take turns
  const Bytes sampler = 10 * 4_B + 4 * 8_B;
  EXPECT_EQ(loader.buffer_bytes(), (GetParam() ? 2 : 1) * batch + raw + sampler);
}

INSTANTIATE_TEST_SUITE_P(Modes, Loading, testing::Bool(), [](const auto& mode) {
  return mode.param ? "Thread" : "Direct";
});

TEST(Loader, StopsAtAnyMoment) {
  const auto dataset = ten_samples();
  for (int taken = 0; taken < 200; ++taken) {
    Loader loader(*dataset, Sampler(10, 4, {}), targets());
    for (int i = 0; i < taken % 5; ++i) loader.next();
  }
}

TEST(Loader, NamesItsThread) {
  const auto dataset = ten_samples();
  Loader loader(*dataset, Sampler(10, 4, {}), targets());
  loader.next();
  bool found = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    found = found || name == "lowtide-load";
  }
  EXPECT_TRUE(found);
}

TEST(Loader, RefusesConversionsThatDoNotExist) {
  const auto dataset = ten_samples();
  const auto refuse = [&](const Target& target, const std::string& part) {
    expect_error(ErrorCode::kInvalidArgument, {part},
                 [&] { Loader(*dataset, Sampler(10, 4, {}), {target}); });
  };
  refuse({.field = 0, .dtype = DType::kInt64}, "'x' of float32 cannot be read as int64");
  refuse({.field = 1, .dtype = DType::kInt16}, "'image' of uint8 cannot be read as int16");
  refuse({.field = 1, .normalization = Normalization{{0, 0}, {1, 1}}}, "'image' has 1 channels");
  refuse({.field = 2, .dtype = DType::kInt64, .normalization = Normalization{{0}, {1}}},
         "only float32");
  refuse({.field = 0, .labels = IntegerRange{.end = 3}}, "labels are integers, not float32");
  refuse({.field = 0, .indices = indices_of(3)}, "indices are integers, not float32");
}

}  // namespace
}  // namespace lowtide::data
