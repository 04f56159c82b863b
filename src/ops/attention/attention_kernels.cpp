#include "ops/attention/attention_kernels.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/random.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::Shape;
using kernels::HeadStrides;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The strides of a mask of this shape as it broadcasts to the scores.
kernels::AttentionMask mask_strides(const Shape& shape) {
  std::array<std::int64_t, 4> strides{};
  std::int64_t stride = 1;
  for (std::size_t i = 1; i <= shape.rank(); ++i) {
    const std::int64_t dim = shape[shape.rank() - i];
    strides[4 - i] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
  return {.at = {.batch = strides[0], .head = strides[1], .row = strides[2]}, .column = strides[3]};
}

kernels::AttentionMask mask_of(const Attention& a, const Signature& types) {
  return a.mask == MaskKind::kNone ? kernels::AttentionMask()
                                   : mask_strides(types.in[head_tensors(a)].shape);
}

bool has_choice(const Attention& a) {
  return a.mask == MaskKind::kKept || a.mask == MaskKind::kHidden;
}

bool drops(const Attention& a) { return a.dropout.active && a.dropout.ratio > 0; }

bool in_float(const Attention&, const Signature& types) {
  return types.in[0].dtype == core::DType::kFloat32;
}

bool gradient_in_float(const AttentionGradient& a, const Signature& types) {
  return in_float(a.forward, types);
}

Bytes scratch(const Attention& a, const Signature&) {
  return Bytes(kernels::attention_scratch(a.sizes));
}

Bytes scratch_of_gradient(const AttentionGradient& a, const Signature&) {
  return Bytes(kernels::attention_scratch(a.forward.sizes));
}

kernels::AttentionProblem problem(const Attention& a, const Signature& types, const Run& run) {
  kernels::AttentionProblem p{.sizes = a.sizes,
                              .scale = static_cast<float>(a.scale),
                              .causal = a.causal,
                              .causal_offset = a.causal_offset,
                              .q = run.input<float>(a.q.input),
                              .k = run.input<float>(a.k.input),
                              .v = run.input<float>(a.v.input),
                              .q_at = a.q.at,
                              .k_at = a.k.at,
                              .v_at = a.v.at,
                              .mask = mask_of(a, types)};
  p.mask.fill = static_cast<float>(a.fill);
  if (a.mask == MaskKind::kAdded) p.mask.added = run.input<float>(head_tensors(a));
  if (has_choice(a)) p.mask.choice = run.input<bool>(head_tensors(a));
  p.mask.kept = a.mask == MaskKind::kKept;
  if (drops(a)) {
    p.dropout_factor = static_cast<float>(1 / (1 - a.dropout.ratio));
    p.dropout = stream_at(a.dropout, *run.step);
  }
  return p;
}

void run_blocks(const Attention& a, const Signature& types, const Run& run) {
  kernels::attention(
      problem(a, types, run),
      {.y = run.output<float>(0), .y_at = a.y_at, .statistics = run.output<float>(1)},
      run.scratch.data());
}

void run_gradient_blocks(const AttentionGradient& g, const Signature& types, const Run& run) {
  const Attention& a = g.forward;
  const std::size_t first = forward_inputs(a);
  kernels::attention_gradient(problem(a, types, run),
                              {.y = run.input<float>(first),
                               .dy = run.input<float>(first + 2),
                               .y_at = a.y_at,
                               .statistics = run.input<float>(first + 1),
                               .dq = run.output<float>(a.q.input),
                               .dk = run.output<float>(a.k.input),
                               .dv = run.output<float>(a.v.input)},
                              run.scratch.data());
}

// ---- Reference kernels

// One query of one head, and what it makes of the keys.
template <class T>
class Row {
 public:
  Row(const Attention& a, const Signature& types, const Run& run, double* weights)
      : a_(a), mask_(mask_of(a, types)), run_(run), weights_(weights) {
    if (drops(a)) stream_ = stream_at(a.dropout, *run.step);
  }

  // Computes the weights of query i; returns the largest score and one over the sum of
  // exponentials.
  std::pair<double, double> attend(std::int64_t n, std::int64_t h, std::int64_t i) {
    n_ = n;
    h_ = h;
    i_ = i;
    double high = -kInfinity;
    for (std::int64_t j = 0; j < a_.sizes.columns; ++j) {
      weights_[j] = score(j);
      high = std::max(high, weights_[j]);
    }
    if (high == -kInfinity) {
      std::fill_n(weights_, a_.sizes.columns, 0.0);
      return {0, 0};
    }
    double sum = 0;
    for (std::int64_t j = 0; j < a_.sizes.columns; ++j) sum += std::exp(weights_[j] - high);
    for (std::int64_t j = 0; j < a_.sizes.columns; ++j) {
      weights_[j] = std::exp(weights_[j] - high) / sum;
    }
    return {high, 1 / sum};
  }

  // Where key j lies; values likewise.
  [[nodiscard]] std::int64_t at(const HeadInput& x, std::int64_t j) const {
    return x.at.at(n_, h_ / (a_.sizes.heads / a_.sizes.kv_heads), j);
  }

  [[nodiscard]] double weight(std::int64_t j) const { return weights_[j]; }

  // Whether the mask keeps the score, so that it depends on the query and the key.
  [[nodiscard]] bool kept(std::int64_t j) const {
    if (!has_choice(a_)) return true;
    return run_.input<bool>(head_tensors(a_))[mask_at(j)] == (a_.mask == MaskKind::kKept);
  }

  // What dropout multiplies the weight by.
  [[nodiscard]] double dropped(std::int64_t j) const {
    if (!drops(a_)) return 1;
    const auto element =
        static_cast<std::uint64_t>((h_ * a_.sizes.rows + i_) * a_.sizes.columns + j);
    const std::uint64_t high =
        stream_.step << 32U | (stream_.first_sample + static_cast<std::uint64_t>(n_));
    const core::Philox words = core::philox(stream_.key, element / 4, high);
    return words[element % 4] >= stream_.threshold ? 1 / (1 - a_.dropout.ratio) : 0;
  }

 private:
  [[nodiscard]] std::int64_t mask_at(std::int64_t j) const {
    return mask_.at.at(n_, h_, i_) + j * mask_.column;
  }

  [[nodiscard]] double score(std::int64_t j) const {
    if (a_.causal && j > i_ + a_.causal_offset) return -kInfinity;
    if (!kept(j)) return a_.fill;
    const T* const q = run_.input<T>(a_.q.input) + a_.q.at.at(n_, h_, i_);
    const T* const k = run_.input<T>(a_.k.input) + at(a_.k, j);
    double sum = 0;
    for (std::int64_t e = 0; e < a_.sizes.depth; ++e) sum += double{q[e]} * double{k[e]};
    const bool added = a_.mask == MaskKind::kAdded;
    return a_.scale * sum + (added ? double{run_.input<T>(head_tensors(a_))[mask_at(j)]} : 0.0);
  }

  const Attention& a_;
  kernels::AttentionMask mask_;
  const Run& run_;
  double* weights_;
  kernels::DropoutStream stream_;
  std::int64_t n_ = 0;
  std::int64_t h_ = 0;
  std::int64_t i_ = 0;
};

template <class F>
void for_each_query(const kernels::AttentionSizes& sizes, F&& f) {
  for (std::int64_t n = 0; n < sizes.batch; ++n) {
    for (std::int64_t h = 0; h < sizes.heads; ++h) {
      for (std::int64_t i = 0; i < sizes.rows; ++i) f(n, h, i);
    }
  }
}

Bytes reference_scratch(const Attention& a, const Signature&) {
  return Bytes(a.sizes.columns * static_cast<std::int64_t>(sizeof(double)));
}

Bytes reference_gradient_scratch(const AttentionGradient& g, const Signature& types) {
  return reference_scratch(g.forward, types);
}

void run_reference(const Attention& a, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Row<T> row(a, types, run, reinterpret_cast<double*>(run.scratch.data()));
    T* statistics = run.output<T>(1);
    for_each_query(a.sizes, [&](std::int64_t n, std::int64_t h, std::int64_t i) {
      const auto [high, inverse] = row.attend(n, h, i);
      *statistics++ = static_cast<T>(high);
      *statistics++ = static_cast<T>(inverse);
      T* const y = run.output<T>(0) + a.y_at.at(n, h, i);
      for (std::int64_t e = 0; e < a.sizes.value_depth; ++e) {
        double sum = 0;
        for (std::int64_t j = 0; j < a.sizes.columns; ++j) {
          const double v = double{run.input<T>(a.v.input)[row.at(a.v, j) + e]};
          sum += row.weight(j) * row.dropped(j) * v;
        }
        y[e] = static_cast<T>(sum);
      }
    });
  });
}

// Adds what query i of one head gives to all gradients.
template <class T>
void add_gradients(
    const Attention& a, const Run& run, const Row<T>& row, const T* dy, std::int64_t q_at) {
  const T* const v = run.input<T>(a.v.input);
  const auto gradient_of_weight = [&](std::int64_t j) {
    double sum = 0;
    for (std::int64_t e = 0; e < a.sizes.value_depth; ++e) {
      sum += double{dy[e]} * double{v[row.at(a.v, j) + e]};
    }
    return sum * row.dropped(j);
  };
  double mean = 0;
  for (std::int64_t j = 0; j < a.sizes.columns; ++j) mean += row.weight(j) * gradient_of_weight(j);
  const T* const q = run.input<T>(a.q.input) + q_at;
  T* const dq = run.output<T>(a.q.input) + q_at;
  for (std::int64_t j = 0; j < a.sizes.columns; ++j) {
    T* const dv = run.output<T>(a.v.input) + row.at(a.v, j);
    const double dropped = row.weight(j) * row.dropped(j);
    for (std::int64_t e = 0; e < a.sizes.value_depth; ++e) {
      dv[e] = static_cast<T>(double{dv[e]} + dropped * double{dy[e]});
    }
    if (!row.kept(j)) continue;
    const double ds = a.scale * row.weight(j) * (gradient_of_weight(j) - mean);
    const T* const k = run.input<T>(a.k.input) + row.at(a.k, j);
    T* const dk = run.output<T>(a.k.input) + row.at(a.k, j);
    for (std::int64_t e = 0; e < a.sizes.depth; ++e) {
      dk[e] = static_cast<T>(double{dk[e]} + ds * double{q[e]});
      dq[e] = static_cast<T>(double{dq[e]} + ds * double{k[e]});
    }
  }
}

void run_gradient_reference(const AttentionGradient& g, const Signature& types, const Run& run) {
  const Attention& a = g.forward;
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < types.out.size(); ++i) {
      std::fill_n(run.output<T>(i), types.out[i].shape.elements(), T{0});
    }
    Row<T> row(a, types, run, reinterpret_cast<double*>(run.scratch.data()));
    for_each_query(a.sizes, [&](std::int64_t n, std::int64_t h, std::int64_t i) {
      row.attend(n, h, i);
      const T* const dy = run.input<T>(forward_inputs(a) + 2) + a.y_at.at(n, h, i);
      add_gradients(a, run, row, dy, a.q.at.at(n, h, i));
    });
  });
}

}  // namespace

std::vector<Kernel<Attention>> attention_kernels() {
  return {{.name = "simd_blocks", .supports = in_float, .scratch = scratch, .run = run_blocks},
          {.name = "reference", .scratch = reference_scratch, .run = run_reference}};
}

std::vector<Kernel<AttentionGradient>> attention_gradient_kernels() {
  return {
      {.name = "simd_blocks",
       .supports = gradient_in_float,
       .scratch = scratch_of_gradient,
       .run = run_gradient_blocks},
      {.name = "reference", .scratch = reference_gradient_scratch, .run = run_gradient_reference},
  };
}

}  // namespace lowtide::ops
