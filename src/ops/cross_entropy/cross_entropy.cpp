#include "ops/cross_entropy/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "kernels/simd/loss.h"
#include "ops/layout/layout.h"
#include "ops/scalar.h"
#include "ops/strided.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;

constexpr std::size_t kParts = 256;  // partial sums, whatever the number of threads

core::Shape without(const core::Shape& shape, std::size_t axis) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return core::Shape(std::move(dims));
}

std::vector<TensorType> infer(const CrossEntropy& a, Types in) {
  const TensorType& logits = in[0];
  if (!core::is_float(logits.dtype) || logits.shape.rank() < 2 ||
      a.class_axis >= logits.shape.rank()) {
    throw fail(ErrorCode::kInvalidArgument, "cannot take the cross-entropy of {} along axis {}",
               logits.str(), a.class_axis);
  }
  const TensorType labels{DType::kInt64, without(logits.shape, a.class_axis)};
  if (in[1] != labels) {
    throw fail(ErrorCode::kInvalidArgument, "labels of {} must be {}, not {}", logits.str(),
               labels.str(), in[1].str());
  }
  if (!is_real_scalar(in[2])) {
    throw fail(ErrorCode::kInvalidArgument, "the normalizer must be one number, not {}",
               in[2].str());
  }
  const core::Shape classes{logits.shape[a.class_axis]};
  if (a.has_weights && (in[3].shape != classes || in[3].dtype != logits.dtype)) {
    throw fail(ErrorCode::kInvalidArgument, "class weights for {} must have shape {}, not {}",
               logits.str(), classes.str(), in[3].str());
  }
  return {{DType::kFloat64, {}}, {DType::kInt64, {}}};
}

std::vector<TensorType> infer_gradient(const CrossEntropyGradient&, Types in) { return {in[0]}; }

// The loss may be the graph's root, whose gradient is 1 and not a value.
InputGradients gradient(const CrossEntropy& a, GradientContext& g) {
  InputGradients result(g.input_count());
  if (!g.needs(0)) return result;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < g.input_count(); ++i) inputs.push_back(g.in(i));
  const bool scaled = g.out_gradient(0).valid();
  if (scaled) inputs.push_back(g.out_gradient(0));
  result[0] = g.builder().add_one(
      cross_entropy_gradient_op(),
      Attrs::of(CrossEntropyGradient{.loss = a, .has_loss_gradient = scaled}), std::move(inputs));
  return result;
}

Cost cost(const CrossEntropy&, const Signature& types) {
  return {.flops = 16.0 * static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes()};
}

Cost cost_of_gradient(const CrossEntropyGradient&, const Signature& types) {
  return {.flops = 18.0 * static_cast<double>(types.in[0].shape.elements()),
          .traffic = 2 * types.in[0].bytes()};
}

// Whether the classes of one sample lie side by side, samples in the labels' order.
bool class_rows(const TensorType& logits, std::size_t axis) {
  if (logits.layout == core::Layout::kChannelsLast) return axis == 1;
  return split_at(logits.shape, axis).inner == 1;
}

bool float_rows(const CrossEntropy& a, const Signature& types) {
  return types.in[0].dtype == DType::kFloat32 && class_rows(types.in[0], a.class_axis);
}

bool float_rows_gradient(const CrossEntropyGradient& a, const Signature& types) {
  return float_rows(a.loss, types);
}

kernels::CrossEntropyRows rows_of(const CrossEntropy& a, const Signature& types, const Run& run) {
  return {.logits = run.input<float>(0),
          .labels = run.input<std::int64_t>(1),
          .weights = a.has_weights ? run.input<float>(3) : nullptr,
          .rows = types.in[1].shape.elements(),
          .classes = types.in[0].shape[a.class_axis],
          .ignore_index = a.ignore_index,
          .label_smoothing = a.label_smoothing};
}

Bytes scratch(const CrossEntropy&, const Signature&) {
  return Bytes(kParts * sizeof(kernels::CrossEntropySum));
}

void run_rows(const CrossEntropy& a, const Signature& types, const Run& run) {
  auto* const partial = reinterpret_cast<kernels::CrossEntropySum*>(run.scratch.data());
  const kernels::CrossEntropySum sum =
      kernels::cross_entropy_sum(rows_of(a, types, run), {partial, kParts});
  *run.output<double>(0) = sum.loss * real_input(types, run, 2);
  *run.output<std::int64_t>(1) = sum.correct;
}

double factor_of(const CrossEntropyGradient& a, const Signature& types, const Run& run) {
  const double outer = a.has_loss_gradient ? real_input(types, run, types.in.size() - 1) : 1.0;
  return outer * real_input(types, run, 2);
}

void run_rows_gradient(const CrossEntropyGradient& a, const Signature& types, const Run& run) {
  kernels::cross_entropy_gradient(rows_of(a.loss, types, run), factor_of(a, types, run),
                                  run.output<float>(0));
}

// Calls f(label, index of the sample's first logit) for the samples that count, and
// ignored(index) for the others.
template <class F, class G>
void for_each_sample(
    const CrossEntropy& a, const Signature& types, const Run& run, F&& f, G&& ignored) {
  std::vector<std::int64_t> strides = core::strides(types.in[0]);
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(a.class_axis));
  const std::int64_t* label = run.input<std::int64_t>(1);
  for (Index i(types.in[1].shape); i.valid(); i.next(), ++label) {
    const bool counts =
        *label >= 0 && *label < types.in[0].shape[a.class_axis] && *label != a.ignore_index;
    if (counts) {
      f(*label, i.offset(strides));
    } else {
      ignored(i.offset(strides));
    }
  }
}

// The logits of one sample, and their largest and log-sum-exp.
template <class T>
struct Sample {
  Sample(const T* logits, std::int64_t class_step, std::int64_t class_count)
      : z(logits), step(class_step), classes(class_count) {
    for (std::int64_t c = 0; c < classes; ++c) maximum = std::max(maximum, (*this)[c]);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp((*this)[c] - maximum);
    log_sum = std::log(sum);
  }

  [[nodiscard]] double operator[](std::int64_t c) const { return double{z[c * step]}; }
  [[nodiscard]] double minus_log_p(std::int64_t c) const {
    return log_sum - ((*this)[c] - maximum);
  }

  const T* z;
  std::int64_t step;
  std::int64_t classes;
  double maximum = -INFINITY;
  double log_sum = 0;
};

double weight_of(const CrossEntropy& a, const Signature& types, const Run& run, std::int64_t c) {
  return a.has_weights ? real_input(types, run, 3, c) : 1.0;
}

void run_reference(const CrossEntropy& a, const Signature& types, const Run& run) {
  double loss = 0;
  std::int64_t correct = 0;
  const std::int64_t classes = types.in[0].shape[a.class_axis];
  const std::int64_t step = core::strides(types.in[0])[a.class_axis];
  const double spread = a.label_smoothing / static_cast<double>(classes);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto count = [&](std::int64_t label, std::int64_t at) {
      const Sample<T> sample(run.input<T>(0) + at, step, classes);
      loss += (1 - a.label_smoothing) * weight_of(a, types, run, label) * sample.minus_log_p(label);
      std::int64_t best = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        if (spread != 0) loss += spread * weight_of(a, types, run, c) * sample.minus_log_p(c);
        if (sample[c] > sample[best]) best = c;
      }
      if (best == label) ++correct;
    };
    for_each_sample(a, types, run, count, [](std::int64_t) {});
  });
  *run.output<double>(0) = loss * real_input(types, run, 2);
  *run.output<std::int64_t>(1) = correct;
}

void run_reference_gradient(const CrossEntropyGradient& g, const Signature& types, const Run& run) {
  const CrossEntropy& a = g.loss;
  const std::int64_t classes = types.in[0].shape[a.class_axis];
  const std::int64_t step = core::strides(types.in[0])[a.class_axis];
  const double factor = factor_of(g, types, run);
  const double spread = factor * a.label_smoothing / static_cast<double>(classes);
  double all_weights = 0;
  for (std::int64_t c = 0; c < classes; ++c) all_weights += weight_of(a, types, run, c);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto differentiate = [&](std::int64_t label, std::int64_t at) {
      const Sample<T> sample(run.input<T>(0) + at, step, classes);
      T* const dz = run.output<T>(0) + at;
      const double at_label = factor * (1 - a.label_smoothing) * weight_of(a, types, run, label);
      for (std::int64_t c = 0; c < classes; ++c) {
        const double p = std::exp(-sample.minus_log_p(c));
        const double target = spread * weight_of(a, types, run, c) + (c == label ? at_label : 0);
        dz[c * step] = static_cast<T>((at_label + spread * all_weights) * p - target);
      }
    };
    for_each_sample(a, types, run, differentiate, [&](std::int64_t at) {
      for (std::int64_t c = 0; c < classes; ++c) run.output<T>(0)[at + c * step] = 0;
    });
  });
}

}  // namespace

const OpDef& cross_entropy_op() {
  static const TypedOp<CrossEntropy> op{{
      .name = "CrossEntropy",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kNever,
      .kernels =
          {{.name = "simd_rows", .supports = float_rows, .scratch = scratch, .run = run_rows},
           {.name = "reference", .run = run_reference}},
  }};
  return op;
}

const OpDef& cross_entropy_gradient_op() {
  static const TypedOp<CrossEntropyGradient> op{{
      .name = "CrossEntropyGradient",
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_gradient,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .kernels = {{.name = "simd_rows", .supports = float_rows_gradient, .run = run_rows_gradient},
                  {.name = "reference", .run = run_reference_gradient}},
  }};
  return op;
}

LossValues cross_entropy(GraphBuilder& b,
                         ValueId logits,
                         ValueId labels,
                         ValueId normalizer,
                         CrossEntropy attributes,
                         ValueId weights) {
  const std::size_t rank = b.type(logits).shape.rank();
  logits =
      rank >= 3 && attributes.class_axis == 1 ? to_channels_last(b, logits) : to_plain(b, logits);
  attributes.has_weights = weights.valid();
  std::vector<ValueId> inputs = {logits, to_plain(b, labels), normalizer};
  if (weights.valid()) inputs.push_back(weights);
  const Phase before = b.phase();
  b.set_phase(Phase::kLoss);
  const std::vector<ValueId> out =
      b.add(cross_entropy_op(), Attrs::of(attributes), std::move(inputs));
  b.set_phase(before);
  return {.loss = out[0], .correct = out[1]};
}

}  // namespace lowtide::ops
