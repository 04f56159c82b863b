// What a training step does to state: optimizer steps, sums of gradients and of their squares. One
// pass each over contiguous floats; outputs may be the inputs of the same name.
#pragma once

#include <cstdint>
#include <span>

namespace lowtide::kernels {

// g = gradient_scale * gradient + weight_decay * p;
// v' = momentum * v + g;  p' = p - learning_rate * (nesterov ? g + momentum * v' : v').
struct SgdStep {
  float learning_rate = 0;
  float gradient_scale = 1;
  float weight_decay = 0;
  float momentum = 0;
  bool nesterov = false;
};

// v and v_out are null where momentum is 0: then p' = p - learning_rate * g.
struct SgdState {
  const float* p;
  const float* gradient;
  const float* v;
  float* p_out;
  float* v_out;
};
void sgd_step(const SgdStep& step, const SgdState& state, std::int64_t n);

// g = gradient_scale * gradient (+ weight_decay * p unless decoupled);
// m' = beta1 m + new_share g;  v' = beta2 v + (1 - beta2) g^2;
// p' = p - learning_rate * (m' * correction1 / (sqrt(v' * correction2) + epsilon)
//                           + weight_decay * p if decoupled).
struct AdamStep {
  float learning_rate = 0;
  float correction1 = 1;  // 1 / (1 - beta1^t)
  float correction2 = 1;  // 1 / (1 - beta2^t)
  float gradient_scale = 1;
  float beta1 = 0.9F;
  float new_share = 0.1F;  // 1 - beta1
  double beta2 = 0.999;
  float epsilon = 1e-8F;
  float weight_decay = 0;
  bool decoupled = false;
};

struct AdamState {
  const float* p;
  const float* gradient;
  const float* m;
  const float* v;
  float* p_out;
  float* m_out;
  float* v_out;
};
void adam_step(const AdamStep& step, const AdamState& state, std::int64_t n);

// y = sum + x.
void add_floats(const float* sum, const float* x, float* y, std::int64_t n);

// The sum of squares in double precision. Partial sums go to `partial` in a partition that only
// depends on n and on partial.size() (> 0), so the result is the same for any number of threads.
double sum_squares(const float* x, std::int64_t n, std::span<double> partial);

}  // namespace lowtide::kernels
