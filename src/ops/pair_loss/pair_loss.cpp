#include "ops/pair_loss/pair_loss.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "ops/layout/layout.h"
#include "ops/scalar.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;

// Inputs: prediction, target, normalizer, the loss's gradient (if not 1).
struct PairLossGradient {
  PairLoss loss;
  bool has_loss_gradient = false;

  bool operator==(const PairLossGradient&) const = default;
};

constexpr std::size_t kParts = 256;  // partial sums, whatever the number of threads

std::vector<TensorType> infer(const PairLoss&, Types in) {
  if (!core::is_float(in[0].dtype) || in[0] != in[1]) {
    throw fail(ErrorCode::kInvalidArgument, "a prediction of {} needs a target like it, not {}",
               in[0].str(), in[1].str());
  }
  if (!is_real_scalar(in[2])) {
    throw fail(ErrorCode::kInvalidArgument, "the normalizer must be one number, not {}",
               in[2].str());
  }
  return {{DType::kFloat64, {}}};
}

std::vector<TensorType> infer_gradient(const PairLossGradient&, Types in) { return {in[0]}; }

// The loss may be the graph's root, whose gradient is 1 and not a value.
InputGradients gradient(const PairLoss& a, GradientContext& g) {
  if (g.needs(1)) {
    throw fail(ErrorCode::kUnsupported, "a loss gives no gradient to its target");
  }
  InputGradients result(g.input_count());
  if (!g.needs(0)) return result;
  std::vector<ValueId> inputs = {g.in(0), g.in(1), g.in(2)};
  const bool scaled = g.out_gradient(0).valid();
  if (scaled) inputs.push_back(g.out_gradient(0));
  result[0] = g.builder().add_one(pair_loss_gradient_op(), Attrs::of(PairLossGradient{a, scaled}),
                                  std::move(inputs));
  return result;
}

double flops_each(const PairLoss& a) {
  return a.kind == PairLossKind::kBinaryCrossEntropy ? 26.0 : 4.0;
}

Cost cost(const PairLoss& a, const Signature& types) {
  return {.flops = flops_each(a) * static_cast<double>(types.in[0].shape.elements()),
          .traffic = 2 * types.in[0].bytes()};
}

Cost cost_of_gradient(const PairLossGradient& a, const Signature& types) {
  return {.flops = flops_each(a.loss) * static_cast<double>(types.in[0].shape.elements()),
          .traffic = 3 * types.in[0].bytes()};
}

template <class A>
bool is_float32(const A&, const Signature& types) {
  return types.in[0].dtype == DType::kFloat32;
}

Bytes scratch(const PairLoss&, const Signature&) { return Bytes(kParts * sizeof(double)); }

void run_simd(const PairLoss& a, const Signature& types, const Run& run) {
  auto* const partial = reinterpret_cast<double*>(run.scratch.data());
  const double sum = kernels::pair_loss_sum(a, run.input<float>(0), run.input<float>(1),
                                            types.in[0].shape.elements(), {partial, kParts});
  *run.output<double>(0) = sum * real_input(types, run, 2);
}

double factor_of(const PairLossGradient& a, const Signature& types, const Run& run) {
  return real_input(types, run, 2) * (a.has_loss_gradient ? real_input(types, run, 3) : 1.0);
}

void run_simd_gradient(const PairLossGradient& a, const Signature& types, const Run& run) {
  kernels::pair_loss_gradient(a.loss, run.input<float>(0), run.input<float>(1),
                              factor_of(a, types, run), run.output<float>(0),
                              types.in[0].shape.elements());
}

// -log of the sigmoid.
double minus_log_sigmoid(double z) {
  return std::max(-z, 0.0) + std::log1p(std::exp(-std::abs(z)));
}

double reference_loss(const PairLoss& a, double z, double t) {
  const double far = std::abs(z - t);
  const auto p = static_cast<double>(a.parameter);
  switch (a.kind) {
    case PairLossKind::kSquaredError: break;
    case PairLossKind::kAbsoluteError: return far;
    case PairLossKind::kHuber: return far <= p ? far * far / 2 : p * (far - p / 2);
    case PairLossKind::kBinaryCrossEntropy:
      return p * t * minus_log_sigmoid(z) + (1 - t) * minus_log_sigmoid(-z);
  }
  return far * far;
}

double reference_gradient(const PairLoss& a, double z, double t) {
  const auto p = static_cast<double>(a.parameter);
  switch (a.kind) {
    case PairLossKind::kSquaredError: break;
    case PairLossKind::kAbsoluteError: return z > t ? 1.0 : z < t ? -1.0 : 0.0;
    case PairLossKind::kHuber: return std::clamp(z - t, -p, p);
    case PairLossKind::kBinaryCrossEntropy: {
      const double s = 1 / (1 + std::exp(-z));
      return (1 - t) * s - p * t * (1 - s);
    }
  }
  return 2 * (z - t);
}

void run_reference(const PairLoss& a, const Signature& types, const Run& run) {
  double sum = 0;
  for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
    const double z = real_input(types, run, 0, i);
    const double t = real_input(types, run, 1, i);
    sum += reference_loss(a, z, t);
  }
  *run.output<double>(0) = sum * real_input(types, run, 2);
}

void run_reference_gradient(const PairLossGradient& a, const Signature& types, const Run& run) {
  const double factor = factor_of(a, types, run);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
      const double z = real_input(types, run, 0, i);
      const double t = real_input(types, run, 1, i);
      run.output<T>(0)[i] = static_cast<T>(factor * reference_gradient(a.loss, z, t));
    }
  });
}

}  // namespace

const OpDef& pair_loss_op() {
  static const TypedOp<PairLoss> op{{
      .name = "PairLoss",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kNever,
      .kernels = {{.name = "simd", .supports = is_float32, .scratch = scratch, .run = run_simd},
                  {.name = "reference", .run = run_reference}},
  }};
  return op;
}

const OpDef& pair_loss_gradient_op() {
  static const TypedOp<PairLossGradient> op{{
      .name = "PairLossGradient",
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_gradient,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}, {.output = 0, .input = 1}},
      .kernels = {{.name = "simd", .supports = is_float32, .run = run_simd_gradient},
                  {.name = "reference", .run = run_reference_gradient}},
  }};
  return op;
}

ValueId pair_loss(
    GraphBuilder& b, const PairLoss& loss, ValueId prediction, ValueId target, ValueId normalizer) {
  target = to_layout(b, target, b.type(prediction).layout);
  const Phase before = b.phase();
  b.set_phase(Phase::kLoss);
  const ValueId result =
      b.add_one(pair_loss_op(), Attrs::of(loss), {prediction, target, normalizer});
  b.set_phase(before);
  return result;
}

}  // namespace lowtide::ops
