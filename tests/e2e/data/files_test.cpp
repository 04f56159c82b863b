// Token files and tables, from the file to metrics.
#include <cmath>

#include <gtest/gtest.h>

#include "core/random.h"
#include "core/text.h"
#include "e2e/hand_made.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

Json evaluated(const Words& arguments) {
  const Outcome outcome = lowtide(Words{"eval", "--json"} + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out);
}

// Tokens that count up, so that the next one is known.
template <class Token = std::uint16_t>
std::string counting_tokens(const Scene& scene, int count, int vocabulary) {
  std::vector<Token> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<Token>(i % vocabulary));
  support::write_file(scene / "text.bin", std::string(reinterpret_cast<const char*>(tokens.data()),
                                                      tokens.size() * sizeof(Token)));
  return scene / "text.bin";
}

TEST(TokenFiles, AGptLearnsWhatFollows) {
  const Scene scene;
  const std::string model = scene.zoo({"gpt2", "--layers", "1", "--width", "16", "--heads", "2",
                                       "--vocabulary", "12", "--sequence", "8"});
  const std::string data = counting_tokens(scene, 600, 12);
  const Words split = {"--data", data, "--val-split", "0.2"};
  const Trained trained = train(scene, Words{model, "--batch", "10", "--epochs", "30",
                                             "--optimizer", "adamw", "--lr", "0.01"} +
                                           split);
  const Json before = evaluated(Words{model} + split).at("metrics");
  const Json after = evaluated(Words{trained.model} + split).at("metrics");
  EXPECT_NEAR(before.at("perplexity").get<double>(), 12, 3);
  EXPECT_LT(after.at("perplexity").get<double>(), 1.2);
  EXPECT_GT(after.at("accuracy").get<double>(), 0.98);
  EXPECT_GE(before.at("top_5_accuracy"), before.at("accuracy"));
  EXPECT_EQ(after.at("top_5_accuracy"), 1.0);
}

TEST(TokenFiles, ATokenOutsideTheVocabularyIsRefused) {
  const Scene scene;
  const std::string model = scene.zoo({"gpt2", "--layers", "1", "--width", "16", "--heads", "2",
                                       "--vocabulary", "12", "--sequence", "8"});
  expect_refused(scene, {"eval", model, "--data", counting_tokens(scene, 100, 14)},
                 {"text.bin", "12", "outside"});
}

TEST(TokenFiles, TheirTypeIsRemembered) {
  const Scene scene;
  const std::string model = scene.zoo({"gpt2", "--layers", "1", "--width", "16", "--heads", "2",
                                       "--vocabulary", "12", "--sequence", "8"});
  const std::string data = counting_tokens<std::uint32_t>(scene, 121, 12);
  const Trained trained = train(scene, {model, "--data", data, "--token-dtype", "uint32"});
  const auto samples = [&](const Words& arguments) {
    return evaluated(Words{"--data", data} + arguments).at("samples");
  };
  EXPECT_EQ(samples({trained.model}), 15);
  EXPECT_EQ(samples({trained.model, "--token-dtype", "uint16"}), 30);
  EXPECT_EQ(samples({model}), 30);
  const Trained again = train(scene, {trained.model, "--data", data, "--batch", "1"}, "again.onnx");
  EXPECT_EQ(again.steps.size(), 15U);
  EXPECT_EQ(samples({again.model}), 15);
  std::string other = support::read_file(trained.model);
  other.replace(other.rfind("uint32"), 6, "uint99");
  support::write_file(scene / "other.onnx", other);
  expect_refused(scene, {"eval", scene / "other.onnx", "--data", data},
                 {"other.onnx", "lowtide.tokens", "uint99"});
}

// y = 2 a - 3 b + 1, and the class of a point by the sign of a - b.
std::string table(const Scene& scene, bool classes) {
  core::RandomStream random(3, 0);
  std::string text = "a,target,\"b\"\n";
  for (int i = 0; i < 200; ++i) {
    const double a = random.normal();
    const double b = 100 + 10 * random.normal();
    const double far = a - (b - 100) / 10;
    text += core::text(
        "{},{},{}\n", a,
        classes ? (far > 0 ? "above" : "below") : core::text("{}", 2 * a - 0.3 * (b - 100) + 1.25),
        b);
  }
  support::write_file(scene / "table.csv", text);
  return scene / "table.csv";
}

TEST(Tables, NamesAreClasses) {
  const Scene scene;
  const std::string model =
      scene.zoo({"mlp", "--size", "1", "--channels", "2", "--width", "8", "--classes", "2"});
  const Words data = {"--data", table(scene, true), "--label", "target"};
  const Trained trained = train(scene, Words{model, "--batch", "20", "--epochs", "20", "--lr",
                                             "0.1", "--momentum", "0.9", "--normalize"} +
                                           data);
  const Json report = evaluated(Words{trained.model} + data);
  EXPECT_EQ(report.at("classes"), Json({"above", "below"}));
  EXPECT_GT(report.at("metrics").at("accuracy").get<double>(), 0.95);
}

// What validation finds, eval finds again: two inputs of bytes, and floats that were normalised.
TEST(Normalisation, IsRememberedForEveryInput) {
  const Scene scene;
  const std::string model = write_model(
      scene,
      {.nodes = {toy::node("Mul", {"a", "b"}, {"c"}, {}, "product"),
                 toy::node("MatMul", {"c", "w"}, {"y"}, {}, "head")},
       .initializers = {weight("w", {2, 2}, {1, -1, 2, 1})},
       .inputs = {toy::value_info("a", {"batch", "2"}), toy::value_info("b", {"batch", "2"})},
       .outputs = {toy::value_info("y", {"batch", "2"})}});
  const auto write = [&](const char* name, std::uint8_t low, float shift) {
    data::NpzWriter writer(scene / name);
    support::add_array(writer, "a", core::Shape{3, 2},
                       std::vector<std::uint8_t>{low, 20, 90, 7, 40, 61});
    support::add_array(writer, "b", core::Shape{3, 2},
                       std::vector<float>{1 + shift, 2, 5, 3 + shift, 9, 4});
    support::add_array(writer, "label", core::Shape{3}, std::vector<std::int64_t>{0, 1, 1});
    writer.finish();
    return scene / name;
  };
  const std::string data = write("train.npz", 3, 0);
  const std::string other = write("test.npz", 250, 80);
  const Trained trained = train(scene, {model, "--data", data, "--val", other, "--normalize"});
  const auto loss = [&](const Words& options) {
    return evaluated(Words{trained.model, "--data", other} + options).at("loss").get<double>();
  };
  const double validated = trained.result.at("metrics").at("val_loss").get<double>();
  EXPECT_NEAR(loss({}), validated, 1e-6);
  EXPECT_NEAR(loss({"--normalize"}), validated, 1e-6);
  const double plain = loss({"--no-normalize"});
  EXPECT_GT(std::abs(plain - validated), 1e-3);
  // So is that there was none, and what a later training does.
  const Trained bare =
      train(scene, {trained.model, "--data", data, "--val", other, "--no-normalize"}, "bare.onnx");
  EXPECT_NEAR(evaluated({bare.model, "--data", other}).at("loss").get<double>(),
              bare.result.at("metrics").at("val_loss").get<double>(), 1e-6);
  const Trained again = train(scene, {trained.model, "--data", other, "--lr", "0"}, "again.onnx");
  EXPECT_NEAR(again.steps.at(0).loss, validated, 1e-6);
}

// A column in another place is not another feature.
TEST(Tables, ColumnsAreFoundByTheirNames) {
  const Scene scene;
  const std::string model =
      scene.zoo({"mlp", "--size", "1", "--channels", "2", "--width", "8", "--classes", "2"});
  support::write_file(scene / "one.csv", "a,b,label\n1,20,0\n3,10,1\n-2,30,1\n0,15,0\n");
  support::write_file(scene / "two.csv", "label,b,a\n0,20,1\n1,10,3\n1,30,-2\n0,15,0\n");
  support::write_file(scene / "other.csv", "a,c,label\n1,20,0\n");
  const Trained trained = train(scene, {model, "--data", scene / "one.csv", "--val",
                                        scene / "two.csv", "--normalize", "--epochs", "3"});
  const auto loss = [&](const char* name) {
    return evaluated({trained.model, "--data", scene / name}).at("loss").get<double>();
  };
  EXPECT_EQ(loss("two.csv"), loss("one.csv"));
  EXPECT_NEAR(trained.result.at("metrics").at("val_loss").get<double>(), loss("one.csv"), 1e-6);
  for (const Words& wrong : {Words{"eval", trained.model, "--data", scene / "other.csv"},
                             Words{"train", model, "--data", scene / "one.csv", "--val",
                                   scene / "other.csv", "-o", scene / "out2.onnx"}}) {
    expect_refused(scene, wrong, {"other.csv", "a, c", "trained on are a, b"});
  }
}

TEST(Tables, NumbersAreTargetsOfEachLoss) {
  const Scene scene;
  const std::string model =
      scene.zoo({"mlp", "--size", "1", "--channels", "2", "--width", "16", "--classes", "1"});
  const Words data = {"--data", table(scene, false), "--label", "target", "--normalize"};
  for (const Words& loss :
       {Words{}, {"--loss", "l1"}, {"--loss", "huber", "--huber-delta", "0.5"}}) {
    const Words arguments = data + loss;
    const Trained trained = train(scene, Words{model, "--batch", "20", "--epochs", "40", "--lr",
                                               "0.02", "--momentum", "0.9"} +
                                             arguments);
    EXPECT_LT(evaluated(Words{trained.model} + arguments).at("metrics").at("mae").get<double>(),
              0.4)
        << testing::PrintToString(loss);
  }
}

// The losses by their definitions, from the outputs of the untrained network.
TEST(Tables, LossesAndMetricsAreThoseOfTheirDefinitions) {
  const Scene scene;
  const std::string model =
      scene.zoo({"mlp", "--size", "1", "--channels", "2", "--width", "4", "--classes", "1"});
  const std::vector<float> x = {0.5F, -1, 2, 3, -0.25F, 0.125F};
  const std::vector<float> y = {0, 1, 1};
  data::NpzWriter writer(scene / "d.npz");
  support::add_array(writer, "input", core::Shape{3, 2, 1, 1}, x);
  support::add_array(writer, "label", core::Shape{3, 1}, y);
  writer.finish();
  support::write_npy(scene / "x.npy", core::Shape{3, 2, 1, 1}, x);
  const auto outputs = infer(scene, model, {"input=" + (scene / "x.npy")});
  const auto z = outputs.begin()->second.values;
  double squared = 0;
  double absolute = 0;
  double huber = 0;
  double weighted = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double t = double{y[i]};
    const double d = z[i] - t;
    squared += d * d / 3;
    absolute += std::abs(d) / 3;
    huber += (std::abs(d) <= 0.3 ? d * d / 2 : 0.3 * (std::abs(d) - 0.15)) / 3;
    const double s = 1 / (1 + std::exp(-z[i]));
    weighted -= (2.5 * t * std::log(s) + (1 - t) * std::log(1 - s)) / 3;
  }
  const Words data = {model, "--data", scene / "d.npz"};
  const auto loss_of = [&](const Words& loss) {
    return evaluated(data + loss).at("loss").get<double>();
  };
  EXPECT_NEAR(loss_of({"--loss", "mse"}), squared, 1e-6);
  EXPECT_NEAR(loss_of({"--loss", "l1"}), absolute, 1e-6);
  EXPECT_NEAR(loss_of({"--loss", "huber", "--huber-delta", "0.3"}), huber, 1e-6);
  EXPECT_NEAR(loss_of({"--loss", "bce-with-logits", "--pos-weight", "2.5"}), weighted, 1e-6);
  EXPECT_NEAR(evaluated(data + Words{"--loss", "mse"}).at("metrics").at("mae").get<double>(),
              absolute, 1e-6);
  expect_refused(scene, Words{"eval"} + data + Words{"--loss", "bce"},
                 {"Sigmoid", "bce-with-logits"});
}

}  // namespace
}  // namespace lowtide::e2e
