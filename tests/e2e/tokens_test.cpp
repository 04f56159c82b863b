// Networks over tokens, and what exporters make of shared and narrow weights.
#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/hand_made.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

using core::Shape;
using Ints = std::vector<std::int64_t>;

std::string write_tokens(const Scene& scene,
                         const Shape& shape,
                         const Ints& tokens,
                         const Ints& labels) {
  const std::string path = scene / "data.npz";
  data::NpzWriter writer(path);
  support::add_array(writer, "ids", shape, tokens);
  support::add_array(writer, "label", shape, labels);
  writer.finish();
  return path;
}

// logits[n, t] = table[ids[n, t]], over as many classes as there are places.
std::string write_square(const Scene& scene) {
  return write_model(scene,
                     {.nodes = {toy::node("Gather", {"table", "ids"}, {"logits"}, {}, "look")},
                      .initializers = {weight("table", {3, 3}, {5, 0, 0, 0, 5, 0, 1, 2, 3})},
                      .inputs = {toy::value_info("ids", {"batch", "3"}, 7)},
                      .outputs = {toy::value_info("logits", {"batch", "3", "3"})}});
}

// -log of the share that `chosen` has among the exponentials.
double cross_entropy(const std::vector<double>& logits, std::size_t chosen) {
  double sum = 0;
  for (const double x : logits) sum += std::exp(x);
  return std::log(sum) - logits[chosen];
}

// Where shapes leave it open, the classes of tokens stand last.
TEST(Tokens, ClassesStandLastThoughPlacesAreAsMany) {
  const Scene scene;
  const std::string data = write_tokens(scene, {1, 3}, {0, 1, 2}, {0, 2, 2});
  const Trained trained =
      train(scene, {write_square(scene), "--data", data, "--batch", "1", "--steps", "1"});
  const double wanted =
      (cross_entropy({5, 0, 0}, 0) + cross_entropy({0, 5, 0}, 2) + cross_entropy({1, 2, 3}, 2)) / 3;
  EXPECT_NEAR(trained.steps.at(0).loss, wanted, 1e-6);
}

// The sibling of unequal counts in micro-batches: padding labels, some parts of nothing else.
TEST(Tokens, MicroBatchesWithPaddedPlaces) {
  const Scene scene;
  const std::string data =
      write_tokens(scene, {3, 3}, {0, 1, 2, 2, 1, 0, 1, 1, 1}, {0, -1, -1, -1, -1, -1, 2, 1, -1});
  const double wanted =
      (cross_entropy({5, 0, 0}, 0) + cross_entropy({0, 5, 0}, 2) + cross_entropy({0, 5, 0}, 1)) / 3;
  const std::string model = write_square(scene);
  std::vector<double> whole;
  for (const char* const micro : {"3", "2", "1"}) {
    const Trained trained =
        train(scene, {model, "--data", data, "--batch", "3", "--no-shuffle", "--steps", "1", "--lr",
                      "1", "--ignore-index", "-1", "--micro-batch", micro});
    EXPECT_NEAR(trained.steps.at(0).loss, wanted, 1e-6) << micro;
    const std::vector<double> table = support::read_initializers(trained.model).at("table").values;
    if (whole.empty()) whole = table;
    ASSERT_EQ(table.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(table[i], whole[i], 1e-6) << micro;
  }
}

// An embedding has no row for them; NaN would be the answer.
TEST(Tokens, OutsideTheVocabularyAreRefusedByPlace) {
  const Scene scene;
  const std::string model = write_square(scene);
  const auto refused = [&](const Words& arguments, const Words& parts) {
    expect_refused(scene, arguments + Words{"--data", scene / "data.npz"}, parts);
  };
  for (const std::int64_t wrong : {std::int64_t{3}, std::int64_t{-4}, std::int64_t{1} << 32}) {
    write_tokens(scene, {2, 3}, {0, 1, 2, 0, wrong, 2}, {0, 1, 2, 0, 1, 2});
    const Words parts = {"data.npz", "'ids', sample 1, element 1", std::to_string(wrong), "3 rows",
                         "0 to 2"};
    refused({"train", model, "--batch", "1", "-o", scene / "out.onnx"}, parts);
    refused({"eval", model}, parts);
    support::write_npy(scene / "ids.npy", Shape{2, 3}, Ints{0, 1, 2, 0, wrong, 2});
    expect_refused(scene, {"run", model, "--input", "ids=" + (scene / "ids.npy")},
                   {"ids.npy", "'ids', element 4", std::to_string(wrong), "3 rows"});
  }
  // ONNX counts negative indices from the end.
  write_tokens(scene, {1, 3}, {-1, 1, -3}, {2, 1, 0});
  const Json evaluated =
      Json::parse(lowtide({"eval", model, "--data", scene / "data.npz", "--json"}).out);
  EXPECT_DOUBLE_EQ(evaluated.at("metrics").at("accuracy").get<double>(), 1);
}

TEST(Tokens, OfAFileAreRefusedByTheirPlaceInIt) {
  const Scene scene;
  const std::string model = write_square(scene);
  std::vector<std::uint16_t> tokens(40, 1);
  tokens[29] = 7;
  const std::string path = scene / "text.bin";
  support::write_file(path,
                      std::string(reinterpret_cast<const char*>(tokens.data()), 2 * tokens.size()));
  for (const Words& arguments :
       {Words{"train", model, "--epochs", "9"}, Words{"train", model, "--val-split", "0.4"},
        Words{"eval", model}, Words{"eval", model, "--val-split", "0.4"}}) {
    expect_refused(scene, arguments + Words{"--data", path},
                   {"text.bin", "token 29 of the file", " 7 "});
  }
}

// A table of fewer rows than the output has classes: what is written may not be read again.
TEST(Tokens, ThatOnlyTheOutputKnowsAreNotReadAgain) {
  const Scene scene;
  const std::string model =
      write_model(scene, {.nodes = {toy::node("Gather", {"table", "ids"}, {"logits"}, {}, "look")},
                          .initializers = {weight("table", {2, 3}, {0, 1, 0, 0, 0, 9})},
                          .inputs = {toy::value_info("ids", {"batch", "3"}, 7)},
                          .outputs = {toy::value_info("logits", {"batch", "3", "3"})}});
  const auto generate = [&](const char* prompt, const char* tokens) {
    return Words{"generate", model,  "--prompt-tokens", prompt,
                 "--tokens", tokens, "--temperature",   "0"};
  };
  expect_refused(scene, generate("2", "1"), {"model.onnx", "token 2", "0 to 1"});
  EXPECT_EQ(lowtide(generate("0", "2")).exit_code, 0);
  const Outcome outcome = lowtide(generate("0", "3"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("the network wrote token 2, and it can read 0 to 1 only"),
            std::string::npos)
      << outcome.err;
}

TEST(Tokens, APlanWithoutDataAssumesALabelForEach) {
  const Scene scene;
  const std::string model = scene.zoo({"gpt2", "--depth", "1", "--width", "16", "--heads", "2",
                                       "--vocabulary", "40", "--sequence", "8"});
  Ints tokens(3 * 8);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int64_t>(i % 40);
  const std::string data = scene / "data.npz";
  {
    data::NpzWriter writer(data);
    support::add_array(writer, "tokens", {3, 8}, tokens);
    support::add_array(writer, "label", {3, 8}, tokens);
    writer.finish();
  }
  EXPECT_EQ(smallest_budget({model, "--batch", "2"}),
            smallest_budget({model, "--batch", "2", "--data", data}));
}

constexpr const char* kFoldedFrom = "pkg.onnxscript.optimizer.folded_from";

onnx::WireWriter copy_of(const std::string& name,
                         const Ints& dims,
                         const std::vector<float>& elements,
                         const std::string& original) {
  onnx::WireWriter tensor = weight(name, dims, elements);
  return tensor.message(16,
                        onnx::WireWriter().text(1, kFoldedFrom).text(2, "['" + original + "']"));
}

// The sibling of a table that is read twice: PyTorch's optimizer has transposed it for good.
TEST(Tokens, ATransposedCopyOfTheTableIsTrainedWithIt) {
  const Scene scene;
  const std::string model = write_model(
      scene, {.nodes = {toy::node("Gather", {"table", "ids"}, {"rows"}, {}, "look"),
                        toy::node("MatMul", {"rows", "turned"}, {"logits"}, {}, "head")},
              .initializers = {weight("table", {3, 2}, {1, 2, 3, 4, 5, 6}),
                               copy_of("turned", {2, 3}, {1, 3, 5, 2, 4, 6}, "table")},
              .inputs = {toy::value_info("ids", {"batch"}, 7)},
              .outputs = {toy::value_info("logits", {"batch", "3"})}});
  const std::string data = scene / "data.npz";
  {
    data::NpzWriter writer(data);
    support::add_array(writer, "ids", Shape{2}, Ints{0, 2});
    support::add_array(writer, "label", Shape{2, 3}, std::vector<float>{2, 11, 17, 17, 36, 61});
    writer.finish();
  }
  EXPECT_EQ(Json::parse(lowtide({"inspect", model, "--json"}).out).at("parameters"), 6);
  const Trained trained =
      train(scene, {model, "--data", data, "--batch", "2", "--no-shuffle", "--lr", "1"});
  EXPECT_NEAR(trained.steps.at(0).grad_norm, 10.29563, 1e-5);
  EXPECT_NE(trained.result.at("notes").dump().find("trained as the one weight"), std::string::npos);
  const auto written = support::read_initializers(trained.model);
  const std::vector<double> table = {-1, -2, -2, -2, 2, 2};
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_NEAR(written.at("table").values[i], table[i], 1e-5);
    EXPECT_EQ(written.at("turned").values[i % 2 * 3 + i / 2], written.at("table").values[i]);
  }
}

// PyTorch's optimizer takes zero biases away: nothing brings them back, so it is said.
TEST(Tokens, ADroppedBiasIsSaid) {
  const Scene scene;
  onnx::WireWriter gemm = toy::node("Gemm", {"x", "w"}, {"y"}, {}, "head");
  gemm.message(9, onnx::WireWriter()
                      .text(1, "pkg.onnxscript.rewriter.rule_name")
                      .text(2, "RemoveOptionalBiasFromGemm"));
  const std::string model = write_model(scene, {.nodes = {gemm},
                                                .initializers = {weight("w", {2, 2}, {1, 2, 3, 4})},
                                                .inputs = {toy::value_info("x", {"batch", "2"})},
                                                .outputs = {toy::value_info("y", {"batch", "2"})}});
  const std::string notes = plan({model, "--batch", "2"}).at("notes").dump();
  EXPECT_NE(notes.find("dropped the bias of 1 linear layer that was zero"), std::string::npos)
      << notes;
}

// Weights of 16 bits are trained in float32 and written as they were.
TEST(Tokens, NarrowWeightsComeBackNarrow) {
  const Scene scene;
  const std::vector<std::uint16_t> ones(9, 0x3C00);
  const std::string raw(reinterpret_cast<const char*>(ones.data()), 2 * ones.size());
  const std::string model = write_model(
      scene,
      {.nodes = {toy::node("Gather", {"table", "ids"}, {"narrow"}, {}, "look"),
                 toy::node("Cast", {"narrow"}, {"logits"}, {toy::int_attribute("to", 1)}, "wide")},
       .initializers =
           {onnx::WireWriter().packed(1, Ints{3, 3}).integer(2, 10).text(8, "table").text(9, raw)},
       .inputs = {toy::value_info("ids", {"batch", "3"}, 7)},
       .outputs = {toy::value_info("logits", {"batch", "3", "3"})}});
  const std::string data = write_tokens(scene, {1, 3}, {0, 1, 2}, {0, 2, 2});
  const Trained trained =
      train(scene, {model, "--data", data, "--batch", "1", "--steps", "1", "--lr", "0.3"});
  EXPECT_NE(trained.result.at("notes").dump().find("of 16 bits"), std::string::npos);
  const onnx::TensorRef table = onnx::parse_file(trained.model).graph.initializers.at(0);
  EXPECT_EQ(table.half, onnx::Half::kFloat16);
  // 1 - 0.3 (softmax - one) / 3 of three equal logits, to the nearest float16.
  const auto nearest = [](double x) {
    return onnx::half_to_float(onnx::Half::kFloat16,
                               onnx::float_to_half(onnx::Half::kFloat16, static_cast<float>(x)));
  };
  const auto bytes = onnx::load(table);
  const auto* const values = reinterpret_cast<const float*>(bytes->data());
  EXPECT_EQ(values[0], nearest(1 + 0.1 * 2 / 3));
  EXPECT_EQ(values[1], nearest(1 - 0.1 / 3));
  EXPECT_EQ(values[8], nearest(1 + 0.1 * 2 / 3));
}

// The log, the line of the epoch and that of the validation speak of perplexity, as `eval` does.
TEST(Tokens, TellThePerplexityWhileTraining) {
  const Scene scene;
  const std::string data = write_tokens(scene, {4, 3}, {0, 1, 2, 1, 1, 0, 2, 2, 1, 0, 0, 1},
                                        {0, 2, 2, 1, 0, 0, 2, 1, 1, 0, 1, 2});
  const std::string log = scene / "log.jsonl";
  const Words run = {
      "train", write_square(scene), "--data", data,    "--val", data, "--batch", "4", "--lr",
      "0.1",   "--steps",           "2",      "--log", log};
  const Outcome outcome = lowtide(run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(support::read_file(log));
  Json last;
  for (std::string line; std::getline(lines, line);) {
    last = Json::parse(line);
    EXPECT_DOUBLE_EQ(last["perplexity"].get<double>(), std::exp(last["loss"].get<double>()));
    EXPECT_DOUBLE_EQ(last["val_perplexity"].get<double>(),
                     std::exp(last["val_loss"].get<double>()));
    EXPECT_GE(last["accuracy"].get<double>(), 0);
  }
  const std::string epoch = core::text("epoch 2  loss {:.4f}  accuracy {:.4f}  perplexity {:.4f}",
                                       last["loss"].get<double>(), last["accuracy"].get<double>(),
                                       last["perplexity"].get<double>());
  EXPECT_NE(outcome.out.find(epoch), std::string::npos) << epoch << "\n" << outcome.out;
  const std::string validation =
      core::text("perplexity {:.4f}", last["val_perplexity"].get<double>());
  EXPECT_NE(outcome.out.find(validation), std::string::npos) << outcome.out;
  // With smoothing the loss is something else.
  const Outcome smooth = lowtide(run + Words{"--label-smoothing", "0.1"});
  EXPECT_EQ(smooth.out.find("perplexity"), std::string::npos) << smooth.out;
}

}  // namespace
}  // namespace lowtide::e2e
