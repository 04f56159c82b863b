// Bad input: exit code 1, one message that names the file, node or value, and nothing half-written.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/random.h"
#include "core/text.h"
#include "e2e/hand_made.h"
#include "e2e/scene.h"
#include "support/hostile.h"

namespace lowtide::e2e {
namespace {

using core::Shape;
using support::add_array;

class BadInput : public testing::Test {
 protected:
  // `train` on what a test made of the data.
  [[nodiscard]] Words training(const std::string& source, const Words& options = {}) const {
    return Words{"train", model, "--data", source, "--batch", "4", "-o", scene / "out.onnx"} +
           options;
  }

  template <class Input, class Label>
  std::string data(const Shape& shape,
                   const std::vector<Input>& input,
                   const Shape& label_shape,
                   const std::vector<Label>& classes) const {
    const std::string path = scene / "bad.npz";
    lowtide::data::NpzWriter writer(path);
    add_array(writer, "input", shape, input);
    add_array(writer, "label", label_shape, classes);
    writer.finish();
    return path;
  }

  Scene scene;
  std::string model = scene.small_network();
  std::string good = scene.images();
  std::vector<float> pixels = std::vector<float>(8 * 16, 0.5F);
  std::vector<std::int64_t> labels = {0, 1, 2, 0, 1, 2, 0, 1};
};

TEST_F(BadInput, TheGoodRunIsAccepted) {
  EXPECT_EQ(train(scene, {model, "--data", good, "--batch", "4"}).steps.size(), 6U);
}

TEST_F(BadInput, LabelsOfTheWrongType) {
  const std::vector<float> floats = {0, 1, 2, 0, 1, 2, 0, 1};
  const std::string source = data(Shape{8, 1, 4, 4}, pixels, Shape{8}, floats);
  expect_refused(scene, training(source, {"--loss", "cross-entropy"}),
                 {"bad.npz", "label", "float32", "integer"});
}

TEST_F(BadInput, AnInputOfTheWrongType) {
  const std::string lookup =
      write_model(scene, {.nodes = {toy::node("Gather", {"table", "ids"}, {"y"}, {}, "look")},
                          .initializers = {weight("table", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
                          .inputs = {toy::value_info("ids", {"batch"}, 7)},
                          .outputs = {toy::value_info("y", {"batch", "2"})}});
  const std::string source =
      write_data(scene, "ids", Shape{2}, {0.0F, 1.0F}, Shape{2, 2}, std::vector<float>{1, 2, 3, 4});
  expect_refused(scene, {"train", lookup, "--data", source, "-o", scene / "out.onnx"},
                 {"data.npz", "'ids'", "float32", "int64"});
}

TEST_F(BadInput, SamplesOfTheWrongShape) {
  const std::string source = data(Shape{8, 1, 5, 5}, std::vector<float>(8 * 25), Shape{8}, labels);
  expect_refused(scene, training(source), {"bad.npz", "'input'", "[1, 5, 5]", "4, 4]"});
}

TEST_F(BadInput, LabelsOfTheWrongShape) {
  const std::string source = data(Shape{4, 1, 4, 4}, std::vector<float>(64), Shape{4, 2}, labels);
  expect_refused(scene, training(source), {"bad.npz", "[2]", "logits"});
}

TEST_F(BadInput, LabelsThatAreNoClass) {
  for (const std::int64_t wrong : {std::int64_t{3}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    labels[6] = wrong;
    const std::string source = data(Shape{8, 1, 4, 4}, pixels, Shape{8}, labels);
    expect_refused(scene, training(source), {"bad.npz", "6", std::to_string(wrong), "label"});
  }
}

TEST_F(BadInput, DataThatIsNotFinite) {
  for (const float wrong : {NAN, INFINITY}) {
    pixels[5 * 16 + 3] = wrong;
    const std::string source = data(Shape{8, 1, 4, 4}, pixels, Shape{8}, labels);
    expect_refused(scene, training(source, {"--no-shuffle"}),
                   {"bad.npz", "'input'", "5", core::text("{}", wrong)});
  }
}

TEST_F(BadInput, WeightsThatAreNotFinite) {
  for (const std::int64_t wide : {3, 300}) {
    std::vector<float> elements(static_cast<std::size_t>(16 * wide), 0.1F);
    elements[7] = NAN;
    const std::string bad = write_model(
        scene, {.nodes = {toy::node("MatMul", {"input", "w"}, {"logits"}, {}, "product")},
                .initializers = {weight("w", {16, wide}, elements)},
                .inputs = {toy::value_info("input", {"batch", "16"})},
                .outputs = {toy::value_info("logits", {"batch", std::to_string(wide)})}});
    expect_refused(scene, {"train", bad, "--data", good, "--batch", "4", "-o", scene / "out.onnx"},
                   {"'w'", "nan", "7"});
  }
}

TEST_F(BadInput, ArraysThatAreMissing) {
  expect_refused(scene, training(good, {"--label", "target"}), {"images.npz", "target", "label"});
  const std::string path = scene / "bad.npz";
  {
    lowtide::data::NpzWriter writer(path);
    add_array(writer, "left", Shape{8, 1, 4, 4}, pixels);
    add_array(writer, "right", Shape{8, 1, 4, 4}, pixels);
    add_array(writer, "label", Shape{8}, labels);
    writer.finish();
  }
  expect_refused(scene, training(path), {"bad.npz", "'input'", "left, right"});
}

TEST_F(BadInput, DataThatIsNotThere) {
  expect_refused(scene, training(scene / "nowhere"), {"nowhere"});
  expect_refused(scene, training(scene / "nowhere.npz"), {"nowhere.npz"});
  expect_refused(scene, training(scene.folder().path().string()), {scene.folder().path().string()});
  const std::string empty =
      data(Shape{0, 1, 4, 4}, std::vector<float>(), Shape{0}, std::vector<std::int64_t>());
  expect_refused(scene, training(empty), {"bad.npz"});
  support::write_file(scene / "text.npz", "no archive");
  expect_refused(scene, training(scene / "text.npz"), {"text.npz"});
}

TEST_F(BadInput, ATruncatedModel) {
  const std::string whole = support::read_file(model);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{10}, whole.size() / 2, whole.size() - 1}) {
    support::write_file(model, whole.substr(0, length));
    expect_refused(scene, training(good), {"mlp.onnx"});
  }
  std::filesystem::remove(model);
  expect_refused(scene, training(good), {"mlp.onnx"});
}

TEST_F(BadInput, DamagedModelsNeverCrash) {
  const std::string whole = support::read_file(model);
  core::RandomStream random(7, 0);
  const int rounds = support::hostile_rounds(60);
  for (int round = 0; round < rounds; ++round) {
    // Weights fill most of the file; its structure is at both ends.
    const std::size_t window = std::min<std::size_t>(300, whole.size());
    std::string damaged = whole;
    if (round % 2 == 0) {
      damaged = support::damaged(whole.substr(0, window), random) + whole.substr(window);
    } else {
      const std::size_t rest = whole.size() - window;
      damaged = whole.substr(0, rest) + support::damaged(whole.substr(rest), random);
    }
    support::write_file(model, damaged);
    const support::Patience patience(round);
    const Outcome outcome =
        lowtide(round % 4 < 2 ? Words{"inspect", model}
                              : Words{"train", model, "--data", good, "--budget", "200MiB"});
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 1)
        << "round " << round << ": exit " << outcome.exit_code << "\n"
        << outcome.err;
  }
}

TEST_F(BadInput, OperatorsThatLowtideLacks) {
  const std::string strange =
      write_model(scene, {.nodes = {toy::node("Frobnicate", {"input"}, {"h"}, {}, "odd"),
                                    toy::node("Grommet", {"h"}, {"logits"}, {}, "")},
                          .inputs = {toy::value_info("input", {"batch", "16"})},
                          .outputs = {toy::value_info("logits", {"batch", "3"})}});
  expect_refused(scene, {"inspect", strange}, {"model.onnx", "Frobnicate", "odd", "Grommet"});
  expect_refused(scene, {"train", strange, "--data", good, "-o", scene / "out.onnx"},
                 {"model.onnx", "Frobnicate", "Grommet"});
}

TEST_F(BadInput, ABudgetOfAHundredBytes) {
  const std::int64_t smallest = smallest_budget({model, "--data", good, "--batch", "4"});
  expect_refused(scene, training(good, {"--budget", "100"}), {"100 B", std::to_string(smallest)});
  // What is told of it is not the number that works.
  const std::string one_less = std::to_string(smallest - 1);
  expect_refused(scene, training(good, {"--budget", one_less}),
                 {one_less + " bytes", std::to_string(smallest) + " bytes"});
}

TEST_F(BadInput, OutputsThatCannotBeWritten) {
  const auto to = [&](const std::string& out) {
    return Words{"train", model, "--data", good, "--batch", "4", "-o", out};
  };
  expect_refused(scene, to(scene / "no-folder/out.onnx"), {"no-folder"});
  expect_refused(scene, to(scene.folder().path().string()), {scene.folder().path().string()});
  expect_refused(scene, to("/proc/lowtide.onnx"), {"/proc/lowtide.onnx"});
  expect_refused(scene, Words{"zoo", "mlp", "-o", scene / "no-folder/out.onnx"}, {"no-folder"});
}

TEST_F(BadInput, GlobsThatMatchNothing) {
  expect_refused(scene, training(good, {"--freeze", "layer9.*"}), {"layer9.*"});
  expect_refused(scene, training(good, {"--train", "layer9.*"}), {"layer9.*"});
  expect_refused(scene, training(good, {"--freeze", "*"}), {"mlp.onnx", "nothing"});
}

TEST_F(BadInput, GlobsOfWhatDoesNotDecayThatMatchNothing) {
  expect_refused(scene, training(good, {"--no-decay", "layer9.*"}), {"--no-decay", "layer9.*"});
  EXPECT_EQ(lowtide(training(good, {"--no-decay", "*.bias", "--freeze", "*.bias"})).exit_code, 0);
}

TEST_F(BadInput, WeightsOfClassesThatAreNone) {
  for (const float wrong : {NAN, INFINITY, -1.0F}) {
    support::write_npy(scene / "weights.npy", Shape{3}, std::vector<float>{1, wrong, 2});
    expect_refused(scene, training(good, {"--class-weights", scene / "weights.npy"}),
                   {"weight of class 1", core::text("{}", wrong)});
  }
  support::write_npy(scene / "weights.npy", Shape{3}, std::vector<std::int64_t>{1, 2, 3});
  EXPECT_EQ(lowtide(training(good, {"--class-weights", scene / "weights.npy"})).exit_code, 0);
}

TEST_F(BadInput, AModelWithoutOutputs) {
  toy::Parts parts = toy::small_network();
  parts.outputs.clear();
  const std::string bad = write_model(scene, parts);
  expect_refused(scene, {"inspect", bad}, {"model.onnx", "no outputs"});
  expect_refused(scene, {"plan", bad}, {"model.onnx", "no outputs"});
}

TEST_F(BadInput, TargetsThatAreNoShares) {
  const std::string shift = write_shift(scene, 2);
  for (const float wrong : {255.0F, -1.0F}) {
    const std::string source = write_data(scene, "x", Shape{2, 2}, std::vector<float>(4),
                                          Shape{2, 2}, std::vector<float>{0, 1, 0.5F, wrong});
    for (const char* const command : {"train", "eval"}) {
      expect_refused(scene, {command, shift, "--data", source, "--loss", "bce-with-logits"},
                     {"data.npz", "'label', sample 1, element 1", "outside [0, 1]"});
    }
  }
}

// [3, 2] and [2, 3] hold as many, but not in the same order.
TEST_F(BadInput, TargetsOfAnotherShape) {
  const std::string bad =
      write_model(scene, {.nodes = {toy::node("Add", {"x", "b"}, {"y"}, {}, "shift")},
                          .initializers = {weight("b", {3, 2}, std::vector<float>(6))},
                          .inputs = {toy::value_info("x", {"batch", "3", "2"})},
                          .outputs = {toy::value_info("y", {"batch", "3", "2"})}});
  const auto with = [&](const Shape& shape) {
    return Words{"train", bad, "--data",
                 write_data(scene, "x", Shape{1, 3, 2}, std::vector<float>(6), shape,
                            std::vector<float>(6))};
  };
  expect_refused(scene, with(Shape{1, 2, 3}), {"data.npz", "[2, 3]", "[1, 3, 2]"});
  for (const Shape& shape : {Shape{1, 3, 2}, Shape{1, 6}, Shape{1, 3, 1, 2}}) {
    EXPECT_EQ(lowtide(with(shape)).exit_code, 0) << shape.str();
  }
}

TEST_F(BadInput, SettingsThatMakeNoSense) {
  expect_refused(scene, training(good, {"--micro-batch", "5"}), {"5", "4"});
  expect_refused(scene, training(good, {"--output", "probabilities"}), {"probabilities", "logits"});
  support::write_npy(scene / "weights.npy", Shape{2}, std::vector<float>{1, 2});
  expect_refused(scene, training(good, {"--class-weights", scene / "weights.npy"}), {"2", "3"});
}

// Only files at or under the model's folder are read.
TEST_F(BadInput, ExternalDataOutsideTheModelsFolder) {
  std::filesystem::create_directories(scene / "inside");
  support::write_file(scene / "secret.bin", std::string(8, '\0'));
  for (const char* const location : {"../secret.bin", "/etc/hostname", "sub/../../secret.bin"}) {
    toy::Parts parts = toy::small_network();
    parts.initializers = {toy::external("w", 2, location)};
    const std::string bad = write_model(scene, parts, "inside/model.onnx");
    expect_refused(scene, {"inspect", bad}, {"model.onnx", "'w'"});
  }
}

TEST_F(BadInput, InferenceInputs) {
  support::write_npy(scene / "x.npy", Shape{1, 1, 4, 4}, std::vector<float>(16));
  support::write_npy(scene / "ints.npy", Shape{1, 1, 4, 4}, std::vector<std::int64_t>(16));
  const auto with = [&](const std::string& input) { return Words{"run", model, "--input", input}; };
  expect_refused(scene, {"run", model}, {"'input'"});
  expect_refused(scene, with("input=" + (scene / "ints.npy")), {"ints.npy", "int64", "float32"});
  expect_refused(scene, with("input=" + (scene / "none.npy")), {"none.npy"});
  expect_refused(scene,
                 with("input=" + (scene / "x.npy")) + Words{"--input", "z=" + (scene / "x.npy")},
                 {"'z'"});
  EXPECT_EQ(lowtide(with("input=" + (scene / "x.npy"))).exit_code, 0);
}

}  // namespace
}  // namespace lowtide::e2e
