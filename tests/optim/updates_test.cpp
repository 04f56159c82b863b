#include "optim/updates.h"

#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/evaluate.h"

namespace lowtide::optim {
namespace {

using core::DType;
using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::Role;
using graph::ValueId;
using Floats = std::vector<float>;

ConstantTensor tensor(const Floats& numbers, core::Shape shape) {
  const auto* const first = reinterpret_cast<const std::byte*>(numbers.data());
  return {{DType::kFloat32, std::move(shape)},
          std::make_shared<const std::vector<std::byte>>(first,
                                                         first + numbers.size() * sizeof(float))};
}

ConstantTensor vector_of(const Floats& numbers) {
  return tensor(numbers, {static_cast<std::int64_t>(numbers.size())});
}

Floats scalars_of(const OptimizerSettings& settings, double lr, std::int64_t step) {
  const Scalars scalars = scalars_for(settings, lr, step);
  return {scalars.begin(), scalars.end()};
}

Floats floats(const ConstantTensor& t) {
  return {t.data<float>(), t.data<float>() + t.type.shape.elements()};
}

// Runs a graph again and again, carrying its state from step to step.
class Runner {
 public:
  explicit Runner(const Graph& graph) : graph_(graph) {}

  void set(ValueId id, ConstantTensor value) { given_.insert_or_assign(id, std::move(value)); }

  void run() {
    values_ = graph::interpret(graph_, given_, {});
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueId old = graph_.value(ValueId(i)).previous_version;
      if (old.valid()) given_.insert_or_assign(old, values_.at(ValueId(i)));
    }
  }

  [[nodiscard]] Floats state(ValueId id) const { return floats(given_.at(id)); }
  [[nodiscard]] Floats value(ValueId id) const { return floats(values_.at(id)); }

 private:
  const Graph& graph_;
  std::map<ValueId, ConstantTensor> given_;
  std::map<ValueId, ConstantTensor> values_;
};

// Parameters "w" (and "b") whose gradients are inputs.
struct Net {
  explicit Net(const OptimizerSettings& settings, std::int64_t elements = 1)
      : settings_of_step(settings) {
    const core::TensorType type{DType::kFloat32, {elements}};
    w = builder.state("w", type, Role::kParameter);
    gradient = builder.input("gradient", type);
    const Trained trained{w, gradient};
    updates = add_updates(builder, {&trained, 1}, settings);
  }

  // The values of w after each of some steps with these gradients.
  std::vector<Floats> train(Floats start, const std::vector<Floats>& gradients, double lr) {
    Runner runner(graph);
    runner.set(w, vector_of(start));
    std::vector<Floats> history;
    std::int64_t step = 0;
    for (const Floats& g : gradients) {
      runner.set(gradient, vector_of(g));
      runner.set(updates.scalars, vector_of(scalars_of(settings_of_step, lr, ++step)));
      runner.run();
      history.push_back(runner.state(w));
      norm = runner.value(updates.grad_norm)[0];
    }
    return history;
  }

  Graph graph;
  GraphBuilder builder{graph};
  OptimizerSettings settings_of_step;
  ValueId w;
  ValueId gradient;
  Updates updates;
  float norm = 0;
};

TEST(Sgd, TakesPlainSteps) {
  Net net({.weight_decay = 0.5});
  const auto history = net.train({2}, {{1}, {1}}, 0.1);
  EXPECT_FLOAT_EQ(history[0][0], 1.8F);   // 2 - .1 (1 + .5 * 2)
  EXPECT_FLOAT_EQ(history[1][0], 1.61F);  // 1.8 - .1 (1 + .5 * 1.8)
}

TEST(Sgd, MomentumAddsUp) {
  Net net({.momentum = 0.9});
  const auto history = net.train({1}, {{1}, {1}, {1}}, 0.1);
  EXPECT_FLOAT_EQ(history[0][0], 0.9F);
  EXPECT_FLOAT_EQ(history[1][0], 0.71F);
  EXPECT_FLOAT_EQ(history[2][0], 0.439F);
}

TEST(Sgd, NesterovLooksAhead) {
  Net net({.momentum = 0.9, .nesterov = true});
  const auto history = net.train({1}, {{1}, {1}, {1}}, 0.1);
  EXPECT_FLOAT_EQ(history[0][0], 0.81F);    // g + .9 v = 1.9
  EXPECT_FLOAT_EQ(history[1][0], 0.539F);   // 1 + .9 * 1.9 = 2.71
  EXPECT_FLOAT_EQ(history[2][0], 0.1951F);  // 1 + .9 * 2.71 = 3.439
}

// Two parameters under OneCycleLR, the gradient of step t being (0.5 + 0.25 t, -1 + 0.4 t), as
// PyTorch 2.14 moves them in float64.
class OneCycle : public testing::Test {
 protected:
  static void expect_path(OptimizerSettings settings,
                          const std::vector<std::array<double, 2>>& path) {
    const Schedule schedule{.kind = ScheduleKind::kOneCycle, .total_steps = 8};
    Net net(with_momentum(schedule, settings, 0), 2);
    Runner runner(net.graph);
    runner.set(net.w, vector_of({1, -2}));
    for (std::size_t t = 0; t < path.size(); ++t) {
      const auto step = static_cast<std::int64_t>(t);
      const auto at = static_cast<float>(t);
      runner.set(net.gradient, vector_of({0.5F + 0.25F * at, -1 + 0.4F * at}));
      runner.set(net.updates.scalars,
                 vector_of(scalars_of(with_momentum(schedule, settings, step),
                                      learning_rate(schedule, 0.1, step), step + 1)));
      runner.run();
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(runner.state(net.w)[i], path[t][i], 2e-6) << t;
      }
    }
  }
};

TEST_F(OneCycle, MovesNesterovsMomentum) {
  expect_path({.momentum = 0.3, .nesterov = true, .weight_decay = 0.1},
              {{0.99532, -1.99064},
               {0.8281434957592735, -1.7940843909274353},
               {0.5362482892133849, -1.5955784367078025},
               {0.2005034462012494, -1.4822279050522227},
               {-0.10459384596618491, -1.4562590598366296},
               {-0.3058854283147669, -1.478029232209146},
               {-0.37486727667849523, -1.4960402331474696},
               {-0.3748716960107839, -1.49604194102546}});
}

TEST_F(OneCycle, GivesSgdAMomentumThatHasNone) {
  expect_path({}, {{0.998, -1.996},
                   {0.9009640115949795, -1.8756627826302563},
                   {0.7055965116024624, -1.7344762881556868},
                   {0.46236474669840694, -1.6482627396345384},
                   {0.2299640539260992, -1.6288076047061397},
                   {0.07137427976248358, -1.6479843762340836},
                   {0.015582264543672323, -1.6636070940491627},
                   {0.015578598295644, -1.6636085886458893}});
}

TEST_F(OneCycle, MovesTheFirstBetaOfAdamWithItsCorrection) {
  expect_path({.kind = OptimizerKind::kAdamW, .weight_decay = 0.1},
              {{0.99560000008, -1.99520000004},
               {0.9244750504341475, -1.9293444503611785},
               {0.8333179462593839, -1.8605213478711045},
               {0.7483444410701614, -1.817147434049441},
               {0.6830434951072906, -1.8033594265612771},
               {0.644834979393111, -1.8049629426143698},
               {0.6330036183761226, -1.8073963621570242},
               {0.6330029899847193, -1.8073965543818467}});
}

TEST(Adam, AddsEpsilonAfterBiasCorrectionAndOutsideTheRoot) {
  Net net({.kind = OptimizerKind::kAdam});
  const auto history = net.train({0}, {{1e-8F}}, 1e-3);
  EXPECT_NEAR(history[0][0], -5.0e-4, 1e-9);
}

TEST(Adam, MovesByTheRateUnderAConstantGradient) {
  Net net({.kind = OptimizerKind::kAdam});
  const auto history = net.train({0}, {{1}, {1}, {1}}, 1e-3);
  EXPECT_NEAR(history[0][0], -1e-3, 1e-8);
  EXPECT_NEAR(history[1][0], -2e-3, 1e-8);
  EXPECT_NEAR(history[2][0], -3e-3, 1e-8);
}

TEST(Adam, FollowsTheFormulaOverChangingGradients) {
  const OptimizerSettings settings{
      .kind = OptimizerKind::kAdam, .weight_decay = 0.1, .betas = {0.8, 0.9}};
  Net net(settings);
  const std::vector<double> gradients = {0.5, -1.0, 2.0};
  const auto history = net.train({1}, {{0.5F}, {-1.0F}, {2.0F}}, 0.01);
  double p = 1;
  double m = 0;
  double v = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double t = static_cast<double>(i) + 1;
    const double g = gradients[i] + 0.1 * p;
    m = 0.8 * m + 0.2 * g;
    v = 0.9 * v + 0.1 * g * g;
    p -= 0.01 * (m / (1 - std::pow(0.8, t))) / (std::sqrt(v / (1 - std::pow(0.9, t))) + 1e-8);
    EXPECT_NEAR(history[i][0], p, 1e-6);
  }
}

TEST(AdamW, DecaysApartFromTheGradient) {
  Net net({.kind = OptimizerKind::kAdamW, .weight_decay = 0.1});
  const auto history = net.train({2}, {{3}}, 0.01);
  EXPECT_NEAR(history[0][0], 2 * (1 - 0.01 * 0.1) - 0.01, 1e-6);
}

TEST(AdamW, ScalarsOfALateStepApplyOnResume) {
  const OptimizerSettings settings{.kind = OptimizerKind::kAdamW};
  const Scalars scalars = scalars_for(settings, 0.5, 1000);
  EXPECT_FLOAT_EQ(scalars[0], 0.5F);
  EXPECT_NEAR(scalars[1], 1.0, 1e-7);
  EXPECT_NEAR(scalars[2], 1.5815, 1e-4);  // 1 / (1 - .999^1000)
}

TEST(NoDecay, SparesTheNamesItMatches) {
  Net net({.weight_decay = 0.5, .no_decay = {"?"}});
  EXPECT_FLOAT_EQ(net.train({2}, {{1}}, 0.1)[0][0], 1.9F);
}

TEST(Clip, ScalesByTheGlobalNorm) {
  Net net({.clip_norm = 1.0}, 2);
  const auto history = net.train({0, 0}, {{3, 4}}, 1);
  EXPECT_FLOAT_EQ(net.norm, 5);
  EXPECT_NEAR(history[0][0], -0.6, 1e-6);
  EXPECT_NEAR(history[0][1], -0.8, 1e-6);
}

TEST(Clip, LeavesSmallGradientsAlone) {
  Net net({.clip_norm = 10.0}, 2);
  EXPECT_EQ(net.train({0, 0}, {{3, 4}}, 1)[0], (Floats{-3, -4}));
}

TEST(Clip, ShowsANormThatIsNoNumber) {
  Net net({.clip_norm = 1.0}, 2);
  const auto history = net.train({0, 0}, {{NAN, 4}}, 1);
  EXPECT_TRUE(std::isnan(net.norm));
  EXPECT_TRUE(std::isnan(history[0][1]));
}

TEST(GradNorm, SurvivesSquaresBeyondFloat32) {
  Net net({}, 2);
  net.train({0, 0}, {{3e25F, 4e25F}}, 0);
  EXPECT_FLOAT_EQ(net.norm, 5e25F);
}

// Two parts of a batch with gradients [3, 4] / 2 and [-3, 4] / 2: clipping sees their sum [0, 4].
TEST(Accumulation, ClipsTheFinishedSum) {
  const core::TensorType type{DType::kFloat32, {2}};
  Graph part;
  GraphBuilder in_part(part);
  const ValueId w = in_part.state("w", type, Role::kParameter);
  const Trained trained{w, in_part.input("gradient", type)};
  const Accumulation accumulation = add_accumulation(in_part, {&trained, 1});
  Graph finish;
  GraphBuilder in_finish(finish);
  const Trained summed{in_finish.state("w", type, Role::kParameter),
                       in_finish.state(accumulator_name("w"), type, Role::kOptimizer)};
  const OptimizerSettings settings{.clip_norm = 1.0};
  const Updates updates = add_updates(in_finish, {&summed, 1}, settings);
  ASSERT_EQ(graph::verify(part), std::vector<std::string>{});
  ASSERT_EQ(graph::verify(finish), std::vector<std::string>{});

  Runner parts(part);
  Runner step(finish);
  parts.set(accumulation.sums[0], vector_of({NAN, NAN}));  // what the last batch left behind
  step.set(summed.parameter, vector_of({0, 0}));
  step.set(updates.scalars, vector_of(scalars_of(settings, 1, 1)));
  for (int batch = 1; batch <= 2; ++batch) {
    parts.set(trained.gradient, vector_of({1.5F, 2}));
    parts.set(accumulation.first, tensor({1}, {}));
    parts.run();
    parts.set(trained.gradient, vector_of({-1.5F, 2}));
    parts.set(accumulation.first, tensor({0}, {}));
    parts.run();
    step.set(summed.gradient, vector_of(parts.state(accumulation.sums[0])));
    step.run();
    EXPECT_FLOAT_EQ(step.value(updates.grad_norm)[0], 4);
    EXPECT_NEAR(step.state(summed.parameter)[1], -batch, 1e-5);
    EXPECT_EQ(step.state(summed.parameter)[0], 0);
  }
}

TEST(Updates, NameTheirStateAfterTheParameter) {
  Net adam({.kind = OptimizerKind::kAdam});
  EXPECT_TRUE(adam.graph.find("w/exp_avg").has_value());
  EXPECT_TRUE(adam.graph.find("w/exp_avg_sq").has_value());
  EXPECT_EQ(adam.graph.find("lowtide/scalars"), adam.updates.scalars);
  EXPECT_EQ(adam.graph.find("lowtide/grad_norm"), adam.updates.grad_norm);
  EXPECT_EQ(adam.graph.outputs(), std::vector<ValueId>{adam.updates.grad_norm});
  Net plain(OptimizerSettings{});
  EXPECT_FALSE(plain.graph.find("w/momentum").has_value());
}

TEST(Updates, RefuseSettingsOutsideTheirRanges) {
  EXPECT_THROW(Net({.nesterov = true}), Error);
  EXPECT_THROW(Net({.momentum = -0.1}), Error);
  EXPECT_THROW(Net({.kind = OptimizerKind::kAdam, .betas = {0.9, 1.0}}), Error);
  EXPECT_THROW(Net({.clip_norm = 0.0}), Error);
}

}  // namespace
}  // namespace lowtide::optim
