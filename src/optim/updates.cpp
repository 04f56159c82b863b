#include "optim/updates.h"

#include <cmath>

#include "core/glob.h"
#include "core/text.h"
#include "ops/gradient_norm/gradient_norm.h"
#include "ops/layout/layout.h"
#include "ops/update/update.h"

namespace lowtide::optim {
namespace {

using core::text;
using graph::GraphBuilder;
using graph::Role;
using graph::ValueId;

constexpr std::string_view kEmaSuffix = "ema";

void check(bool sound, std::string_view name, double value) {
  if (sound) return;
  throw core::fail(ErrorCode::kInvalidArgument, "{} = {} is outside its range", name, value);
}

void check(const OptimizerSettings& s) {
  check(s.momentum >= 0, "momentum", s.momentum);
  check(s.weight_decay >= 0, "weight decay", s.weight_decay);
  for (const double beta : s.betas) check(beta >= 0 && beta < 1, "beta", beta);
  check(s.eps >= 0, "eps", s.eps);
  if (s.clip_norm) check(*s.clip_norm > 0, "clip norm", *s.clip_norm);
  if (s.ema) check(*s.ema > 0 && *s.ema < 1, "ema", *s.ema);
  if (s.kind == OptimizerKind::kSgd && s.nesterov && s.momentum == 0) {
    throw core::fail(ErrorCode::kInvalidArgument, "Nesterov's method needs a momentum");
  }
}

// Builds one optimizer step.
class Step {
 public:
  Step(GraphBuilder& b, const OptimizerSettings& settings) : b_(b), settings_(settings) {
    scalars_ =
        b.input("lowtide/scalars", {core::DType::kFloat32, {ops::kUpdateScalars}}, Role::kScalar);
  }

  [[nodiscard]] ValueId scalars() const { return scalars_; }

  void update(const Trained& t, ValueId clip) {
    const std::string name = b_.graph().value(t.parameter).name;
    const bool decays = !core::any_glob_matches(settings_.no_decay, name);
    const double weight_decay = decays ? settings_.weight_decay : 0;
    b_.set_scope(name);
    if (settings_.kind == OptimizerKind::kSgd) {
      const ValueId velocity = settings_.momentum == 0 ? ValueId() : state(t.parameter, "momentum");
      ops::sgd_update(b_, t.parameter, t.gradient, scalars_, velocity, clip,
                      {.nesterov = settings_.nesterov, .weight_decay = weight_decay});
    } else {
      const ValueId mean = state(t.parameter, "exp_avg");
      const ValueId square = state(t.parameter, "exp_avg_sq");
      ops::adam_update(b_, t.parameter, t.gradient, scalars_, mean, square, clip,
                       {.beta2 = settings_.betas[1],
                        .epsilon = settings_.eps,
                        .weight_decay = weight_decay,
                        .decoupled = settings_.kind == OptimizerKind::kAdamW});
    }
    if (settings_.ema) average(t.parameter);
  }

 private:
  ValueId state(ValueId parameter, std::string_view suffix, graph::Content content = {}) {
    const std::string name = text("{}/{}", b_.graph().value(parameter).name, suffix);
    return b_.state(name, b_.type(parameter), Role::kOptimizer, std::move(content));
  }

  // Of the parameter as the node just added leaves it; at first it is the parameter.
  void average(ValueId parameter) {
    const graph::NodeId update(b_.graph().node_count() - 1);
    const ValueId updated = b_.graph().node(update).outputs[0];
    const ValueId mean = state(parameter, kEmaSuffix, b_.graph().value(parameter).content);
    ops::moving_average(b_, mean, updated, {.keep = *settings_.ema});
  }

  GraphBuilder& b_;
  const OptimizerSettings& settings_;
  ValueId scalars_;
};

// The gradients in the layouts of their parameters.
std::vector<Trained> aligned(GraphBuilder& b, std::span<const Trained> trained) {
  std::vector<Trained> result(trained.begin(), trained.end());
  for (Trained& t : result) {
    b.set_scope(b.graph().value(t.parameter).name);
    t.gradient = ops::to_layout(b, t.gradient, b.type(t.parameter).layout);
  }
  return result;
}

// Puts the builder into the update phase, and back at the end.
class UpdatePhase {
 public:
  explicit UpdatePhase(GraphBuilder& b) : b_(b), phase_(b.phase()), scope_(b.scope()) {
    b.set_phase(graph::Phase::kUpdate);
  }
  ~UpdatePhase() {
    b_.set_phase(phase_);
    b_.set_scope(scope_);
  }
  UpdatePhase(const UpdatePhase&) = delete;
  UpdatePhase& operator=(const UpdatePhase&) = delete;

 private:
  GraphBuilder& b_;
  graph::Phase phase_;
  std::string scope_;
};

}  // namespace

Updates add_updates(GraphBuilder& b,
                    std::span<const Trained> trained,
                    const OptimizerSettings& settings) {
  check(settings);
  const UpdatePhase phase(b);
  Step step(b, settings);
  const std::vector<Trained> all = aligned(b, trained);
  std::vector<ValueId> sums;
  for (const Trained& t : all) {
    b.set_scope(b.graph().value(t.parameter).name);
    sums.push_back(ops::sum_squares(b, t.gradient));
    if (!settings.clip_norm) step.update(t, {});
  }
  b.set_scope("");
  const ops::Norm norm = ops::combine_norm(b, std::move(sums), {.clip_norm = settings.clip_norm});
  if (settings.clip_norm) {
    for (const Trained& t : all) step.update(t, norm.clip);
  }
  b.graph().value(norm.norm).name = "lowtide/grad_norm";
  b.graph().outputs().push_back(norm.norm);
  return {.scalars = step.scalars(), .grad_norm = norm.norm};
}

Scalars scalars_for(const OptimizerSettings& settings, double lr, std::int64_t step) {
  LT_CHECK(step >= 1, "optimizer steps count from 1");
  Scalars scalars{};
  const auto set = [&](ops::UpdateScalar which, double value) {
    scalars[static_cast<std::size_t>(which)] = static_cast<float>(value);
  };
  const auto t = static_cast<double>(step);
  set(ops::UpdateScalar::kLearningRate, lr);
  set(ops::UpdateScalar::kCorrection1, 1 / (1 - std::pow(settings.betas[0], t)));
  set(ops::UpdateScalar::kCorrection2, 1 / (1 - std::pow(settings.betas[1], t)));
  const bool sgd = settings.kind == OptimizerKind::kSgd;
  set(ops::UpdateScalar::kMomentum, sgd ? settings.momentum : settings.betas[0]);
  set(ops::UpdateScalar::kNewShare, 1 - settings.betas[0]);
  return scalars;
}

Accumulation add_accumulation(GraphBuilder& b, std::span<const Trained> trained) {
  const UpdatePhase phase(b);
  Accumulation result;
  result.first = b.input("lowtide/first", {core::DType::kFloat32, {}}, Role::kScalar);
  for (const Trained& t : aligned(b, trained)) {
    const std::string& name = b.graph().value(t.parameter).name;
    b.set_scope(name);
    const ValueId sum = b.state(accumulator_name(name), b.type(t.parameter), Role::kOptimizer);
    ops::accumulate(b, sum, t.gradient, result.first);
    result.sums.push_back(sum);
  }
  return result;
}

std::string accumulator_name(std::string_view parameter) { return text("{}/gradient", parameter); }

std::string ema_name(std::string_view parameter) { return text("{}/{}", parameter, kEmaSuffix); }

}  // namespace lowtide::optim
