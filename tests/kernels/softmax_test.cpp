// Softmax of rows on every instruction set: lengths around the vector's, odd addresses, values that
// are huge, infinite or no numbers.
#include "kernels/simd/softmax.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/each_isa.h"

namespace lowtide::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> softmax(const std::vector<float>& x, bool log) {
  std::vector<float> y(x.size(), -77.0F);
  softmax_rows(x.data(), y.data(), 1, static_cast<std::int64_t>(x.size()), log);
  return y;
}

TEST(Softmax, RowsOfEveryLengthAtEveryAddressAreRight) {
  on_each_isa([] {
    for (const std::size_t n : {1U, 2U, 7U, 8U, 15U, 16U, 17U, 33U, 1000U}) {
      constexpr std::size_t kRows = 3;  // rows after the first begin at odd addresses
      std::vector<float> x(kRows * n);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 11 % 17) - 8.0F;
      std::vector<float> y(x.size());
      softmax_rows(x.data(), y.data(), kRows, static_cast<std::int64_t>(n), false);
      for (std::size_t row = 0; row < kRows; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[row * n + i]));
        for (std::size_t i = 0; i < n; ++i) {
          const double expected = std::exp(static_cast<double>(x[row * n + i])) / sum;
          EXPECT_NEAR(static_cast<double>(y[row * n + i]), expected, 1e-6) << n << ", " << row;
        }
      }
    }
  });
}

TEST(Softmax, HugeLogitsDoNotOverflow) {
  on_each_isa([] {
    EXPECT_EQ(softmax({3e38F, -3e38F, 3e38F}, false), (std::vector<float>{0.5F, 0.0F, 0.5F}));
    EXPECT_EQ(softmax({-kInfinity, 5.0F}, false), (std::vector<float>{0.0F, 1.0F}));
    EXPECT_EQ(softmax({-kInfinity, 5.0F}, true), (std::vector<float>{-kInfinity, 0.0F}));
  });
}

TEST(Softmax, NoNumberIsNeverHidden) {
  on_each_isa([] {
    for (const std::size_t n : {3U, 16U, 21U}) {
      for (std::size_t at = 0; at < n; at += 5) {
        std::vector<float> x(n, 0.5F);
        x[at] = kNaN;
        for (const bool log : {false, true}) {
          for (const float y : softmax(x, log)) EXPECT_TRUE(std::isnan(y)) << n << ", " << at;
        }
      }
    }
  });
}

}  // namespace
}  // namespace lowtide::kernels
