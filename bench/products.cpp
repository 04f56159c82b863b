// Matrix products of training steps: our tiles against oneDNN's, and both against what the machine
// can do in registers. They take turns; the best of several counts. Every product finds its sides
// in memory that others have used since, as in a step.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "kernels/dnnl/matmul.h"
#include "kernels/simd/peak.h"
#include "kernels/simd/product/matmul.h"
#include "kernels/simd/target.h"

namespace lowtide {
namespace {

constexpr int kRounds = 8;

struct Case {
  const char* what;
  std::int64_t rows, columns, depth;
  bool transpose_a, transpose_b;
};

// Forward, gradient of the input, gradient of the weights: ViT-B/16 batch 8, GPT-2 4 x 256.
constexpr Case kCases[] = {
    {"vit qkv", 1576, 2304, 768, false, false},
    {"vit qkv dx", 1576, 768, 2304, false, true},
    {"vit qkv dw", 768, 2304, 1576, true, false},
    {"vit proj", 1576, 768, 768, false, false},
    {"vit proj dx", 1576, 768, 768, false, true},
    {"vit proj dw", 768, 768, 1576, true, false},
    {"vit fc1", 1576, 3072, 768, false, false},
    {"vit fc1 dx", 1576, 768, 3072, false, true},
    {"vit fc1 dw", 768, 3072, 1576, true, false},
    {"vit fc2", 1576, 768, 3072, false, false},
    {"vit fc2 dx", 1576, 3072, 768, false, true},
    {"vit fc2 dw", 3072, 768, 1576, true, false},
    {"gpt2 fc1", 1024, 3072, 768, false, false},
    {"gpt2 fc1 dx", 1024, 768, 3072, false, true},
    {"gpt2 fc1 dw", 768, 3072, 1024, true, false},
    {"gpt2 fc2 dw", 3072, 768, 1024, true, false},
    // The head over a large vocabulary, some rows at a time.
    {"gpt2 head", 342, 50257, 768, false, true},
    {"gpt2 head dx", 342, 768, 50257, false, false},
    {"gpt2 head dw", 50257, 768, 342, true, false},
};

template <class F>
double seconds_of(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void compare(const Case& c, double peak) {
  const kernels::MatmulShape shape{.rows = c.rows,
                                   .columns = c.columns,
                                   .depth = c.depth,
                                   .transpose_a = c.transpose_a,
                                   .transpose_b = c.transpose_b};
  const auto zeros = [](std::int64_t n) { return std::vector<float>(static_cast<std::size_t>(n)); };
  std::vector<float> a = zeros(c.rows * c.depth);
  std::vector<float> b = zeros(c.depth * c.columns);
  std::vector<float> y = zeros(c.rows * c.columns);
  std::vector<float> other = zeros(16 << 20);
  std::fill(a.begin(), a.end(), 0.5F);
  std::fill(b.begin(), b.end(), 0.25F);
  std::vector<float> scratch = zeros(kernels::matmul_scratch(shape));
  const std::unique_ptr<kernels::Computation> library = kernels::make_matmul(shape);
  std::vector<std::byte> library_scratch(
      library ? static_cast<std::size_t>(library->scratch().count()) : 0);
  const std::byte* const in[] = {reinterpret_cast<const std::byte*>(a.data()),
                                 reinterpret_cast<const std::byte*>(b.data())};
  double ours = std::numeric_limits<double>::infinity();
  double theirs = ours;
  for (int i = 0; i < kRounds; ++i) {
    std::fill(other.begin(), other.end(), static_cast<float>(i));
    ours = std::min(ours, seconds_of([&] {
                      kernels::matmul(shape, a.data(), b.data(), nullptr, y.data(), scratch.data());
                    }));
    if (!library) continue;
    std::fill(other.begin(), other.end(), static_cast<float>(i));
    theirs =
        std::min(theirs, seconds_of([&] {
                   library->run(in, reinterpret_cast<std::byte*>(y.data()), library_scratch.data());
                 }));
  }
  const double giga = 2e-9 * static_cast<double>(c.rows * c.columns * c.depth);
  fmt::print("{:<14}{:>8.0f}{:>10.0f}{:>8.2f}{:>10.2f}\n", c.what, giga / ours, giga / theirs,
             ours / theirs, giga * 1e9 / ours / peak);
}

}  // namespace
}  // namespace lowtide

// The argument, if there is one, names the instruction set to keep to.
int main(int argc, char** argv) {
  using namespace lowtide;  // NOLINT(google-build-using-namespace): the program's own
  if (argc > 1) kernels::hold_to_isa(core::parse_isa(argv[1]));
  const double peak = kernels::peak_flops_per_second();
  fmt::print("GFLOP/s on {} threads; {:.0f} in registers\n{:<14}{:>8}{:>10}{:>8}{:>10}\n",
             core::parallel_parts(), peak * 1e-9, "product", "ours", "oneDNN", "ratio", "of peak");
  for (const Case& c : kCases) compare(c, peak);
  return EXIT_SUCCESS;
}
