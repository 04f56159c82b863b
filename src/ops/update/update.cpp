#include "ops/update/update.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "core/text.h"
#include "kernels/simd/update.h"
#include "ops/layout/layout.h"
#include "ops/scalar.h"
#include "ops/update/optimizer_nodes.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;

// Inputs `first` and on are state like input 0.
void check_state(Types in, std::size_t first, std::size_t count) {
  if (!core::is_float(in[0].dtype)) {
    throw fail(ErrorCode::kInvalidArgument, "state of {} cannot be updated", in[0].str());
  }
  for (std::size_t i = first; i < first + count; ++i) {
    if (in[i] != in[0]) {
      throw fail(ErrorCode::kInvalidArgument, "state of {} cannot be updated by {}", in[0].str(),
                 in[i].str());
    }
  }
}

void check_scalars(Types in) {
  if (!core::is_float(in[2].dtype) || in[2].shape.elements() != kUpdateScalars) {
    throw fail(ErrorCode::kInvalidArgument, "an update needs {} scalars, not {}", kUpdateScalars,
               in[2].str());
  }
}

void check_scalar(const TensorType& type) {
  if (!is_real_scalar(type)) {
    throw fail(ErrorCode::kInvalidArgument, "one number is needed here, not {}", type.str());
  }
}

double scalar(const Signature& types, const Run& run, UpdateScalar which) {
  return real_input(types, run, 2, static_cast<std::int64_t>(which));
}

double clip_of(bool has_clip, const Signature& types, const Run& run) {
  return has_clip ? real_input(types, run, types.in.size() - 1) : 1.0;
}

template <class A>
bool is_float32(const A&, const Signature& types) {
  return types.in[0].dtype == DType::kFloat32;
}

double elements(const Signature& types) {
  return static_cast<double>(types.in[0].shape.elements());
}

// ---- SGD

std::vector<TensorType> infer_sgd(const SgdUpdate& a, Types in) {
  const std::size_t states = a.has_momentum ? 1 : 0;
  LT_CHECK(in.size() == 3 + states + (a.has_clip ? 1 : 0), "SGD's inputs");
  check_state(in, 1, 1);
  check_scalars(in);
  check_state(in, 3, states);
  if (a.has_clip) check_scalar(in.back());
  return std::vector<TensorType>(1 + states, in[0]);
}

Cost cost_of_sgd(const SgdUpdate& a, const Signature& types) {
  return {.flops = 6.0 * elements(types),
          .traffic = (a.has_momentum ? 5 : 3) * types.in[0].bytes()};
}

std::vector<Alias> share_sgd(const SgdUpdate& a, const Signature&) {
  std::vector<Alias> all = {{.output = 0, .input = 0, .sharing = Sharing::kState}};
  if (a.has_momentum) all.push_back({.output = 1, .input = 3, .sharing = Sharing::kState});
  return all;
}

void run_sgd(const SgdUpdate& a, const Signature& types, const Run& run) {
  kernels::sgd_step(
      {.learning_rate = static_cast<float>(scalar(types, run, UpdateScalar::kLearningRate)),
       .gradient_scale = static_cast<float>(clip_of(a.has_clip, types, run)),
       .weight_decay = static_cast<float>(a.weight_decay),
       .momentum = static_cast<float>(scalar(types, run, UpdateScalar::kMomentum)),
       .nesterov = a.nesterov},
      {.p = run.input<float>(0),
       .gradient = run.input<float>(1),
       .v = a.has_momentum ? run.input<float>(3) : nullptr,
       .p_out = run.output<float>(0),
       .v_out = a.has_momentum ? run.output<float>(1) : nullptr},
      types.in[0].shape.elements());
}

void run_sgd_reference(const SgdUpdate& a, const Signature& types, const Run& run) {
  const double rate = scalar(types, run, UpdateScalar::kLearningRate);
  const double momentum = scalar(types, run, UpdateScalar::kMomentum);
  const double clip = clip_of(a.has_clip, types, run);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
      const double p = real_input(types, run, 0, i);
      const double g = clip * real_input(types, run, 1, i) + a.weight_decay * p;
      double direction = g;
      if (a.has_momentum) {
        const double v = momentum * real_input(types, run, 3, i) + g;
        run.output<T>(1)[i] = static_cast<T>(v);
        direction = a.nesterov ? g + momentum * v : v;
      }
      run.output<T>(0)[i] = static_cast<T>(p - rate * direction);
    }
  });
}

// ---- Adam

std::vector<TensorType> infer_adam(const AdamUpdate& a, Types in) {
  LT_CHECK(in.size() == 5U + (a.has_clip ? 1 : 0), "Adam's inputs");
  check_state(in, 1, 1);
  check_scalars(in);
  check_state(in, 3, 2);
  if (a.has_clip) check_scalar(in.back());
  return {in[0], in[0], in[0]};
}

Cost cost_of_adam(const AdamUpdate&, const Signature& types) {
  return {.flops = 20.0 * elements(types), .traffic = 7 * types.in[0].bytes()};
}

void run_adam(const AdamUpdate& a, const Signature& types, const Run& run) {
  kernels::adam_step(
      {.learning_rate = static_cast<float>(scalar(types, run, UpdateScalar::kLearningRate)),
       .correction1 = static_cast<float>(scalar(types, run, UpdateScalar::kCorrection1)),
       .correction2 = static_cast<float>(scalar(types, run, UpdateScalar::kCorrection2)),
       .gradient_scale = static_cast<float>(clip_of(a.has_clip, types, run)),
       .beta1 = static_cast<float>(scalar(types, run, UpdateScalar::kMomentum)),
       .new_share = static_cast<float>(scalar(types, run, UpdateScalar::kNewShare)),
       .beta2 = a.beta2,
       .epsilon = static_cast<float>(a.epsilon),
       .weight_decay = static_cast<float>(a.weight_decay),
       .decoupled = a.decoupled},
      {.p = run.input<float>(0),
       .gradient = run.input<float>(1),
       .m = run.input<float>(3),
       .v = run.input<float>(4),
       .p_out = run.output<float>(0),
       .m_out = run.output<float>(1),
       .v_out = run.output<float>(2)},
      types.in[0].shape.elements());
}

void run_adam_reference(const AdamUpdate& a, const Signature& types, const Run& run) {
  const double rate = scalar(types, run, UpdateScalar::kLearningRate);
  const double correction1 = scalar(types, run, UpdateScalar::kCorrection1);
  const double correction2 = scalar(types, run, UpdateScalar::kCorrection2);
  const double beta1 = scalar(types, run, UpdateScalar::kMomentum);
  const double new_share = scalar(types, run, UpdateScalar::kNewShare);
  const double clip = clip_of(a.has_clip, types, run);
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
      const double p = real_input(types, run, 0, i);
      const double decay = a.weight_decay * p;
      const double g = clip * real_input(types, run, 1, i) + (a.decoupled ? 0 : decay);
      const double m = beta1 * real_input(types, run, 3, i) + new_share * g;
      const double v = a.beta2 * real_input(types, run, 4, i) + (1 - a.beta2) * g * g;
      const double ratio = m * correction1 / (std::sqrt(v * correction2) + a.epsilon);
      run.output<T>(0)[i] = static_cast<T>(p - rate * (ratio + (a.decoupled ? decay : 0)));
      run.output<T>(1)[i] = static_cast<T>(m);
      run.output<T>(2)[i] = static_cast<T>(v);
    }
  });
}

// ---- Running averages and gradient sums

std::vector<TensorType> infer_like_state(const MovingAverage&, Types in) {
  check_state(in, 1, 1);
  return {in[0]};
}

std::vector<TensorType> infer_accumulate(const Accumulate&, Types in) {
  check_state(in, 1, 1);
  check_scalar(in[2]);
  return {in[0]};
}

template <class A>
Cost cost_of_sum(const A&, const Signature& types) {
  return {.flops = 3.0 * elements(types), .traffic = 3 * types.in[0].bytes()};
}

void run_moving_average(const MovingAverage& a, const Signature& types, const Run& run) {
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
      // A share of 0 must not let a NaN through: 0 * NaN is NaN.
      const double old = a.keep == 0 ? 0 : a.keep * real_input(types, run, 0, i);
      const double batch = a.keep == 1 ? 0 : (1 - a.keep) * a.factor * real_input(types, run, 1, i);
      run.output<T>(0)[i] = static_cast<T>(old + batch);
    }
  });
}

// The same numbers as the reference.
void run_moving_average_of_floats(const MovingAverage& a, const Signature& types, const Run& run) {
  constexpr std::int64_t kElementsPerThread = 16384;
  const auto* const old = run.input<float>(0);
  const auto* const batch = run.input<float>(1);
  auto* const out = run.output<float>(0);
  const double rest = (1 - a.keep) * a.factor;
  core::parallel_for(
      types.in[0].shape.elements(), kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          out[i] = static_cast<float>(a.keep * double{old[i]} + rest * double{batch[i]});
        }
      });
}

// Where a share is 0, what it would multiply is not read.
bool averages_floats(const MovingAverage& a, const Signature& types) {
  return types.in[0].dtype == core::DType::kFloat32 && a.keep != 0 && a.keep != 1;
}

void run_accumulate(const Accumulate&, const Signature& types, const Run& run) {
  const std::int64_t n = types.in[0].shape.elements();
  if (real_input(types, run, 2) != 0) {
    std::copy_n(run.input<float>(1), n, run.output<float>(0));
  } else {
    kernels::add_floats(run.input<float>(0), run.input<float>(1), run.output<float>(0), n);
  }
}

void run_accumulate_reference(const Accumulate&, const Signature& types, const Run& run) {
  const bool first = real_input(types, run, 2) != 0;
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
      const T sum = first ? T{0} : run.input<T>(0)[i];
      run.output<T>(0)[i] = sum + run.input<T>(1)[i];
    }
  });
}

}  // namespace

const OpDef& sgd_update_op() {
  static const TypedOp<SgdUpdate> op{{
      .name = "SgdUpdate",
      .infer = infer_sgd,
      .gradient = not_differentiable,
      .cost = cost_of_sgd,
      .repeat = Repeat::kNever,
      .alias_rule = share_sgd,
      .onnx = {{.type = "Momentum", .read = read_momentum, .domain = kTrainingDomain}},
      .kernels = {{.name = "simd", .supports = is_float32, .run = run_sgd},
                  {.name = "reference", .run = run_sgd_reference}},
  }};
  return op;
}

const OpDef& adam_update_op() {
  static const TypedOp<AdamUpdate> op{{
      .name = "AdamUpdate",
      .infer = infer_adam,
      .gradient = not_differentiable,
      .cost = cost_of_adam,
      .repeat = Repeat::kNever,
      .aliases = {{.output = 0, .input = 0, .sharing = Sharing::kState},
                  {.output = 1, .input = 3, .sharing = Sharing::kState},
                  {.output = 2, .input = 4, .sharing = Sharing::kState}},
      .onnx = {{.type = "Adagrad", .read = read_adagrad, .domain = kTrainingDomain},
               {.type = "Adam", .read = read_adam, .domain = kTrainingDomain}},
      .kernels = {{.name = "simd", .supports = is_float32, .run = run_adam},
                  {.name = "reference", .run = run_adam_reference}},
  }};
  return op;
}

const OpDef& moving_average_op() {
  static const TypedOp<MovingAverage> op{{
      .name = "MovingAverage",
      .infer = infer_like_state,
      .gradient = not_differentiable,
      .cost = cost_of_sum<MovingAverage>,
      .repeat = Repeat::kNever,
      .aliases = {{.output = 0, .input = 0, .sharing = Sharing::kState}},
      .kernels = {{.name = "floats",
                   .supports = averages_floats,
                   .run = run_moving_average_of_floats},
                  {.name = "reference", .run = run_moving_average}},
  }};
  return op;
}

const OpDef& accumulate_op() {
  static const TypedOp<Accumulate> op{{
      .name = "Accumulate",
      .infer = infer_accumulate,
      .gradient = not_differentiable,
      .cost = cost_of_sum<Accumulate>,
      .repeat = Repeat::kNever,
      .aliases = {{.output = 0, .input = 0, .sharing = Sharing::kState}},
      .kernels = {{.name = "simd", .supports = is_float32, .run = run_accumulate},
                  {.name = "reference", .run = run_accumulate_reference}},
  }};
  return op;
}

void sgd_update(GraphBuilder& b,
                ValueId parameter,
                ValueId gradient,
                ValueId scalars,
                ValueId velocity,
                ValueId clip,
                SgdUpdate attributes) {
  attributes.has_clip = clip.valid();
  std::vector<ValueId> inputs = {parameter, gradient, scalars};
  attributes.has_momentum = velocity.valid();
  if (velocity.valid()) inputs.push_back(velocity);
  if (clip.valid()) inputs.push_back(clip);
  const std::vector<ValueId> next =
      b.add(sgd_update_op(), Attrs::of(attributes), std::move(inputs));
  b.replace_state(parameter, next[0]);
  if (velocity.valid()) b.replace_state(velocity, next[1]);
}

void adam_update(GraphBuilder& b,
                 ValueId parameter,
                 ValueId gradient,
                 ValueId scalars,
                 ValueId mean,
                 ValueId square,
                 ValueId clip,
                 AdamUpdate attributes) {
  attributes.has_clip = clip.valid();
  std::vector<ValueId> inputs = {parameter, gradient, scalars, mean, square};
  if (clip.valid()) inputs.push_back(clip);
  const std::vector<ValueId> next =
      b.add(adam_update_op(), Attrs::of(attributes), std::move(inputs));
  b.replace_state(parameter, next[0]);
  b.replace_state(mean, next[1]);
  b.replace_state(square, next[2]);
}

void moving_average(GraphBuilder& b, ValueId old, ValueId batch, MovingAverage attributes) {
  b.replace_state(old, b.add_one(moving_average_op(), Attrs::of(attributes), {old, batch}));
}

void accumulate(GraphBuilder& b, ValueId sum, ValueId gradient, ValueId first) {
  b.replace_state(sum, b.add_one(accumulate_op(), Attrs::of(Accumulate{}), {sum, gradient, first}));
}

}  // namespace lowtide::ops
