// Reductions on every instruction set: lengths around the vector's, accuracy, special values.
#include "kernels/simd/reduce.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/each_isa.h"

namespace lowtide::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kLengths[] = {0, 1, 7, 8, 15, 16, 17, 129, 1000};

std::vector<float> reduced(const ReducePlan& plan, const std::vector<float>& x, std::size_t count) {
  std::vector<double> scratch(static_cast<std::size_t>(reduce_scratch(plan).count()) / 8);
  std::vector<float> y(count, -77.0F);
  reduce(plan, x.data(), y.data(), scratch.data());
  return y;
}

ReducePlan rows(ReduceFunction f, std::int64_t n, std::int64_t length) {
  return {.function = f, .kept = {{n, length}}, .reduced = {{length, 1}}};
}

ReducePlan columns(ReduceFunction f, std::int64_t n, std::int64_t width) {
  return {.function = f, .kept = {}, .reduced = {{n, width}}, .columns = width};
}

TEST(Reduce, RowsAndColumnsOfEveryLengthAreSummed) {
  on_each_isa([] {
    for (const std::int64_t n : kLengths) {
      for (const std::int64_t m : {1, 3, 16, 37}) {
        std::vector<float> x(static_cast<std::size_t>(n * m));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 13);
        std::vector<float> of_rows(static_cast<std::size_t>(m), 0.0F);
        std::vector<float> of_columns(static_cast<std::size_t>(m), 0.0F);
        for (std::size_t i = 0; i < x.size(); ++i) {
          of_rows[i / static_cast<std::size_t>(n)] += x[i];
          of_columns[i % static_cast<std::size_t>(m)] += x[i];
        }
        const auto count = static_cast<std::size_t>(m);
        EXPECT_EQ(reduced(rows(ReduceFunction::kSum, m, n), x, count), of_rows) << n;
        if (m > 1) {
          EXPECT_EQ(reduced(columns(ReduceFunction::kSum, n, m), x, count), of_columns) << n;
        }
      }
    }
  });
}

// A million tenths: a running sum in float would be off by a thousand times this.
TEST(Reduce, LongSumsStayAccurate) {
  on_each_isa([] {
    const std::int64_t n = 1 << 20;
    const std::vector<float> x(static_cast<std::size_t>(n), 0.1F);
    const double exact = static_cast<double>(0.1F) * static_cast<double>(n);
    EXPECT_EQ(reduced(rows(ReduceFunction::kSum, 1, n), x, 1)[0], static_cast<float>(exact));
    const auto sums = reduced(columns(ReduceFunction::kSum, n / 64, 64), x, 64);
    for (const float sum : sums) EXPECT_EQ(sum, static_cast<float>(exact / 64));
  });
}

TEST(Reduce, ExtremesKeepNotANumberWhereverItStands) {
  on_each_isa([] {
    for (const auto f : {ReduceFunction::kMax, ReduceFunction::kMin}) {
      for (const std::size_t at : {0U, 5U, 130U, 299U}) {
        std::vector<float> x(300, 1.0F);
        EXPECT_EQ(reduced(rows(f, 1, 300), x, 1)[0], 1.0F);
        x[at] = kNaN;
        EXPECT_TRUE(std::isnan(reduced(rows(f, 1, 300), x, 1)[0])) << at;
        EXPECT_TRUE(std::isnan(reduced(columns(f, 15, 20), x, 20)[at % 20])) << at;
      }
    }
  });
}

TEST(Reduce, NothingHasTheNeutralElement) {
  on_each_isa([] {
    EXPECT_EQ(reduced(rows(ReduceFunction::kSum, 2, 0), {}, 2), (std::vector<float>{0, 0}));
    EXPECT_EQ(reduced(rows(ReduceFunction::kMax, 1, 0), {}, 1)[0], -kInfinity);
    EXPECT_EQ(reduced(rows(ReduceFunction::kMin, 1, 0), {}, 1)[0], kInfinity);
  });
}

// Images in channels-last order: the mean over pixels, and the sum over all but the channels.
TEST(Reduce, NestedLoopsAreWalkedInOrder) {
  on_each_isa([] {
    const std::int64_t batch = 3;
    const std::int64_t pixels = 49;
    const std::int64_t channels = 1500;
    std::vector<float> x(static_cast<std::size_t>(batch * pixels * channels));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000) - 500.0F;
    const ReducePlan pool{.factor = 1.0 / 49,
                          .kept = {{batch, pixels * channels}},
                          .reduced = {{pixels, channels}},
                          .columns = channels};
    const auto means = reduced(pool, x, static_cast<std::size_t>(batch * channels));
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (std::int64_t p = 0; p < pixels; ++p) {
          sum += static_cast<double>(x[static_cast<std::size_t>((n * pixels + p) * channels + c)]);
        }
        EXPECT_FLOAT_EQ(means[static_cast<std::size_t>(n * channels + c)],
                        static_cast<float>(sum / 49));
      }
    }
  });
}

}  // namespace
}  // namespace lowtide::kernels
