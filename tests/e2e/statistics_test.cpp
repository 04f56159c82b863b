// Batch statistics: conventions of running mean and variance, and what micro-batches do to them.
#include <cmath>

#include <gtest/gtest.h>

#include "e2e/hand_made.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

using core::Shape;

struct Norm {
  std::vector<float> mean = {0};
  std::vector<float> variance = {1};
  float epsilon = 1e-5F;
  float momentum = 0.9F;
  std::int64_t training_mode = 0;
};

// y = BatchNormalization(x) of one channel.
std::string write_norm(const Scene& scene, const Norm& norm) {
  const std::vector<onnx::WireWriter> attributes = {
      float_attribute("epsilon", norm.epsilon), float_attribute("momentum", norm.momentum),
      toy::int_attribute("training_mode", norm.training_mode)};
  Words outputs = {"y"};
  if (norm.training_mode != 0) outputs.insert(outputs.end(), {"new_mean", "new_variance"});
  return write_model(
      scene,
      {.nodes = {toy::node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"},
                           outputs, attributes, "norm")},
       .initializers = {weight("scale", {1}, {1}), weight("bias", {1}, {0}),
                        weight("mean", {1}, norm.mean), weight("variance", {1}, norm.variance)},
       .inputs = {toy::value_info("x", {"batch", "1"})},
       .outputs = {toy::value_info("y", {"batch", "1"})}});
}

// One pass over `samples` that moves nothing but the statistics, with the normalised samples that
// are expected as targets.
Trained pass(const Scene& scene,
             const std::string& model,
             const std::vector<float>& samples,
             const std::vector<float>& normalized,
             const Words& options) {
  const Shape shape{static_cast<std::int64_t>(samples.size()), 1};
  const std::string data = write_data(scene, "x", shape, samples, shape, normalized);
  return train(scene, Words{model, "--data", data, "--batch", std::to_string(samples.size()),
                            "--no-shuffle", "--lr", "0", "--steps", "1"} +
                          options);
}

void expect_statistics(const Trained& trained, double mean, double variance) {
  const auto tensors = support::read_initializers(trained.model);
  EXPECT_NEAR(tensors.at("mean").values.at(0), mean, 1e-6);
  EXPECT_NEAR(tensors.at("variance").values.at(0), variance, 1e-6);
}

bool noted(const Trained& trained, const std::string& words) {
  return trained.result.at("notes").dump().find(words) != std::string::npos;
}

const std::vector<float> kFour = {0, 2, 10, 14};
const std::vector<float> kWhole = {-1.1358151F, -.7863335F, .6115927F, 1.3105559F};
const Words kOnnx = {"--running-stats", "onnx"};

TEST(BatchStatistics, AreThoseOfTheWholeBatchByDefault) {
  const Scene scene;
  const Trained trained = pass(scene, write_norm(scene, {}), kFour, kWhole, kOnnx);
  EXPECT_LT(trained.steps.at(0).loss, 1e-12);
  EXPECT_EQ(trained.result.at("micro_batch").get<int>(), 4);
  expect_statistics(trained, 0.65, 4.175);
}

TEST(BatchStatistics, AreThoseOfEachMicroBatchWhereAskedForAndSaidSo) {
  const Scene scene;
  const Trained trained = pass(scene, write_norm(scene, {}), kFour, {-1, 1, -1, 1},
                               kOnnx + Words{"--micro-batch", "2"});
  EXPECT_LT(trained.steps.at(0).loss, 1e-9);
  expect_statistics(trained, 1.29, 1.30);
  EXPECT_TRUE(noted(trained, "micro-batch of 2 samples")) << trained.result.at("notes");
}

TEST(BatchStatistics, OfASingleSampleAreNumbers) {
  const Scene scene;
  for (const Words& rule : {kOnnx, Words{"--running-stats", "pytorch"}}) {
    const Trained trained =
        pass(scene, write_norm(scene, {}), kFour, kWhole, rule + Words{"--micro-batch", "3"});
    EXPECT_TRUE(std::isfinite(trained.steps.at(0).loss));
    EXPECT_TRUE(std::isfinite(trained.steps.at(0).grad_norm));
    for (const auto& [name, array] : support::read_initializers(trained.model)) {
      EXPECT_TRUE(std::isfinite(array.values.at(0))) << name;
    }
  }
}

struct Momentum {
  float share = 0;
  double mean = 0;
  double onnx_variance = 0;
  double pytorch_variance = 0;
};

// The momentum of the file is the share that is kept; the output does not depend on it.
TEST(BatchStatistics, FollowTheMomentumAndTheRule) {
  const Scene scene;
  for (const Momentum& momentum :
       {Momentum{0, 2, 1, 2}, Momentum{.9F, 9.2, 3.7, 3.8}, Momentum{1, 10, 4, 4}}) {
    SCOPED_TRACE(momentum.share);
    const std::string model = write_norm(
        scene, {.mean = {10}, .variance = {4}, .epsilon = 0, .momentum = momentum.share});
    const Trained onnx = pass(scene, model, {1, 3}, {-1, 1}, kOnnx);
    EXPECT_LT(onnx.steps.at(0).loss, 1e-12);
    expect_statistics(onnx, momentum.mean, momentum.onnx_variance);
    const Trained pytorch = pass(scene, model, {1, 3}, {-1, 1}, {});
    EXPECT_LT(pytorch.steps.at(0).loss, 1e-12);
    expect_statistics(pytorch, momentum.mean, momentum.pytorch_variance);
  }
}

TEST(BatchStatistics, ATrainedFileIsForInference) {
  const Scene scene;
  const std::string model =
      write_norm(scene, {.mean = {10}, .variance = {4}, .epsilon = 0, .training_mode = 1});
  const Trained trained = pass(scene, model, {1, 3}, {-1, 1}, kOnnx);
  expect_statistics(trained, 9.2, 3.7);
  const onnx::FileNode node = onnx::parse_file(trained.model).graph.nodes.at(0);
  EXPECT_EQ(node.outputs, Words{"y"});
  const onnx::Attribute* const mode = node.attribute("training_mode");
  EXPECT_EQ(mode == nullptr ? 0 : std::get<std::int64_t>(mode->value), 0);
  support::write_npy(scene / "x.npy", Shape{2, 1}, std::vector<float>{1, 3});
  const auto outputs = infer(scene, trained.model, {"x=" + (scene / "x.npy")});
  EXPECT_NEAR(outputs.at("y").values.at(0), (1 - 9.2) / std::sqrt(3.7), 1e-5);
  EXPECT_NEAR(outputs.at("y").values.at(1), (3 - 9.2) / std::sqrt(3.7), 1e-5);
}

}  // namespace
}  // namespace lowtide::e2e
