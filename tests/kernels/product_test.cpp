// Matrix products beyond what the cases of MatMul show: sides of several blocks, further products
// added to what is there, and the same bits for any number of threads.
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/parallel.h"
#include "kernels/each_isa.h"
#include "kernels/simd/product/matmul.h"

namespace lowtide::kernels {
namespace {

using Floats = std::vector<float>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Whole numbers, whose sums are exact in any order.
Floats whole_numbers(std::int64_t count, std::mt19937& generator) {
  std::uniform_int_distribution<int> distribution(-4, 4);
  Floats result(index(count));
  for (float& value : result) value = static_cast<float>(distribution(generator));
  return result;
}

Floats normal(std::int64_t count, std::mt19937& generator) {
  std::normal_distribution<float> distribution;
  Floats result(index(count));
  for (float& value : result) value = distribution(generator);
  return result;
}

struct Sides {
  Floats a;
  Floats b;
  Floats bias;
  Floats before;  // what y holds
};

template <class Fill>
Sides sides_of(const MatmulShape& shape, Fill&& fill) {
  return {fill(shape.rows * shape.depth), fill(shape.depth * shape.columns), fill(shape.columns),
          fill(shape.rows * shape.columns)};
}

Floats multiply(const MatmulShape& shape, const Sides& sides) {
  constexpr std::int64_t kBehind = 64;
  constexpr float kUntouched = 7;
  const std::int64_t floats = matmul_scratch(shape);
  // What scratch held before must not matter, and what lies behind it is not touched.
  Floats scratch(index(floats + kBehind), std::nanf(""));
  std::fill(scratch.begin() + floats, scratch.end(), kUntouched);
  Floats y = sides.before;
  matmul(shape, sides.a.data(), sides.b.data(), shape.bias ? sides.bias.data() : nullptr, y.data(),
         scratch.data());
  for (std::int64_t i = 0; i < kBehind; ++i) EXPECT_EQ(scratch[index(floats + i)], kUntouched);
  return y;
}

Floats expected(const MatmulShape& shape, const Sides& sides) {
  Floats y = sides.before;
  if (!shape.add) std::fill(y.begin(), y.end(), 0.0F);
  const std::int64_t b_row = shape.transpose_b ? 1 : shape.columns;
  const std::int64_t b_column = shape.transpose_b ? shape.depth : 1;
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    float* const row = y.data() + i * shape.columns;
    for (std::int64_t j = 0; shape.bias && j < shape.columns; ++j) row[j] += sides.bias[index(j)];
    for (std::int64_t k = 0; k < shape.depth; ++k) {
      const float left =
          sides.a[index(shape.transpose_a ? k * shape.rows + i : i * shape.depth + k)];
      const float* const right = sides.b.data() + k * b_row;
      for (std::int64_t j = 0; j < shape.columns; ++j) row[j] += left * right[j * b_column];
    }
  }
  return y;
}

// One more than one block, and two blocks that are not whole, along each side.
TEST(Product, SidesOfSeveralBlocksAreExact) {
  std::mt19937 generator(1);
  const auto fill = [&](std::int64_t n) { return whole_numbers(n, generator); };
  for (const auto& [rows, columns, depth] :
       {std::array<std::int64_t, 3>{49, 100, 1025}, {13, 1600, 70}, {700, 65, 33}, {5, 9, 2100}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const MatmulShape shape{.rows = rows,
                                .columns = columns,
                                .depth = depth,
                                .transpose_a = transpose_a,
                                .transpose_b = transpose_b,
                                .bias = transpose_a,
                                .add = transpose_b};
        const Sides sides = sides_of(shape, fill);
        const Floats wanted = expected(shape, sides);
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " over " +
                     std::to_string(depth));
        on_each_isa([&] { EXPECT_EQ(multiply(shape, sides), wanted); });
      }
    }
  }
}

// One thread's share of the columns is one block, the other one's, a panel wider, is two smaller
// ones: on each instruction set whose panels are 16 or 32 wide.
TEST(Product, SharesAreCutIntoBlocksOfTheirOwn) {
  std::mt19937 generator(3);
  const MatmulShape shape{.rows = 7, .columns = 1550, .depth = 90};
  const Sides sides = sides_of(shape, [&](std::int64_t n) { return whole_numbers(n, generator); });
  const Floats wanted = expected(shape, sides);
  const int threads = core::parallel_parts();
  core::use_threads(2);
  on_each_isa([&] { EXPECT_EQ(multiply(shape, sides), wanted); });
  core::use_threads(threads);
}

TEST(Product, TheNumberOfThreadsDoesNotMatter) {
  std::mt19937 generator(2);
  const auto fill = [&](std::int64_t n) { return normal(n, generator); };
  const int threads = core::parallel_parts();
  for (const bool wide : {false, true}) {
    const MatmulShape shape{
        .rows = wide ? 31 : 331, .columns = wide ? 900 : 77, .depth = 1300, .bias = true};
    const Sides sides = sides_of(shape, fill);
    const Floats y = multiply(shape, sides);
    for (const int other : {1, 3, 5}) {
      core::use_threads(other);
      EXPECT_EQ(multiply(shape, sides), y) << other;
    }
    core::use_threads(threads);
  }
}

}  // namespace
}  // namespace lowtide::kernels
