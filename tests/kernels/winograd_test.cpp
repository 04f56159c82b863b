// Winograd's filtering beyond what the cases of Conv show: weights and gradients in several parts,
// rounding errors, zeros, and the same bits for any number of threads.
#include "kernels/simd/winograd/winograd.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/parallel.h"
#include "kernels/each_isa.h"

namespace lowtide::kernels {
namespace {

using Floats = std::vector<float>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Images of a padding of one.
WinogradShape images(std::int64_t samples,
                     std::int64_t channels_in,
                     std::int64_t channels_out,
                     std::int64_t rows,
                     std::int64_t columns) {
  WinogradShape shape{.samples = samples, .channels_in = channels_in, .channels_out = channels_out};
  shape.axes[1] = {.in = rows, .out = rows, .kernel = 3, .pad_begin = 1, .pad_end = 1};
  shape.axes[2] = {.in = columns, .out = columns, .kernel = 3, .pad_begin = 1, .pad_end = 1};
  return shape;
}

std::int64_t pixels(const WinogradShape& shape) {
  return shape.samples * shape.axes[1].in * shape.axes[2].in;
}

Floats normal(std::int64_t count, float deviation, std::mt19937& generator) {
  std::normal_distribution<float> distribution(0.0F, deviation);
  Floats result(index(count));
  for (float& value : result) value = distribution(generator);
  return result;
}

Floats convolve(const WinogradShape& shape,
                WinogradWeights weights,
                const Floats& x,
                const Floats& w) {
  // What scratch held before must not matter.
  Floats scratch(index(winograd_scratch(shape)), std::nanf(""));
  Floats y(index(pixels(shape) * shape.channels_out));
  const WinogradOutput output{.y = y.data(), .channels = shape.channels_out};
  winograd_convolution(shape, weights, x.data(), w.data(), nullptr, {&output, 1}, scratch.data());
  return y;
}

Floats weight_gradient(const WinogradShape& shape, const Floats& x, const Floats& dy) {
  Floats scratch(index(winograd_weight_gradient_scratch(shape)), std::nanf(""));
  Floats dw(index(shape.channels_out * shape.channels_in * 9));
  const WinogradInput input{.x = x.data(), .channels = shape.channels_in};
  winograd_weight_gradient(shape, {&input, 1}, dy.data(), dw.data(), scratch.data());
  return dw;
}

// Calls f(pixel of x, pixel of y, tap) for all that meet.
template <class F>
void for_each_meeting(const WinogradShape& shape, F&& f) {
  const std::int64_t rows = shape.axes[1].in;
  const std::int64_t columns = shape.axes[2].in;
  for (std::int64_t i = 0; i < pixels(shape); ++i) {
    for (std::int64_t tap = 0; tap < 9; ++tap) {
      const std::int64_t row = shape.axes[1].position(i / columns % rows, tap / 3);
      const std::int64_t column = shape.axes[2].position(i % columns, tap % 3);
      if (!shape.axes[1].inside(row) || !shape.axes[2].inside(column)) continue;
      f((i / (rows * columns) * rows + row) * columns + column, i, tap);
    }
  }
}

struct Errors {
  double ours = 0;
  double direct = 0;  // of summing in float32, in order
};

// The largest errors over the channels out that are a multiple of `step`.
Errors errors(const WinogradShape& shape,
              WinogradWeights weights,
              const Floats& x,
              const Floats& w,
              const Floats& y,
              std::int64_t step) {
  Errors result;
  const std::int64_t in = shape.channels_in;
  const std::int64_t out = shape.channels_out;
  for (std::int64_t o = 0; o < out; o += step) {
    std::vector<double> exact(index(pixels(shape)));
    Floats direct(exact.size());
    for_each_meeting(shape, [&](std::int64_t from, std::int64_t to, std::int64_t tap) {
      for (std::int64_t c = 0; c < in; ++c) {
        const float weight = weights == WinogradWeights::kGiven
                                 ? w[index((o * in + c) * 9 + tap)]
                                 : w[index((c * out + o) * 9 + 8 - tap)];
        exact[index(to)] += double{x[index(from * in + c)]} * double{weight};
        direct[index(to)] += x[index(from * in + c)] * weight;
      }
    });
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double value = y[i * index(out) + index(o)];
      result.ours =
          std::fmax(result.ours, std::isnan(value) ? HUGE_VAL : std::abs(value - exact[i]));
      result.direct = std::fmax(result.direct, std::abs(double{direct[i]} - exact[i]));
    }
  }
  return result;
}

TEST(Winograd, RoundingErrorsAreAFewTimesThoseOfSummingDirectly) {
  std::mt19937 generator(3);
  // The second one's weights are transformed in four parts.
  for (const WinogradShape& shape : {images(2, 48, 40, 18, 21), images(1, 300, 390, 8, 9)}) {
    const Floats x = normal(pixels(shape) * shape.channels_in, 1, generator);
    const Floats w = normal(shape.channels_in * shape.channels_out * 9, 0.05F, generator);
    for (const WinogradWeights weights : {WinogradWeights::kGiven, WinogradWeights::kFlipped}) {
      on_each_isa([&] {
        const Errors e = errors(shape, weights, x, w, convolve(shape, weights, x, w), 13);
        EXPECT_LT(e.ours, 3 * e.direct);
      });
    }
  }
}

TEST(Winograd, GradientsOfWeightsAreRightInSeveralParts) {
  std::mt19937 generator(4);
  const WinogradShape shape = images(3, 290, 300, 9, 10);
  const Floats x = normal(pixels(shape) * shape.channels_in, 1, generator);
  const Floats dy = normal(pixels(shape) * shape.channels_out, 1, generator);
  on_each_isa([&] {
    const Floats dw = weight_gradient(shape, x, dy);
    for (std::int64_t o = 0; o < shape.channels_out; o += 37) {
      std::vector<double> exact(index(shape.channels_in * 9));
      for_each_meeting(shape, [&](std::int64_t from, std::int64_t to, std::int64_t tap) {
        for (std::int64_t c = 0; c < shape.channels_in; ++c) {
          exact[index(c * 9 + tap)] += double{x[index(from * shape.channels_in + c)]} *
                                       double{dy[index(to * shape.channels_out + o)]};
        }
      });
      for (std::size_t i = 0; i < exact.size(); ++i) {
        ASSERT_NEAR(double{dw[index(o) * exact.size() + i]}, exact[i], 1e-4) << o << ", " << i;
      }
    }
  });
}

// Where no window's gradient meets a pixel, for one place of the weights: Adam would take the
// smallest noise for a direction.
TEST(Winograd, GradientsOfWeightsThatNothingReachesAreZero) {
  std::mt19937 generator(5);
  const WinogradShape shape = images(4, 17, 19, 12, 12);
  Floats x = normal(pixels(shape) * shape.channels_in, 1, generator);
  Floats dy = normal(pixels(shape) * shape.channels_out, 1, generator);
  for (std::int64_t i = 1; i < pixels(shape); i += 2) {  // the odd columns
    std::fill_n(x.begin() + i * shape.channels_in, shape.channels_in, 0.0F);
    std::fill_n(dy.begin() + i * shape.channels_out, shape.channels_out, 0.0F);
  }
  on_each_isa([&] {
    const Floats dw = weight_gradient(shape, x, dy);
    for (std::size_t i = 0; i < dw.size(); ++i) {
      EXPECT_EQ(dw[i] != 0, i % 3 == 1) << i;
    }
  });
}

TEST(Winograd, TheNumberOfThreadsDoesNotMatter) {
  std::mt19937 generator(6);
  const WinogradShape shape = images(2, 33, 35, 15, 14);
  const Floats x = normal(pixels(shape) * shape.channels_in, 1, generator);
  const Floats dy = normal(pixels(shape) * shape.channels_out, 1, generator);
  const Floats w = normal(shape.channels_in * shape.channels_out * 9, 0.05F, generator);
  const int threads = core::parallel_parts();
  const Floats y = convolve(shape, WinogradWeights::kGiven, x, w);
  const Floats dw = weight_gradient(shape, x, dy);
  for (const int other : {1, 3, 5}) {
    core::use_threads(other);
    EXPECT_EQ(convolve(shape, WinogradWeights::kGiven, x, w), y) << other;
    EXPECT_EQ(weight_gradient(shape, x, dy), dw) << other;
  }
  core::use_threads(threads);
}

}  // namespace
}  // namespace lowtide::kernels
