// The public Trainer, and what stands beside it in the library's interface.
#include "lowtide/trainer.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "lowtide/lowtide.h"

#include "support/allocation_counter.h"
#include "support/arrays.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace lowtide {
namespace {

class Trainers : public testing::Test {
 protected:
  void SetUp() override {
    write_zoo({.name = "mlp", .width = 16, .classes = 3, .channels = 1, .size = 4}, model);
    constexpr std::int64_t kSamples = 20;
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < kSamples; ++i) labels.push_back(i % 3);
    data::NpzWriter writer(source);
    support::add_array(writer, "input", core::Shape{kSamples, 1, 4, 4},
                       support::wave<float>(kSamples * 16));
    support::add_array(writer, "label", core::Shape{kSamples}, labels);
    writer.finish();
  }

  [[nodiscard]] TrainSettings settings() const {
    TrainSettings result;
    result.model.path = model;
    result.data.source = source;
    result.data.batch = 8;
    result.optimizer.lr = 0.1;
    result.machine.threads = 1;
    return result;
  }

  support::Folder folder;
  std::string model = folder / "net.onnx";
  std::string source = folder / "data.npz";
};

TEST_F(Trainers, StepThroughTheData) {
  TrainSettings wanted = settings();
  wanted.epochs = 2;
  Trainer trainer(wanted);
  EXPECT_EQ(trainer.total_steps(), 6);
  std::vector<std::int64_t> samples;
  while (trainer.steps_done() < trainer.total_steps()) {
    const StepReport report = trainer.step();
    samples.push_back(report.samples);
    EXPECT_EQ(report.step, trainer.steps_done());
    EXPECT_EQ(report.epoch, (report.step - 1) / 3);
    EXPECT_EQ(report.epoch_ends, report.step % 3 == 0);
    EXPECT_EQ(report.counted, report.samples);
    EXPECT_GE(report.correct, 0);
    EXPECT_LE(report.correct, report.counted);
    EXPECT_GT(report.loss, 0);
    EXPECT_GT(report.grad_norm, 0);
    EXPECT_GT(report.resident, Bytes());
  }
  EXPECT_EQ(samples, (std::vector<std::int64_t>{8, 8, 4, 8, 8, 4}));
}

TEST_F(Trainers, AStepAllocatesNothing) {
  for (const std::int64_t micro_batch : {8, 3}) {
    TrainSettings wanted = settings();
    wanted.epochs = 10;
    wanted.memory.micro_batch = micro_batch;
    Trainer trainer(wanted);
    for (int i = 0; i < 3; ++i) trainer.step();
    const support::AllocationCounter counter;
    for (int i = 0; i < 6; ++i) trainer.step();
    EXPECT_EQ(counter.count(), 0) << "micro-batch " << micro_batch;
  }
}

TEST_F(Trainers, MoveWithTheirState) {
  Trainer first(settings());
  first.step();
  Trainer second = std::move(first);
  EXPECT_EQ(second.steps_done(), 1);
  second.step();
  second.save(folder / "moved.onnx");
  Trainer straight(settings());
  straight.step();
  straight.step();
  straight.save(folder / "straight.onnx");
  EXPECT_EQ(support::read_file(folder / "moved.onnx"),
            support::read_file(folder / "straight.onnx"));
}

// Saving gives back what steps work in.
TEST_F(Trainers, SavingBetweenStepsChangesNothing) {
  for (const std::int64_t micro_batch : {8, 3}) {
    TrainSettings wanted = settings();
    wanted.epochs = 3;
    wanted.optimizer.momentum = 0.9;
    wanted.memory.micro_batch = micro_batch;
    Trainer often(wanted);
    Trainer once(wanted);
    for (int i = 0; i < 6; ++i) {
      once.step();
      often.step();
      often.save(folder / "often.onnx");
    }
    once.save(folder / "once.onnx");
    EXPECT_EQ(support::read_file(folder / "often.onnx"), support::read_file(folder / "once.onnx"))
        << "micro-batch " << micro_batch;
  }
}

TEST_F(Trainers, ThePlanSaysWhatTheTrainerDoes) {
  TrainSettings wanted = settings();
  wanted.memory.costs = "model";  // measured ones are others each time
  const PlanReport planned = plan_training(wanted);
  EXPECT_TRUE(planned.fits);
  EXPECT_EQ(planned.batch, 8);
  EXPECT_EQ(planned.micro_batch, 8);
  EXPECT_GT(planned.arena, Bytes());
  EXPECT_GT(planned.predicted_seconds, 0);
  EXPECT_GE(planned.predicted_seconds, (1 - 1e-9) * planned.lower_bound_seconds);
  EXPECT_GT(planned.keep_seconds, 0);
  EXPECT_FALSE(planned.plan_json.empty());
  Bytes spent;
  for (const BudgetShare& share : planned.spent) spent += share.bytes;
  EXPECT_LE(spent, planned.arena);
  const Trainer trainer(wanted);
  EXPECT_EQ(trainer.plan().arena, planned.arena);
  EXPECT_EQ(trainer.plan().predicted_seconds, planned.predicted_seconds);
}

TEST_F(Trainers, ABudgetThatIsTooSmallIsAnErrorOfItsKind) {
  TrainSettings wanted = settings();
  wanted.memory.budget = 1_MiB;
  const PlanReport planned = plan_training(wanted);
  EXPECT_FALSE(planned.fits);
  EXPECT_GT(planned.smallest_feasible, 1_MiB);
  EXPECT_FALSE(planned.peak_node.empty());
  EXPECT_FALSE(planned.spent.empty());
  try {
    const Trainer trainer(wanted);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDoesNotFit);
  }
}

// A bad sample is found before it touches a weight.
TEST_F(Trainers, BadDataLeavesTheWeights) {
  data::NpzWriter writer(source);
  std::vector<std::int64_t> labels(20, 1);
  labels[10] = 5;
  support::add_array(writer, "input", core::Shape{20, 1, 4, 4}, support::wave<float>(320));
  support::add_array(writer, "label", core::Shape{20}, labels);
  writer.finish();
  TrainSettings wanted = settings();
  wanted.data.shuffle = false;
  Trainer trainer(wanted);
  trainer.step();
  trainer.save(folder / "before.onnx");
  EXPECT_THROW(trainer.step(), Error);
  EXPECT_EQ(trainer.steps_done(), 1);
  trainer.save(folder / "after.onnx");
  EXPECT_EQ(support::read_file(folder / "before.onnx"), support::read_file(folder / "after.onnx"));
}

TEST_F(Trainers, AModelIsTrainedEvaluatedAndRun) {
  TrainSettings wanted = settings();
  wanted.epochs = 60;
  wanted.optimizer.momentum = 0.9;
  Trainer trainer(wanted);
  double first = 0;
  double last = 0;
  while (trainer.steps_done() < trainer.total_steps()) {
    last = trainer.step().loss;
    if (first == 0) first = last;
  }
  EXPECT_LT(last, 0.1 * first);
  const std::string trained = folder / "trained.onnx";
  trainer.save(trained);
  EvalSettings asked;
  asked.model.path = trained;
  asked.data.source = source;
  const EvalReport report = evaluate_model(asked);
  EXPECT_EQ(report.samples, 20);
  EXPECT_EQ(report.metrics.at("accuracy"), 1.0);
  support::write_npy(folder / "x.npy", core::Shape{2, 1, 4, 4}, support::wave<float>(32));
  const std::vector<OutputSummary> outputs =
      run_model({.model = {.path = trained}, .inputs = {{"input", folder / "x.npy"}}});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].name, "logits");
  EXPECT_EQ(outputs[0].type, "float32[2, 3]");
  EXPECT_LT(outputs[0].min, outputs[0].mean);
  EXPECT_LT(outputs[0].mean, outputs[0].max);
}

TEST_F(Trainers, InspectionCountsWhatIsTrained) {
  const ModelReport report = inspect_model({.path = model}, 8);
  EXPECT_EQ(report.parameters, 16 * 16 + 16 + 16 * 16 + 16 + 16 * 3 + 3);
  EXPECT_EQ(report.opset, 20);
  EXPECT_EQ(report.inputs, std::vector<std::string>{"input: float32[batch, 1, 4, 4]"});
  EXPECT_EQ(report.ops.at("Gemm"), 3);
  EXPECT_EQ(report.tensors.size(), 6U);
  const ModelReport frozen = inspect_model({.path = model}, 8, {.freeze = {"fc1.*"}});
  EXPECT_EQ(frozen.parameters, report.parameters - (16 * 16 + 16));
}

TEST_F(Trainers, StepsAndEpochsExcludeEachOther) {
  TrainSettings wanted = settings();
  wanted.epochs = 1;
  wanted.steps = 1;
  EXPECT_THROW(Trainer{wanted}, Error);
}

}  // namespace
}  // namespace lowtide
