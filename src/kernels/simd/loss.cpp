#include "kernels/simd/loss.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/loss.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: its own order.
#include <hwy/contrib/math/math-inl.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

HWY_ATTR double sum_of(V v) {
  const D d;
  return double{hn::GetLane(hn::SumOfLanes(d, v))};
}

HWY_ATTR float RowMaximum(const float* x, std::int64_t n) {
  const D d;
  V high = hn::Set(d, -INFINITY);
  for_each_vector(x, n, -INFINITY,
                  [&](V v, std::int64_t, std::int64_t) HWY_ATTR { high = hn::Max(high, v); });
  return hn::GetLane(hn::MaxOfLanes(d, high));
}

// Elements summed in float32 before they join a double: enough to be fast, few enough to be exact.
constexpr std::int64_t kStretch = 4096;

HWY_ATTR double RowExpSum(const float* x, std::int64_t n, float maximum) {
  const D d;
  double total = 0;
  for (std::int64_t first = 0; first < n; first += kStretch) {
    V sum = hn::Zero(d);
    for_each_vector(x + first, std::min(kStretch, n - first), -INFINITY,
                    [&](V v, std::int64_t, std::int64_t)
                        HWY_ATTR { sum = hn::Add(sum, exp_of(hn::Sub(v, hn::Set(d, maximum)))); });
    total += sum_of(sum);
  }
  return total;
}

// sum_c w[c] (log_sum - (x[c] - maximum)).
HWY_ATTR double RowSmoothed(const CrossEntropyRows& rows,
                            const float* x,
                            float maximum,
                            double log_sum) {
  const D d;
  const auto shift = static_cast<float>(log_sum);
  double total = 0;
  for (std::int64_t first = 0; first < rows.classes; first += kStretch) {
    V sum = hn::Zero(d);
    for_each_vector(x + first, std::min(kStretch, rows.classes - first), maximum + shift,
                    [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
                      const V term = hn::Sub(hn::Set(d, shift), hn::Sub(v, hn::Set(d, maximum)));
                      if (rows.weights == nullptr) {
                        const auto used = hn::FirstN(d, static_cast<std::size_t>(count));
                        sum = hn::Add(sum, hn::IfThenElseZero(used, term));
                      } else {
                        const float* const w = rows.weights + first + i;
                        const V weight = load(w, count);
                        const auto used = hn::FirstN(d, static_cast<std::size_t>(count));
                        sum = hn::Add(sum, hn::IfThenElseZero(used, hn::Mul(weight, term)));
                      }
                    });
    total += sum_of(sum);
  }
  return total;
}

// The label of a row, or -1 where the row counts for nothing.
inline std::int64_t counted_label(const CrossEntropyRows& x, std::int64_t row) {
  const std::int64_t label = x.labels[row];
  return label < 0 || label >= x.classes || label == x.ignore_index ? -1 : label;
}

HWY_ATTR CrossEntropySum CrossEntropy(const CrossEntropyRows& rows,
                                      std::int64_t begin,
                                      std::int64_t end) {
  CrossEntropySum sum;
  const double s = rows.label_smoothing;
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t label = counted_label(rows, row);
    if (label < 0) continue;
    const float* const x = rows.logits + row * rows.classes;
    const float maximum = RowMaximum(x, rows.classes);
    const double log_sum = std::log(RowExpSum(x, rows.classes, maximum));
    const double weight = rows.weights == nullptr ? 1.0 : double{rows.weights[label]};
    sum.loss += (1 - s) * weight * (log_sum - double{x[label] - maximum});
    if (s != 0) {
      sum.loss += s / static_cast<double>(rows.classes) * RowSmoothed(rows, x, maximum, log_sum);
    }
    if (x[label] == maximum && std::find(x, x + label, maximum) == x + label) ++sum.correct;
  }
  return sum;
}

// d/dx[c] = a p[c] - (c == y) (1 - s) w[y] - s / classes w[c], a being the sum of the two factors
// over all classes. exp(x - maximum) passes through the output.
HWY_ATTR void CrossEntropyGradient(const CrossEntropyRows& rows,
                                   double factor,
                                   double sum_of_weights,
                                   float* gradient,
                                   std::int64_t begin,
                                   std::int64_t end) {
  const D d;
  const std::int64_t n = rows.classes;
  const double smoothed = factor * rows.label_smoothing / static_cast<double>(n);
  const V each = hn::Set(d, static_cast<float>(smoothed));
  for (std::int64_t row = begin; row < end; ++row) {
    const float* const x = rows.logits + row * n;
    float* const y = gradient + row * n;
    const std::int64_t label = counted_label(rows, row);
    if (label < 0) {
      std::fill(y, y + n, 0.0F);
      continue;
    }
    const V maximum = hn::Set(d, RowMaximum(x, n));
    double total = 0;
    for (std::int64_t first = 0; first < n; first += kStretch) {
      V sum = hn::Zero(d);
      for_each_vector(x + first, std::min(kStretch, n - first), -INFINITY,
                      [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
                        const V e = exp_of(hn::Sub(v, maximum));
                        sum = hn::Add(sum, e);
                        store(e, y + first + i, count);
                      });
      total += sum_of(sum);
    }
    const double weight = rows.weights == nullptr ? 1.0 : double{rows.weights[label]};
    const double at_label = factor * (1 - rows.label_smoothing) * weight;
    const V scale = hn::Set(d, static_cast<float>((at_label + smoothed * sum_of_weights) / total));
    for_each_vector(y, n, 0, [&](V e, std::int64_t i, std::int64_t count) HWY_ATTR {
      V take = each;
      if (rows.weights != nullptr) {
        const float* const w = rows.weights + i;
        take = hn::Mul(each, load(w, count));
      }
      store(hn::MulSub(e, scale, take), y + i, count);
    });
    y[label] -= static_cast<float>(at_label);
  }
}

// max(z, 0) - z t + log(1 + exp(-|z|)); with a weight p of positives
// (1 - t) z + (1 + (p - 1) t) (log(1 + exp(-|z|)) + max(-z, 0)).
HWY_ATTR V binary_cross_entropy(float weight, V z, V t) {
  const D d;
  const V zero = hn::Zero(d);
  const V tail = hn::Log1p(d, exp_of(hn::Neg(hn::Abs(z))));
  if (weight == 1) return hn::Add(hn::NegMulAdd(z, t, hn::Max(z, zero)), tail);
  const V one = hn::Set(d, 1.0F);
  const V share = hn::MulAdd(hn::Set(d, weight - 1), t, one);
  return hn::MulAdd(share, hn::Add(tail, hn::Max(hn::Neg(z), zero)), hn::Mul(hn::Sub(one, t), z));
}

HWY_ATTR V pair_loss(const PairLoss& loss, V z, V t) {
  const D d;
  const V difference = hn::Sub(z, t);
  switch (loss.kind) {
    case PairLossKind::kSquaredError: break;
    case PairLossKind::kAbsoluteError: return hn::Abs(difference);
    case PairLossKind::kHuber: {
      const V far = hn::Abs(difference);
      const V bent = hn::Min(far, hn::Set(d, loss.parameter));
      return hn::Mul(bent, hn::NegMulAdd(hn::Set(d, 0.5F), bent, far));
    }
    case PairLossKind::kBinaryCrossEntropy: return binary_cross_entropy(loss.parameter, z, t);
  }
  return hn::Mul(difference, difference);
}

// The sigmoid from exp(-|z|), which cannot overflow.
HWY_ATTR V sigmoid_of(V z) {
  const D d;
  const V one = hn::Set(d, 1.0F);
  const V e = exp_of(hn::Neg(hn::Abs(z)));
  const V top = hn::IfThenElse(hn::Lt(z, hn::Zero(d)), e, one);
  return hn::Div(top, hn::Add(one, e));
}

// Half the gradient of a squared error, the gradient of any other.
HWY_ATTR V pair_gradient(const PairLoss& loss, V z, V t) {
  const D d;
  const V difference = hn::Sub(z, t);
  switch (loss.kind) {
    case PairLossKind::kSquaredError: break;
    case PairLossKind::kAbsoluteError:
      return hn::IfThenElseZero(hn::Ne(difference, hn::Zero(d)),
                                hn::CopySign(hn::Set(d, 1.0F), difference));
    case PairLossKind::kHuber:
      return hn::Min(hn::Max(difference, hn::Set(d, -loss.parameter)), hn::Set(d, loss.parameter));
    case PairLossKind::kBinaryCrossEntropy: {
      if (loss.parameter == 1) return hn::Sub(sigmoid_of(z), t);
      const V one = hn::Set(d, 1.0F);
      const V share = hn::MulAdd(hn::Set(d, loss.parameter - 1), t, one);
      return hn::NegMulAdd(share, sigmoid_of(hn::Neg(z)), hn::Sub(one, t));
    }
  }
  return difference;
}

// Of a padded lane both are zero apart from the logarithm, which is taken off.
HWY_ATTR double PairLossSum(const PairLoss& loss, const float* z, const float* t, std::int64_t n) {
  const D d;
  double total = 0;
  for (std::int64_t first = 0; first < n; first += kStretch) {
    V sum = hn::Zero(d);
    for_each_vector(z + first, std::min(kStretch, n - first), 0,
                    [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
                      const float* const target = t + first + i;
                      if (count == static_cast<std::int64_t>(hn::Lanes(d))) {
                        sum = hn::Add(sum, pair_loss(loss, v, hn::LoadU(d, target)));
                      } else {
                        const auto used = hn::FirstN(d, static_cast<std::size_t>(count));
                        const V last = pair_loss(loss, v, load(target, count));
                        sum = hn::Add(sum, hn::IfThenElseZero(used, last));
                      }
                    });
    total += sum_of(sum);
  }
  return total;
}

HWY_ATTR void PairLossGradient(
    const PairLoss& loss, const float* z, const float* t, float factor, float* y, std::int64_t n) {
  const D d;
  const bool squared = loss.kind == PairLossKind::kSquaredError;
  const V scale = hn::Set(d, squared ? 2 * factor : factor);
  for_each_vector(z, n, 0, [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
    store(hn::Mul(scale, pair_gradient(loss, v, load(t + i, count))), y + i, count);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(CrossEntropy);
HWY_EXPORT(CrossEntropyGradient);
HWY_EXPORT(PairLossSum);
HWY_EXPORT(PairLossGradient);

namespace {

constexpr std::int64_t kElementsPerThread = 8192;  // an exponential or more for each

// Cuts [0, count) into at most `parts` equal stretches of at least `least` items.
struct Stretches {
  Stretches(std::int64_t items, std::size_t parts, std::int64_t least)
      : each(std::max(
            (items + static_cast<std::int64_t>(parts) - 1) / static_cast<std::int64_t>(parts),
            least)),
        used((items + each - 1) / each) {}

  std::int64_t each;
  std::int64_t used;
};

}  // namespace

CrossEntropySum cross_entropy_sum(const CrossEntropyRows& x, std::span<CrossEntropySum> partial) {
  const Stretches cut(x.rows, partial.size(), kElementsPerThread / (x.classes + 1) + 1);
  core::parallel_for(cut.used, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      partial[static_cast<std::size_t>(part)] = HWY_DYNAMIC_DISPATCH(CrossEntropy)(
          x, part * cut.each, std::min((part + 1) * cut.each, x.rows));
    }
  });
  CrossEntropySum sum;
  for (std::int64_t part = 0; part < cut.used; ++part) {
    sum.loss += partial[static_cast<std::size_t>(part)].loss;
    sum.correct += partial[static_cast<std::size_t>(part)].correct;
  }
  return sum;
}

void cross_entropy_gradient(const CrossEntropyRows& x, double factor, float* gradient) {
  double sum_of_weights = static_cast<double>(x.classes);
  if (x.weights != nullptr) {
    sum_of_weights = 0;
    for (std::int64_t c = 0; c < x.classes; ++c) sum_of_weights += double{x.weights[c]};
  }
  const std::int64_t grain = kElementsPerThread / (x.classes + 1) + 1;
  core::parallel_for(x.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(CrossEntropyGradient)(x, factor, sum_of_weights, gradient, begin, end);
  });
}

double pair_loss_sum(const PairLoss& loss,
                     const float* prediction,
                     const float* target,
                     std::int64_t n,
                     std::span<double> partial) {
  const Stretches cut(n, partial.size(), kElementsPerThread);
  core::parallel_for(cut.used, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part * cut.each;
      partial[static_cast<std::size_t>(part)] = HWY_DYNAMIC_DISPATCH(PairLossSum)(
          loss, prediction + first, target + first, std::min(cut.each, n - first));
    }
  });
  double sum = 0;
  for (std::int64_t part = 0; part < cut.used; ++part) {
    sum += partial[static_cast<std::size_t>(part)];
  }
  return sum;
}

void pair_loss_gradient(const PairLoss& loss,
                        const float* prediction,
                        const float* target,
                        double factor,
                        float* gradient,
                        std::int64_t n) {
  core::parallel_for(n, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(PairLossGradient)
    (loss, prediction + begin, target + begin, static_cast<float>(factor), gradient + begin,
     end - begin);
  });
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
