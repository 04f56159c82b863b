// Softmax attention by blocks: the matrix of weights never exists whole, forward or backward.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/dropout.h"

namespace lowtide::kernels {

// Query head h reads the keys and values of head h / (heads / kv_heads).
struct AttentionSizes {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;     // a divisor of heads
  std::int64_t rows = 0;         // queries
  std::int64_t columns = 0;      // keys
  std::int64_t depth = 0;        // of queries and keys
  std::int64_t value_depth = 0;  // of values and of the result

  bool operator==(const AttentionSizes&) const = default;
};

// Where element (n, h, t, d) of a tensor of heads lies: offset + n batch + h head + t row + d.
struct HeadStrides {
  std::int64_t offset = 0;
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;

  bool operator==(const HeadStrides&) const = default;

  [[nodiscard]] std::int64_t at(std::int64_t n, std::int64_t h, std::int64_t t) const {
    return offset + n * batch + h * head + t * row;
  }
};

// Element (n, h, i, j) of a mask, strides of 0 where it broadcasts. One of the pointers is set, or
// none: `added` to the scores, or `choice`; scores where that is not `kept` become `fill`.
struct AttentionMask {
  const float* added = nullptr;
  const bool* choice = nullptr;
  bool kept = true;
  float fill = 0;
  HeadStrides at;
  std::int64_t column = 0;
};

// y(i) = sum_j w(i, j) v(j), w(i, .) = softmax_j(scale q(i) k(j) + mask), for each n and h. Causal:
// query i sees the keys up to causal_offset + i. A row that sees nothing gives zeros. Dropout,
// where its factor is not 1, numbers the elements of the weights of a sample n as (h, i, j).
struct AttentionProblem {
  AttentionSizes sizes;
  float scale = 1;
  bool causal = false;
  std::int64_t causal_offset = 0;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  HeadStrides q_at;
  HeadStrides k_at;
  HeadStrides v_at;
  AttentionMask mask;
  float dropout_factor = 1;
  DropoutStream dropout;
};

// The result, and for each (n, h, i) two numbers that bring the weights back: the largest score,
// and one over the sum of the exponentials of the scores' distances from it (both 0 for a row that
// sees nothing). The logarithm of the sum would be one number, but says nothing beside a score of
// -1e9.
struct AttentionResult {
  float* y = nullptr;
  HeadStrides y_at;
  float* statistics = nullptr;
};

void attention(const AttentionProblem& p, const AttentionResult& result, std::byte* scratch);

// dq, dk and dv lie as q, k and v do, dy as y. Every element that these views reach is written.
struct AttentionGradients {
  const float* y = nullptr;
  const float* dy = nullptr;
  HeadStrides y_at;
  const float* statistics = nullptr;
  float* dq = nullptr;
  float* dk = nullptr;
  float* dv = nullptr;
};

void attention_gradient(const AttentionProblem& p,
                        const AttentionGradients& gradients,
                        std::byte* scratch);

// Bytes of scratch for either on the pool's threads.
std::int64_t attention_scratch(const AttentionSizes& sizes);

}  // namespace lowtide::kernels
