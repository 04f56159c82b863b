// Elementwise kernels on every instruction set: lengths around the vector's, unaligned arrays,
// accuracy against double, special values.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/each_isa.h"
#include "kernels/simd/elementwise_binary.h"
#include "kernels/simd/elementwise_unary.h"

namespace lowtide::kernels {
namespace {

using F = UnaryFunction;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();
constexpr std::int64_t kLengths[] = {0, 1, 7, 8, 15, 16, 17, 31, 33, 1000};

// Distance in units of the last place of the wanted number, which counts as no smaller than
// `floor`.
double ulps(float got, double want, double floor = 1.2e-38) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  if (static_cast<double>(got) == want || got == static_cast<float>(want)) return 0;
  const double size = std::max(std::abs(want), floor);
  return std::abs(static_cast<double>(got) - want) / (std::exp2(std::floor(std::log2(size)) - 23));
}

struct Accuracy {
  F function;
  double (*exact)(double);
  double low;
  double high;
  double most_ulps;
  double floor = 1.2e-38;  // below this size the error is absolute
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double gelu_of(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double gelu_tanh_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double mish_of(double x) { return x * std::tanh(softplus_of(x)); }
double silu_of(double x) { return x * sigmoid_of(x); }
double exp_of(double x) { return std::exp(x); }
double log_of(double x) { return std::log(x); }
double tanh_of(double x) { return std::tanh(x); }
double erf_of(double x) { return std::erf(x); }
double sqrt_of(double x) { return std::sqrt(x); }
double sin_of(double x) { return std::sin(x); }
double round_of(double x) { return std::nearbyint(x); }
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }

TEST(Elementwise, FunctionsAreAccurateToAFewUnitsOfTheLastPlace) {
  const std::vector<Accuracy> all = {
      {F::kExp, exp_of, -100, 100, 3},
      {F::kLog, log_of, 1e-30, 1000, 3},
      {F::kTanh, tanh_of, -12, 12, 5},
      {F::kSigmoid, sigmoid_of, -80, 80, 4},
      {F::kErf, erf_of, -5, 5, 5},
      {F::kSqrt, sqrt_of, 0, 100, 1},
      {F::kSin, sin_of, -1e5, 1e5, 1, 1e-3},
      {F::kSoftplus, softplus_of, -80, 80, 4},
      {F::kSilu, silu_of, -80, 80, 5},
      {F::kGelu, gelu_of, -10, 10, 4, 1},
      {F::kGeluTanh, gelu_tanh_of, -10, 10, 16, 0.01},
      {F::kMish, mish_of, -80, 80, 5},
      {F::kRound, round_of, -9, 9, 0},
      {F::kFloor, floor_of, -9, 9, 0},
      {F::kCeil, ceil_of, -9, 9, 0},
  };
  on_each_isa([&] {
    for (const Accuracy& a : all) {
      constexpr int kSteps = 40009;
      std::vector<float> x(kSteps);
      for (int i = 0; i < kSteps; ++i) {
        x[static_cast<std::size_t>(i)] = static_cast<float>(a.low + (a.high - a.low) * i / kSteps);
      }
      std::vector<float> y(x.size());
      unary(a.function, {}, x.data(), y.data(), kSteps);
      double worst = 0;
      float where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double off = ulps(y[i], a.exact(static_cast<double>(x[i])), a.floor);
        if (off > worst) {
          worst = off;
          where = x[i];
        }
      }
      EXPECT_LE(worst, a.most_ulps)
          << "function " << static_cast<int>(a.function) << " at " << where;
    }
  });
}

// Every element of every length, from an unaligned start, in place; nothing beside is touched.
TEST(Elementwise, EveryLengthAndAlignmentIsCovered) {
  on_each_isa([] {
    for (const std::int64_t n : kLengths) {
      for (const std::int64_t start : {0, 1, 3}) {
        std::vector<float> x(static_cast<std::size_t>(n + start + 40), 5.0F);
        for (std::int64_t i = 0; i < n; ++i) {
          x[static_cast<std::size_t>(start + i)] = static_cast<float>(i % 7 - 3);
        }
        std::vector<float> want = x;
        for (std::int64_t i = 0; i < n; ++i) want[static_cast<std::size_t>(start + i)] *= -2.0F;
        unary(F::kScale, {.alpha = -2.0F}, x.data() + start, x.data() + start, n);
        EXPECT_EQ(x, want) << n << " from " << start;
      }
    }
  });
}

TEST(Elementwise, SpecialValuesFollowTheFunctions) {
  struct Special {
    F function;
    float x;
    float y;
  };
  const std::vector<Special> all = {
      {F::kExp, -kInfinity, 0},
      {F::kExp, kInfinity, kInfinity},
      {F::kExp, 1000, kInfinity},
      {F::kExp, -1000, 0},
      {F::kLog, 0, -kInfinity},
      {F::kLog, -1, kNaN},
      {F::kLog, kInfinity, kInfinity},
      {F::kTanh, kInfinity, 1},
      {F::kTanh, -kInfinity, -1},
      {F::kSigmoid, kInfinity, 1},
      {F::kSigmoid, -kInfinity, 0},
      {F::kErf, kInfinity, 1},
      {F::kErf, -kInfinity, -1},
      {F::kErf, kTiny, kTiny},
      {F::kRelu, kTiny, kTiny},
      {F::kRelu, -kTiny, 0},
      {F::kRelu, -kInfinity, 0},
      {F::kSqrt, -1, kNaN},
      {F::kReciprocal, 0, kInfinity},
      {F::kSign, -0.0F, 0},
      {F::kSign, -kTiny, -1},
      {F::kRound, 2.5F, 2},
      {F::kRound, 3.5F, 4},
      {F::kRound, -0.5F, 0},
      {F::kFloor, 3e9F, 3e9F},
      {F::kCeil, -3e9F, -3e9F},
      {F::kMish, 1000, 1000},
      {F::kSoftplus, 1000, 1000},
      {F::kGelu, 1000, 1000},
      {F::kGeluTanh, -1000, 0},
      {F::kHardSwish, -1000, 0},
  };
  on_each_isa([&] {
    for (const Special& s : all) {
      // In a whole vector and in a part of one.
      std::vector<float> y(17, s.x);
      unary(s.function, {}, y.data(), y.data(), 17);
      for (const std::size_t i : {0U, 16U}) {
        EXPECT_EQ(ulps(y[i], static_cast<double>(s.y)), 0)
            << "function " << static_cast<int>(s.function) << " of " << s.x << " is " << y[i];
      }
    }
  });
}

TEST(Elementwise, NotANumberPassesThroughEveryFunction) {
  on_each_isa([] {
    for (int f = 0; f <= static_cast<int>(F::kTanh); ++f) {
      std::vector<float> y(17, kNaN);
      unary(static_cast<F>(f), {.alpha = 0.5F, .beta = 1}, y.data(), y.data(), 17);
      EXPECT_TRUE(std::isnan(y[0])) << "function " << f;
      EXPECT_TRUE(std::isnan(y[16])) << "function " << f;
    }
  });
}

TEST(Elementwise, MasksHoldOneBitForEachElement) {
  on_each_isa([] {
    for (const std::int64_t n : kLengths) {
      const auto count = static_cast<std::size_t>(n);
      std::vector<float> y(count);
      for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<float>(i * i % 11) - 4.0F;
      if (count > 5) y[5] = kNaN;
      std::vector<std::uint8_t> mask((count + 7) / 8 + 1, 0xAA);
      range_mask(y.data(), 0.0F, kNaN, mask.data(), n);
      EXPECT_EQ(mask.back(), 0xAA);
      std::vector<float> dy(count, kInfinity);
      mask_gradient(mask.data(), dy.data(), dy.data(), n);
      for (std::size_t i = 0; i < count; ++i) {
        const bool inside = !(y[i] <= 0);
        EXPECT_EQ((mask[i / 8] >> (i % 8)) & 1, inside ? 1 : 0) << i << " of " << n;
        EXPECT_EQ(dy[i], inside ? kInfinity : 0.0F) << i << " of " << n;
      }
      if (n % 8 != 0) {
        EXPECT_EQ(mask[count / 8] >> (n % 8), 0) << "unused bits";
      }
    }
  });
}

TEST(Elementwise, OperandsOfEveryLengthAreBroadcast) {
  on_each_isa([] {
    for (const std::int64_t n : kLengths) {
      const auto count = static_cast<std::size_t>(n);
      std::vector<float> rows(3 * count);
      std::vector<float> row(count + 1, 0.5F);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
      for (std::size_t i = 0; i < count; ++i) row[i] = static_cast<float>(i * 10);
      const float column[] = {100, 200, 300};
      std::vector<float> by_row(rows.size());
      std::vector<float> by_column(rows.size());
      binary(BinaryFunction::kSub, row.data(), rows.data(), by_row.data(),
             std::vector<BroadcastLoop>{{3, 0, n}, {n, 1, 1}});
      binary(BinaryFunction::kSub, rows.data(), column, by_column.data(),
             std::vector<BroadcastLoop>{{3, n, 1}, {n, 1, 0}});
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(by_row[i], row[i % count] - rows[i]);
        EXPECT_EQ(by_column[i], rows[i] - column[i / count]);
      }
    }
  });
}

TEST(Elementwise, ExtremesKeepNotANumberFromEitherSide) {
  on_each_isa([] {
    for (const auto f : {BinaryFunction::kMin, BinaryFunction::kMax}) {
      std::vector<float> a(17, 1.0F);
      std::vector<float> b(17, 2.0F);
      a[3] = kNaN;
      b[4] = kNaN;
      std::vector<float> y(17);
      binary(f, a.data(), b.data(), y.data(), std::vector<BroadcastLoop>{{17, 1, 1}});
      EXPECT_TRUE(std::isnan(y[3]) && std::isnan(y[4]));
      EXPECT_EQ(y[16], f == BinaryFunction::kMin ? 1.0F : 2.0F);
    }
  });
}

}  // namespace
}  // namespace lowtide::kernels
