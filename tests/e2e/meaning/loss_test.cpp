// Losses, micro-batches and updates against their formulas in double precision: relatives of the
// recipes in meaning_test.cpp.
#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/hand_made.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

using core::Shape;

constexpr std::int64_t kIgnored = -100;

// Nine rows of three classes; the middle three are not counted.
struct Rows {
  std::vector<float> logits;
  std::vector<std::int64_t> labels = {0, 1, 1, kIgnored, kIgnored, kIgnored, 2, kIgnored, 0};
};

Rows nine_rows() {
  Rows rows;
  for (int i = 0; i < 27; ++i) rows.logits.push_back(std::sin(static_cast<float>(i * i)));
  return rows;
}

struct LossAndGradient {
  double loss = 0;
  std::vector<double> gradient = std::vector<double>(3);  // with respect to what is added to all
};

// Cross-entropy as docs/losses.md has it.
LossAndGradient cross_entropy(const Rows& rows, const std::vector<double>& weights, double smooth) {
  double total = 0;
  for (const std::int64_t label : rows.labels) {
    if (label != kIgnored) total += weights[static_cast<std::size_t>(label)];
  }
  LossAndGradient result;
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    if (rows.labels[i] == kIgnored) continue;
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += std::exp(double{rows.logits[3 * i + c]});
    std::vector<double> shares(3, smooth / 3);
    shares[static_cast<std::size_t>(rows.labels[i])] += 1 - smooth;
    double mass = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      shares[c] *= weights[c] / total;
      mass += shares[c];
      result.loss += shares[c] * (std::log(sum) - double{rows.logits[3 * i + c]});
    }
    for (std::size_t c = 0; c < 3; ++c) {
      result.gradient[c] += mass * std::exp(double{rows.logits[3 * i + c]}) / sum - shares[c];
    }
  }
  return result;
}

TEST(Losses, WeightsSmoothingAndIgnoredLabelsAreThoseOfTheWholeBatch) {
  const Scene scene;
  const std::string model = write_shift(scene, 3);
  const Rows rows = nine_rows();
  const std::string data = write_data(scene, "x", Shape{9, 3}, rows.logits, Shape{9}, rows.labels);
  support::write_npy(scene / "w.npy", Shape{3}, std::vector<float>{0.5F, 2, 0.25F});
  const Words options = {"--data",
                         data,
                         "--batch",
                         "9",
                         "--no-shuffle",
                         "--lr",
                         "1",
                         "--ignore-index",
                         std::to_string(kIgnored)};
  struct Variant {
    Words options;
    std::vector<double> weights;
    double smooth;
  };
  const Variant variants[] = {
      {{}, {1, 1, 1}, 0},
      {{"--class-weights", scene / "w.npy"}, {0.5, 2, 0.25}, 0},
      {{"--label-smoothing", "0.1"}, {1, 1, 1}, 0.1},
      {{"--class-weights", scene / "w.npy", "--label-smoothing", "0.3"}, {0.5, 2, 0.25}, 0.3},
  };
  for (const Variant& variant : variants) {
    const LossAndGradient wanted = cross_entropy(rows, variant.weights, variant.smooth);
    for (const char* const micro : {"9", "4", "3", "1"}) {
      SCOPED_TRACE(testing::PrintToString(variant.options) + " " + micro);
      const Trained trained =
          train(scene, Words{model} + options + variant.options + Words{"--micro-batch", micro});
      EXPECT_NEAR(trained.steps.at(0).loss, wanted.loss, 1e-6);
      std::vector<double> moved;
      for (const double g : wanted.gradient) moved.push_back(-g);
      expect_near(tensor(trained, "b"), moved, 1e-6);
    }
  }
}

// Labels as others keep them: a column, a picture of one channel before or behind, bool.
TEST(Losses, LabelsMayHaveAnAxisOfOneTooMany) {
  const Scene scene;
  const std::string model =
      write_model(scene, {.nodes = {toy::node("Add", {"x", "b"}, {"y"}, {}, "shift")},
                          .initializers = {weight("b", {2, 2, 2}, std::vector<float>(8))},
                          .inputs = {toy::value_info("x", {"batch", "2", "2", "2"})},
                          .outputs = {toy::value_info("y", {"batch", "2", "2", "2"})}});
  std::vector<float> x;
  for (int i = 0; i < 8; ++i) x.push_back(std::cos(static_cast<float>(3 * i)));
  const auto loss = [&](const std::string& network, const Shape& inputs, const Shape& shape,
                        const auto& labels, const Words& options = {}) {
    const std::string data = write_data(scene, "x", inputs, x, shape, labels);
    return train(scene, Words{network, "--data", data, "--no-shuffle"} + options).steps.at(0).loss;
  };
  const std::vector<std::int64_t> four = {0, 1, 1, 0};
  const double picture = loss(model, {1, 2, 2, 2}, {1, 2, 2}, four);
  EXPECT_EQ(loss(model, {1, 2, 2, 2}, {1, 1, 2, 2}, four), picture);
  EXPECT_EQ(loss(model, {1, 2, 2, 2}, {1, 2, 2, 1}, four), picture);
  const std::string row = write_shift(scene, 2);
  const double plain = loss(row, {4, 2}, {4}, four);
  EXPECT_EQ(loss(row, {4, 2}, {4, 1}, four), plain);
  EXPECT_EQ(loss(row, {4, 2}, {4}, std::vector<std::uint8_t>{0, 1, 1, 0}), plain);
  const std::string data = scene / "bool.npz";
  {
    data::NpzWriter writer(data);
    support::add_array(writer, "x", {4, 2}, x);
    const std::vector<std::uint8_t> bits = {0, 1, 1, 0};
    writer.add("label", core::DType::kBool, {4}, std::as_bytes(std::span(bits)));
    writer.finish();
  }
  EXPECT_EQ(train(scene, {row, "--data", data, "--no-shuffle", "--loss", "cross-entropy"})
                .steps.at(0)
                .loss,
            plain);
}

// A batch in which nothing counts has no mean; it is no step either.
TEST(Losses, ABatchWithoutACountedLabelMovesNothing) {
  const Scene scene;
  const std::string model = write_shift(scene, 3);
  const std::vector<std::int64_t> labels(4, kIgnored);
  const std::string data =
      write_data(scene, "x", Shape{4, 3}, std::vector<float>(12, 1.0F), Shape{4}, labels);
  for (const char* const micro : {"4", "3", "1"}) {
    const Trained trained =
        train(scene, {model, "--data", data, "--batch", "4", "--lr", "1", "--clip-norm", "1",
                      "--ignore-index", "-100", "--micro-batch", micro});
    EXPECT_EQ(trained.steps.at(0).loss, 0);
    EXPECT_EQ(trained.steps.at(0).grad_norm, 0);
    EXPECT_EQ(tensor(trained, "b"), std::vector<double>(3, 0.0));
  }
}

// Each sample of a sequence model brings as many labels as it has, padding aside.
TEST(Losses, SequencesOfUnequalLengthCountByToken) {
  const Scene scene;
  std::vector<float> table;
  for (int i = 0; i < 15; ++i) table.push_back(0.3F * static_cast<float>(i % 7));
  const std::string model =
      write_model(scene, {.nodes = {toy::node("Gather", {"table", "ids"}, {"logits"}, {}, "look")},
                          .initializers = {weight("table", {5, 3}, table)},
                          .inputs = {toy::value_info("ids", {"batch", "4"}, 7)},
                          .outputs = {toy::value_info("logits", {"batch", "4", "3"})}});
  const std::vector<std::int64_t> ids = {0, 1, 2, 3, 4, 0, 0, 0, 1, 1, 0, 0};
  const std::vector<std::int64_t> labels = {0, 1, 2, 0, 1, -1, -1, -1, 2, 0, -1, -1};
  const std::string data = scene / "data.npz";
  {
    data::NpzWriter writer(data);
    support::add_array(writer, "ids", Shape{3, 4}, ids);
    support::add_array(writer, "label", Shape{3, 4}, labels);
    writer.finish();
  }
  double wanted = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (labels[i] < 0) continue;
    const float* const z = &table[static_cast<std::size_t>(3 * ids[i])];
    const double sum = std::exp(double{z[0]}) + std::exp(double{z[1]}) + std::exp(double{z[2]});
    wanted += (std::log(sum) - double{z[labels[i]]}) / 7;
  }
  std::optional<std::vector<double>> whole;
  for (const char* const micro : {"3", "2", "1"}) {
    const Trained trained =
        train(scene, {model, "--data", data, "--batch", "3", "--no-shuffle", "--lr", "1",
                      "--ignore-index", "-1", "--micro-batch", micro});
    EXPECT_NEAR(trained.steps.at(0).loss, wanted, 1e-6);
    if (!whole) whole = tensor(trained, "table");
    expect_near(tensor(trained, "table"), *whole, 1e-6);
  }
}

// 100,001 equal targets and one far away: the mean keeps both.
TEST(Losses, AMeanOverManyElementsKeepsItsDigits) {
  const Scene scene;
  const std::string model = write_shift(scene, 1);
  constexpr std::int64_t kSamples = 100001;
  std::vector<float> targets(kSamples, 1e-3F);
  targets[0] = 1000;
  const std::string data = write_data(scene, "x", Shape{kSamples, 1}, std::vector<float>(kSamples),
                                      Shape{kSamples, 1}, targets);
  const double small = double{1e-3F} * double{1e-3F};
  const double wanted = (1e6 + small * (kSamples - 1)) / kSamples;
  const Trained trained = train(scene, {model, "--data", data, "--batch", std::to_string(kSamples),
                                        "--train", "b", "--lr", "0"});
  EXPECT_NEAR(trained.steps.at(0).loss, wanted, 1e-6 * wanted);
}

// A short last batch, cut into parts, is its own mean.
TEST(Losses, AShortLastBatchIsAveragedOverItself) {
  const Scene scene;
  const std::string model = write_shift(scene, 1);
  const std::string data = write_data(scene, "x", Shape{5, 1}, std::vector<float>(5), Shape{5, 1},
                                      std::vector<float>{1, 1, 1, 1, -3});
  for (const char* const micro : {"4", "3", "1"}) {
    const Trained trained = train(scene, {model, "--data", data, "--batch", "4", "--no-shuffle",
                                          "--train", "b", "--lr", "0", "--micro-batch", micro});
    ASSERT_EQ(trained.steps.size(), 2U);
    EXPECT_NEAR(trained.steps[0].loss, 1, 1e-6);
    EXPECT_NEAR(trained.steps[1].loss, 9, 1e-6);
    EXPECT_NEAR(trained.steps[1].grad_norm, 6, 1e-6);
  }
}

Json log_line(const Scene& scene, std::size_t number) {
  std::istringstream lines(support::read_file(scene / "out.onnx.jsonl"));
  std::string line;
  for (std::size_t i = 0; i <= number; ++i) std::getline(lines, line);
  return Json::parse(line);
}

// Of each batch as a whole, and of an epoch over all of its samples.
TEST(StepMetrics, AreNoMeansOfMeans) {
  const Scene scene;
  const std::string model = write_shift(scene, 1);
  const std::string data = write_data(scene, "x", Shape{5, 1}, std::vector<float>(5), Shape{5, 1},
                                      std::vector<float>{1, 1, -1, 1, -3});
  const Words run = {model,          "--data",  data, "--batch", "4",
                     "--no-shuffle", "--train", "b",  "--lr",    "0"};
  EXPECT_FALSE(train(scene, run).result.at("metrics").contains("train_mae"));
  for (const char* const micro : {"4", "3", "1"}) {
    const Trained trained = train(scene, run + Words{"--step-metrics", "--micro-batch", micro});
    EXPECT_NEAR(log_line(scene, 0).at("mae").get<double>(), 1, 1e-6);
    EXPECT_NEAR(log_line(scene, 1).at("mae").get<double>(), 3, 1e-6);
    EXPECT_NEAR(trained.result.at("metrics").at("train_mae").get<double>(), 7.0 / 5, 1e-6);
  }
}

TEST(StepMetrics, CountTheFiveLargest) {
  const Scene scene;
  const std::string model = write_shift(scene, 7);
  std::vector<float> logits;
  for (int row = 0; row < 4; ++row) {
    for (int c = 0; c < 7; ++c) logits.push_back(static_cast<float>(c));
  }
  // The fifth largest, the sixth, one that does not count, and the largest.
  const std::vector<std::int64_t> labels = {2, 1, kIgnored, 6};
  const std::string data = write_data(scene, "x", Shape{4, 7}, logits, Shape{4}, labels);
  const Words run = {model,  "--data",       data,   "--batch", "4", "--ignore-index",
                     "-100", "--no-shuffle", "--lr", "0.125"};
  const std::string plain = train(scene, run).bytes;
  for (const char* const micro : {"4", "3", "1"}) {
    const Trained trained = train(scene, run + Words{"--step-metrics", "--micro-batch", micro});
    EXPECT_DOUBLE_EQ(log_line(scene, 0).at("top_5_accuracy").get<double>(), 2.0 / 3);
    EXPECT_DOUBLE_EQ(log_line(scene, 0).at("accuracy").get<double>(), 1.0 / 3);
    if (std::string(micro) == "4") {
      EXPECT_TRUE(trained.bytes == plain);
    }
  }
}

// One parameter whose gradient is what the test says: mse of y = b at a target.
class OneWeight : public testing::Test {
 protected:
  // b after some steps with the gradients 2 (b - target), all of one sample.
  [[nodiscard]] double after(float target, const Words& options) const {
    const std::string data =
        write_data(scene, "x", Shape{1, 1}, {0}, Shape{1, 1}, std::vector<float>{target});
    return tensor(
               train(scene, Words{model, "--data", data, "--no-shuffle", "--train", "b"} + options),
               "b")
        .at(0);
  }

  Scene scene;
  std::string model = write_shift(scene, 1);
};

TEST_F(OneWeight, AdamAddsEpsilonToTheCorrectedRoot) {
  // The gradient is 1e-8, as large as epsilon: half a step.
  for (const char* const kind : {"adam", "adamw"}) {
    EXPECT_NEAR(after(-0.5e-8F, {"--optimizer", kind, "--lr", "1e-3", "--steps", "1"}), -5.0e-4,
                1e-9);
    // Three steps under a gradient of nearly 1 (the weight itself moves by thousandths).
    EXPECT_NEAR(after(-0.5F, {"--optimizer", kind, "--lr", "1e-3", "--steps", "3"}), -3e-3, 1e-5);
  }
}

TEST_F(OneWeight, AdamsCountGoesOnAfterAResume) {
  const std::string ck = scene / "one.safetensors";
  const Words adam = {"--optimizer", "adam", "--lr", "0.01"};
  const double whole = after(3, adam + Words{"--steps", "9"});
  static_cast<void>(after(3, adam + Words{"--steps", "4", "--checkpoint", ck}));
  EXPECT_EQ(after(3, adam + Words{"--steps", "9", "--resume", ck}), whole);
}

TEST_F(OneWeight, MomentumDecayAndClippingComeInPyTorchsOrder) {
  const double t = -3;
  double b = 0;
  double v = 0;
  for (int step = 0; step < 4; ++step) {
    double g = 2 * (b - t);
    g *= std::min(1.0, 1.5 / (std::abs(g) + 1e-6));
    g += 0.1 * b;
    v = 0.9 * v + g;
    b -= 0.05 * (g + 0.9 * v);
  }
  EXPECT_NEAR(after(-3, {"--lr", "0.05", "--momentum", "0.9", "--nesterov", "--weight-decay", "0.1",
                         "--clip-norm", "1.5", "--steps", "4"}),
              b, 1e-6);
}

TEST_F(OneWeight, AdamWDecaysByTheScheduledRate) {
  double b = 0;
  double m = 0;
  double v = 0;
  for (int step = 0; step < 4; ++step) {
    const double lr = 0.1 * (4 - step) / 4;
    const double g = 2 * (b - 5);
    b *= 1 - lr * 0.2;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double t = step + 1;
    b -= lr * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  }
  EXPECT_NEAR(after(5, {"--optimizer", "adamw", "--lr", "0.1", "--weight-decay", "0.2",
                        "--schedule", "linear", "--steps", "4"}),
              b, 1e-6);
}

// Nothing to clip is nothing to divide by.
TEST_F(OneWeight, AGradientOfNothingStaysThatUnderClipping) {
  EXPECT_EQ(after(0, {"--lr", "1", "--clip-norm", "0.5", "--steps", "3"}), 0);
}

// Two parameters and a part of the gradient in the spill file: one norm, one factor.
TEST(Clipping, TakesTheNormOverAllParameters) {
  const Scene scene;
  const std::string model =
      write_model(scene, {.nodes = {toy::node("Add", {"x", "a"}, {"h"}, {}, "first"),
                                    toy::node("Mul", {"h", "s"}, {"y"}, {}, "second")},
                          .initializers = {weight("a", {1}, {0}), weight("s", {1}, {2})},
                          .inputs = {toy::value_info("x", {"batch", "1"})},
                          .outputs = {toy::value_info("y", {"batch", "1"})}});
  // y = 2, dL/dy = 2 (y - t) = 1.5: gradients 3 of a and 1.5 of s.
  const std::string data =
      write_data(scene, "x", Shape{1, 1}, {1}, Shape{1, 1}, std::vector<float>{1.25F});
  const support::Folder disk;
  for (const Words& where : {Words{}, Words{"--spill", disk.path().string()}}) {
    const Trained trained =
        train(scene, Words{model, "--data", data, "--train", "*", "--lr", "1", "--clip-norm", "1"} +
                         where);
    const double norm = std::sqrt(3 * 3 + 1.5 * 1.5);
    EXPECT_NEAR(trained.steps.at(0).grad_norm, norm, 1e-5);
    expect_near(tensor(trained, "a"), {-3 / norm}, 1e-5);
    expect_near(tensor(trained, "s"), {2 - 1.5 / norm}, 1e-5);
  }
}

}  // namespace
}  // namespace lowtide::e2e
