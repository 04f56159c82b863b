// Small networks as PyTorch's exporters write them (tests/networks/tiny.py): what is trained, where
// training starts, and what is written back.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"
#include "onnx/model_file.h"

namespace lowtide::e2e {
namespace {

const std::string kFolder = LOWTIDE_EXPORTED;

bool has_dropout(const onnx::ModelFile& file) {
  return std::any_of(file.graph.nodes.begin(), file.graph.nodes.end(),
                     [](const onnx::FileNode& node) { return node.type == "Dropout"; });
}

class Exported : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] Words training(const Words& options) const {
    return Words{model, "--data", kFolder + "/data.npz", "--batch", "6", "--no-shuffle"} + options;
  }

  // The same without dropout, where the file has any.
  [[nodiscard]] Words without_dropout(const Words& options) const {
    return training(has_dropout(file) ? options + Words{"--dropout", "*Dropout*=0"} : options);
  }

  std::string model = kFolder + "/" + GetParam() + ".onnx";
  onnx::ModelFile file = onnx::parse_file(model);
  Json expected = Json::parse(support::read_file(kFolder + "/expected.json")).at(GetParam());
  Scene scene;
};

TEST_P(Exported, TrainsWhatPyTorchTrains) {
  const Json report = Json::parse(lowtide({"inspect", model, "--batch", "6", "--json"}).out);
  EXPECT_EQ(report.at("parameters"), expected.at("parameters"));
  std::int64_t statistics = 0;
  for (const Json& tensor : report.at("tensors")) {
    if (tensor.at("statistic").get<bool>()) statistics += tensor.at("elements").get<int>();
  }
  EXPECT_EQ(statistics, expected.at("statistics").get<std::int64_t>());
}

TEST_P(Exported, RunsAsInPyTorch) {
  const support::Array data = support::read_npz(kFolder + "/data.npz").at("input");
  support::write_npy(scene / "x.npy", data.shape,
                     std::vector<float>(data.values.begin(), data.values.end()));
  // A file that drops out by its own word is written for inference first.
  const std::string inference =
      has_dropout(file) ? train(scene, training({"--steps", "0"})).model : model;
  const auto found = infer(scene, inference, {"input=" + (scene / "x.npy")}).at("logits").values;
  const auto wanted = expected.at("logits").get<std::vector<double>>();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5);
}

TEST_P(Exported, StartsFromPyTorchsLossAndLearns) {
  const Trained trained =
      train(scene, without_dropout({"--steps", "20", "--optimizer", "adam", "--lr", "0.01"}));
  EXPECT_NEAR(trained.steps.at(0).loss, expected.at("loss").get<double>(), 1e-5);
  EXPECT_LT(trained.steps.back().loss, 0.7 * trained.steps.at(0).loss);
}

TEST_P(Exported, IsWrittenBackWithItsInterfaceAndNodes) {
  const onnx::ModelFile after = onnx::parse_file(train(scene, training({"--steps", "1"})).model);
  const auto names = [](const auto& list) {
    std::vector<std::string> result;
    for (const auto& entry : list) result.push_back(entry.name);
    return result;
  };
  EXPECT_EQ(names(after.graph.inputs), names(file.graph.inputs));
  EXPECT_EQ(names(after.graph.outputs), names(file.graph.outputs));
  EXPECT_EQ(after.opsets, file.opsets);
  ASSERT_EQ(after.graph.nodes.size(), file.graph.nodes.size());
  for (std::size_t i = 0; i < file.graph.nodes.size(); ++i) {
    EXPECT_EQ(after.graph.nodes[i].name, file.graph.nodes[i].name);
    EXPECT_EQ(after.graph.nodes[i].type, file.graph.nodes[i].type);
    EXPECT_EQ(after.graph.nodes[i].outputs[0], file.graph.nodes[i].outputs[0]);
  }
}

TEST_P(Exported, EndsWithTheSameBytesAtTheSmallestBudget) {
  const Words options = training({"--steps", "2", "--micro-batch", "6"});
  const Trained kept = train(scene, options + Words{"--policy", "keep"}, "kept.onnx");
  const std::string smallest = std::to_string(smallest_budget(options));
  const Trained small = train(scene, options + Words{"--budget", smallest}, "small.onnx");
  const auto one = support::read_initializers(kept.model);
  const auto other = support::read_initializers(small.model);
  ASSERT_EQ(one.size(), other.size());
  for (const auto& [name, array] : one) EXPECT_EQ(array.values, other.at(name).values) << name;
}

INSTANTIATE_TEST_SUITE_P(Networks,
                         Exported,
                         testing::Values("convolutions_dynamo",
                                         "convolutions_plain",
                                         "convolutions_script13",
                                         "convolutions_script17_train",
                                         "convolutions_eval",
                                         "tokens_dynamo",
                                         "tokens_plain",
                                         "tokens_script17",
                                         "tokens_script13_train",
                                         "heads_script13_train"),
                         [](const auto& instance) { return instance.param; });

// What the program says of an exported network.
std::string notes(const Words& options) {
  return plan(options + Words{"--data", kFolder + "/data.npz", "--batch", "6"}).at("notes").dump();
}

void expect_note(const std::string& found, const std::string& wanted) {
  EXPECT_NE(found.find(wanted), std::string::npos) << found;
}

TEST(ExportNotes, NameFoldedBatchNormsAndTheRemedy) {
  const std::string dynamo = kFolder + "/convolutions_dynamo.onnx";
  expect_note(notes({dynamo}), "folded 5 batch normalisations into convolutions");
  expect_note(notes({dynamo}), "optimize=False");
  const std::string script = kFolder + "/convolutions_eval.onnx";
  expect_note(notes({script}), "folded 5 batch normalisations into convolutions");
  expect_note(notes({script}), "training=TrainingMode.PRESERVE");
  expect_note(lowtide({"inspect", dynamo}).out, "note: the exporter folded 5 batch norm");
  for (const char* const name : {"/convolutions_plain.onnx", "/tokens_dynamo.onnx"}) {
    EXPECT_EQ(notes({kFolder + name}).find("folded"), std::string::npos) << name;
  }
}

TEST(ExportNotes, CountTheDropoutsThatAct) {
  expect_note(notes({kFolder + "/convolutions_script17_train.onnx"}), "dropout acts in 1 place ");
  expect_note(notes({kFolder + "/tokens_script13_train.onnx"}), "dropout acts in 2 places ");
}

// Dropout that the exporter left out comes back by the name of the value before it.
TEST(Dropout, IsRestoredByRule) {
  const Scene scene;
  const Words options = {kFolder + "/tokens_dynamo.onnx",
                         "--data",
                         kFolder + "/data.npz",
                         "--batch",
                         "6",
                         "--no-shuffle",
                         "--steps",
                         "3"};
  const Trained plain = train(scene, options, "plain.onnx");
  const Words rule = {"--dropout", "*oftmax*=0.5"};
  const Trained dropped = train(scene, options + rule, "dropped.onnx");
  expect_note(dropped.result.at("notes").dump(), "dropout acts in 2 places ");
  EXPECT_GT(std::abs(dropped.steps[0].loss - plain.steps[0].loss), 1e-4);
  const Trained again = train(scene, options + rule, "again.onnx");
  EXPECT_EQ(again.steps[2].loss, dropped.steps[2].loss);
  // The rule is about training: the file has no more dropout than before.
  EXPECT_FALSE(has_dropout(onnx::parse_file(dropped.model)));
  expect_refused(scene, Words{"train"} + options + Words{"--dropout", "nothing=0.5"},
                 {"--dropout 'nothing' matches no node"});
  expect_refused(scene, Words{"train"} + options + Words{"--dropout", "*oftmax*=1"},
                 {"'*oftmax*' must lie in [0, 1), not 1"});
}

TEST(AuxiliaryHeads, AreTrainedByTheOutputThatIsChosen) {
  const Scene scene;
  const Words options = {kFolder + "/heads_script13_train.onnx",
                         "--data",
                         kFolder + "/data.npz",
                         "--batch",
                         "6",
                         "--steps",
                         "2"};
  const auto moved = [&](const Words& choice) {
    const Trained trained = train(scene, options + choice);
    const auto before = support::read_initializers(options[0]);
    const auto after = support::read_initializers(trained.model);
    return std::pair(before.at("aux.weight").values != after.at("aux.weight").values,
                     before.at("head.weight").values != after.at("head.weight").values);
  };
  EXPECT_EQ(moved({}), std::pair(false, true));
  EXPECT_EQ(moved({"--output", "logits"}), std::pair(false, true));
  EXPECT_EQ(moved({"--output", "aux"}), std::pair(true, false));
}

}  // namespace
}  // namespace lowtide::e2e
