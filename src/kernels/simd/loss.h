// Losses and their gradients over contiguous floats. Sums run in double precision over a partition
// that does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace lowtide::kernels {

// Rows of `classes` logits, a label each. A row whose label is `ignore_index` or no class counts
// for nothing. A row's loss is (1 - s) w[y] (-log p[y]) + s / classes * sum_c w[c] (-log p[c]) with
// p = softmax(logits), s = label_smoothing, and w = 1 where weights is null.
struct CrossEntropyRows {
  const float* logits = nullptr;
  const std::int64_t* labels = nullptr;
  const float* weights = nullptr;
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  std::optional<std::int64_t> ignore_index;
  double label_smoothing = 0;
};

// Sum of the losses, and how many rows have their first largest logit at the label.
struct CrossEntropySum {
  double loss = 0;
  std::int64_t correct = 0;
};

CrossEntropySum cross_entropy_sum(const CrossEntropyRows& x, std::span<CrossEntropySum> partial);

// gradient = factor * d(sum of losses) / d(logits); may overwrite the logits.
void cross_entropy_gradient(const CrossEntropyRows& x, double factor, float* gradient);

// Losses of one prediction z and one target t each, d = z - t.
enum class PairLossKind : std::uint8_t {
  kSquaredError,        // d^2
  kAbsoluteError,       // |d|, with gradient 0 where d is 0
  kHuber,               // d^2 / 2 where |d| <= p, else p (|d| - p / 2)
  kBinaryCrossEntropy,  // -(p t log s + (1 - t) log(1 - s)), s = 1 / (1 + exp(-z))
};

struct PairLoss {
  PairLossKind kind = PairLossKind::kSquaredError;
  float parameter = 1;  // p, positive: Huber's bend, or the weight of positive targets

  bool operator==(const PairLoss&) const = default;
};

double pair_loss_sum(const PairLoss& loss,
                     const float* prediction,
                     const float* target,
                     std::int64_t n,
                     std::span<double> partial);

// gradient = factor * d(sum of losses) / d(prediction); may overwrite either input.
void pair_loss_gradient(const PairLoss& loss,
                        const float* prediction,
                        const float* target,
                        double factor,
                        float* gradient,
                        std::int64_t n);

}  // namespace lowtide::kernels
