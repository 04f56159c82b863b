// Help and wrong usage.
#include <filesystem>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>

#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

struct Help {
  std::string command;
  Words options;
};

class HelpText : public testing::TestWithParam<Help> {};

TEST_P(HelpText, NamesEveryOption) {
  const Outcome outcome = lowtide({GetParam().command, "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const std::string& option : GetParam().options) {
    EXPECT_NE(outcome.out.find(option), std::string::npos) << option << "\n" << outcome.out;
  }
}

const Words kTraining = {"--data",
                         "--val",
                         "--val-split",
                         "--augment",
                         "--config",
                         "--label",
                         "--batch",
                         "--epochs",
                         "--steps",
                         "--shuffle",
                         "--no-shuffle",
                         "--seed",
                         "--drop-last",
                         "--loss",
                         "--ignore-index",
                         "--optimizer",
                         "--label-smoothing",
                         "--class-weights",
                         "--lr",
                         "--momentum",
                         "--nesterov",
                         "--weight-decay",
                         "--betas",
                         "--eps",
                         "--no-decay",
                         "--freeze",
                         "--clip-norm",
                         "--ema",
                         "--schedule",
                         "--warmup",
                         "--min-lr",
                         "--step-size",
                         "--gamma",
                         "--train",
                         "--dropout",
                         "--budget",
                         "--checkpoint",
                         "--checkpoint-every",
                         "--keep-checkpoints",
                         "--resume",
                         "--detect-anomaly",
                         "--micro-batch",
                         "--policy",
                         "--costs",
                         "--cost-cache",
                         "--report",
                         "--threads",
                         "--isa",
                         "--json",
                         "--shape",
                         "--output",
                         "--running-stats"};

INSTANTIATE_TEST_SUITE_P(
    Commands,
    HelpText,
    testing::Values(
        Help{"zoo",
             {"--depth",      "--width", "--blocks", "--classes",    "--channels", "--size",
              "--seed",       "--out",   "--list",   "--block",      "--groups",   "--group-width",
              "--batch-norm", "--heads", "--layers", "--vocabulary", "--sequence", "--patch",
              "mlp",          "lenet",   "resnet",   "wrn",          "gpt2",       "vit"}},
        Help{"inspect", {"--batch", "--shape", "--json"}},
        Help{"plan", kTraining + Words{"--out", "--sweep", "--explain"}},
        Help{"train", kTraining + Words{"--out", "--log", "--trace", "--plan"}},
        Help{"eval", {"--data", "--val", "--val-split", "--label", "--budget", "--loss", "--json"}},
        Help{"run", {"--input", "--out", "--budget", "--json"}}),
    [](const auto& instance) { return instance.param.command; });

TEST(Usage, TheProgramListsItsCommandsAndItsVersion) {
  const Outcome help = lowtide({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* const command : {"zoo", "inspect", "plan", "train", "eval", "run"}) {
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
  }
  const Outcome version = lowtide({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out.rfind("lowtide ", 0), 0U) << version.out;
}

TEST(Usage, WrongUseIsExitCodeTwo) {
  const Words training = {"train", "m.onnx", "--data", "d.npz"};
  const std::vector<Words> wrong = {
      {},
      {"trian"},
      {"train"},
      {"train", "m.onnx"},
      training + Words{"--no-such-option"},
      training + Words{"--lr", "fast"},
      training + Words{"--dropout", "relu"},
      training + Words{"--dropout", "relu=half"},
      training + Words{"--budget", "12 parsecs"},
      training + Words{"--budget", "-5MB"},
      training + Words{"--epochs", "2", "--steps", "10"},
      training + Words{"--optimizer", "lion"},
      training + Words{"--policy", "hope"},
      training + Words{"--isa", "sse"},
      training + Words{"--batch", "0"},
      {"zoo", "transformer", "-o", "m.onnx"},
      {"zoo", "mlp"},
  };
  for (const Words& arguments : wrong) {
    const Outcome outcome = lowtide(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(arguments) << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
}

// Standard output carries one JSON object and nothing else.
TEST(Usage, NumbersAreHeldToWhatTheyMayBe) {
  const Scene scene;
  const Words train = {"train", scene.small_network(), "--data", scene.images()};
  for (const Words& wrong :
       {Words{"--lr", "nan"}, Words{"--lr", "inf"}, Words{"--lr", "1e400"}, Words{"--lr", "0.1x"},
        Words{"--batch", "0"}, Words{"--batch", "-3"}, Words{"--clip-norm", "0"},
        Words{"--gamma", "nan"}, Words{"--gamma", "-1"}, Words{"--min-lr", "nan"},
        Words{"--pct-start", "nan"}, Words{"--weight-decay", "nan"}, Words{"--seed", "-1"},
        Words{"--seed", "18446744073709551616"}, Words{"--split-seed", "1.5"},
        Words{"--label-smoothing", "1.5"}, Words{"--keep-checkpoints", "11"}}) {
    const Outcome outcome = lowtide(train + wrong);
    EXPECT_EQ(outcome.exit_code, 2) << wrong[0] << " " << wrong[1];
    EXPECT_NE(outcome.err.find(wrong[0] + ": must be "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("'" + wrong[1] + "'"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(lowtide(train + Words{"--seed", "18446744073709551615"}).exit_code, 0);
}

TEST(Usage, AWordThatIsNoCommandIsToldWhichThereAre) {
  for (const Words& wrong : {Words{"trian", "m.onnx", "--lr", "1"}, Words{"help"}, Words{""}}) {
    const Outcome outcome = lowtide(wrong);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("'" + wrong[0] + "' is no command; there are zoo, inspect, plan"),
              std::string::npos)
        << outcome.err;
  }
}

TEST(Usage, NamesThatAreNoneAreToldWhichThereAre) {
  for (const auto& [option, word, among] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"--loss", "ce", "auto, cross-entropy, mse, l1, huber, bce, bce-with-logits"},
           {"--loss", "1", "auto, cross-entropy"},
           {"--optimizer", "lion", "sgd, adam, adamw"},
           {"--schedule", "poly", "constant, cosine, linear, step, one-cycle"},
           {"--isa", "sse", "native, avx512, avx2, reference"}}) {
    const Outcome outcome = lowtide({"train", "m.onnx", "--data", "d.npz", option, word});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find(option + ": must be one of " + among), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("not '" + word + "'"), std::string::npos) << outcome.err;
  }
}

TEST(Usage, NoFileOfARunReplacesAnother) {
  const Scene scene;
  const std::string model = scene.small_network();
  const std::string data = scene.images();
  std::filesystem::create_symlink(data, scene / "link.npz");
  std::filesystem::create_directory(scene / "sub");
  const std::string x = scene / "x";
  const std::string before = support::read_file(data);
  for (const Words& wrong :
       {Words{"-o", data}, Words{"--log", data}, Words{"--log", scene / "link.npz"},
        Words{"--checkpoint", scene / "sub/../images.npz"}, Words{"--log", model},
        Words{"--report", model}, Words{"-o", x, "--checkpoint", x}, Words{"-o", x, "--log", x},
        Words{"--report", x, "--trace", scene / "sub/../x"},
        Words{"--val", data, "--keep-best", x, "-o", x}}) {
    const Outcome outcome = lowtide(Words{"train", model, "--data", data} + wrong);
    EXPECT_EQ(outcome.exit_code, 1) << testing::PrintToString(wrong);
    EXPECT_NE(outcome.err.find("would replace the other"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(support::read_file(data), before);
  EXPECT_FALSE(std::filesystem::exists(x));
  // Training in place.
  EXPECT_EQ(lowtide({"train", model, "--data", data, "-o", model}).exit_code, 0);
}

// What one option leaves without a reader is a mistake.
TEST(Usage, OptionsWithoutEffectAreRefused) {
  const Scene scene;
  const std::string data = scene.images();
  const Words start = {scene.small_network(), "--batch", "4"};
  const Words train = Words{"train", "--data", data} + start;
  const std::vector<std::pair<Words, std::string>> wrong = {
      {train + Words{"--mean", "0.5", "--std", "1", "--no-normalize"}, "--mean"},
      {train + Words{"--split-seed", "1"}, "--split-seed"},
      {train + Words{"--crop-area", "0.3"}, "--crop-area"},
      {train + Words{"--token-dtype", "uint16"}, "--token-dtype"},
      {train + Words{"--image-size", "8"}, "--image-size"},
      {train + Words{"--bad-samples", "skip"}, "--bad-samples"},
      {train + Words{"--huber-delta", "2"}, "--huber-delta"},
      {train + Words{"--pos-weight", "2"}, "--pos-weight"},
      {train + Words{"--optimizer", "adam", "--momentum", "0.9"}, "--momentum"},
      {train + Words{"--optimizer", "adamw", "--nesterov"}, "--nesterov"},
      {train + Words{"--betas", "0.8,0.9"}, "--betas"},
      {train + Words{"--eps", "0.1"}, "--eps"},
      {train + Words{"--min-lr", "0.001"}, "--min-lr"},
      {train + Words{"--schedule", "cosine", "--gamma", "0.5"}, "--gamma"},
      {train + Words{"--schedule", "linear", "--step-size", "3"}, "--step-size"},
      {train + Words{"--schedule", "step", "--pct-start", "0.5"}, "--pct-start"},
      {train + Words{"--no-cycle-momentum"}, "--no-cycle-momentum"},
      {train + Words{"--schedule", "one-cycle", "--no-cycle-momentum", "--base-momentum", "0.5"},
       "--base-momentum"},
      {train + Words{"--keep-checkpoints", "3"}, "--keep-checkpoints"},
      {Words{"plan", "--val-split", "0.5"} + start, "--val-split"},
      {Words{"plan", "--val", data} + start, "--val"},
      {Words{"eval", "--data", data, "--split-seed", "2"} + start, "--split-seed"},
      {Words{"eval"} + start + Words{"--data", data, "--augment", "flip"}, "--augment"},
  };
  for (const auto& [arguments, option] : wrong) {
    expect_refused(scene, arguments, {option + " has no effect w"});
  }
}

TEST(Usage, OptionsOfAnotherLossAreRefused) {
  const Scene scene;
  const std::string model =
      scene.zoo({"mlp", "--size", "1", "--channels", "2", "--width", "4", "--classes", "3"});
  data::NpzWriter writer(scene / "d.npz");
  support::add_array(writer, "input", core::Shape{2, 2, 1, 1}, std::vector<float>(4));
  support::add_array(writer, "label", core::Shape{2, 3}, std::vector<float>(6));
  writer.finish();
  support::write_npy(scene / "w.npy", core::Shape{3}, std::vector<float>{1, 2, 3});
  for (const char* const command : {"train", "eval"}) {
    for (const Words& option : {Words{"--class-weights", scene / "w.npy"},
                                {"--label-smoothing", "0.1"},
                                {"--ignore-index", "-1"},
                                {"--huber-delta", "2"}}) {
      expect_refused(scene, Words{command, model, "--data", scene / "d.npz"} + option,
                     {option[0] + " has no effect with the loss mse"});
    }
  }
}

TEST(Usage, WhatIsGivenTwiceIsRefused) {
  const Scene scene;
  const std::string model = scene.small_network();
  const std::string x = scene / "x.npy";
  support::write_npy(x, core::Shape{1, 1, 4, 4}, std::vector<float>(16));
  const Words input = {"--input", "input=" + x};
  const Words run = Words{"run", model} + input;
  expect_refused(scene, run + input, {"--input is given twice for 'input'"});
  expect_refused(scene, run + Words{"--shape", "input=2,1,4,4"}, {"[2, 1, 4, 4]", "'input'"});
  EXPECT_EQ(lowtide(run + Words{"--shape", "input=1,1,4,4"}).exit_code, 0);
  const Words shape = {"--shape", "input=2,1,4,4"};
  expect_refused(scene, Words{"inspect", model} + shape + shape,
                 {"--shape is given twice for 'input'"});
  EXPECT_EQ(lowtide({"train", model, "--data", scene.images(), "--augment", "none,flip"}).exit_code,
            2);
}

// As scripts give them, whose variables are not set.
TEST(Usage, EmptyWordsArePlacedOrRefused) {
  const Scene scene;
  const Words train = {"train", scene.small_network(), "--data", scene.images()};
  EXPECT_EQ(lowtide(train + Words{"--cost-cache", "", "--lr", "0.1"}).exit_code, 0);
  for (const Words& wrong : {Words{"", "--lr", "0.1"}, Words{""}, Words{"--lr", "0.1", ""},
                             Words{"--betas", "0.9", "--cost-cache", "", "--lr", "0.1"}}) {
    EXPECT_EQ(lowtide(train + wrong).exit_code, 2);
  }
}

// Options that may repeat take one value each, and leave the model alone.
TEST(Usage, AModelMayFollowAnOptionThatRepeats) {
  const Scene scene;
  const std::string model = scene.small_network();
  for (const char* const option : {"--freeze", "--train", "--no-decay"}) {
    const Outcome outcome =
        lowtide({"train", option, "fc1.*", model, "--data", scene.images(), option, "fc2.*"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

TEST(Usage, JsonIsAloneOnStandardOutput) {
  const Scene scene;
  const std::string model = scene.small_network();
  const std::string data = scene.images();
  support::write_npy(scene / "x.npy", core::Shape{1, 1, 4, 4}, std::vector<float>(16));
  const std::vector<std::pair<Words, Words>> commands = {
      {{"inspect", model}, {"opset", "ops", "tensors", "parameters", "training_bytes"}},
      {{"plan", model, "--data", data},
       {"fits", "smallest_feasible_bytes", "planning_seconds", "costs", "policy", "kept"}},
      {{"train", model, "--data", data},
       {"steps", "loss", "metrics", "step_seconds", "budget_bytes", "arena_bytes", "runtime_bytes",
        "peak_rss_bytes", "micro_batch", "plan", "output"}},
      {{"eval", model, "--data", data}, {"loss", "metrics", "samples"}},
      {{"run", model, "--input", "input=" + (scene / "x.npy")}, {"outputs"}},
  };
  for (const auto& [arguments, keys] : commands) {
    const Outcome outcome = lowtide(arguments + Words{"--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    for (const std::string& key : keys) EXPECT_TRUE(json.contains(key)) << key << outcome.out;
  }
}

// What a shell makes of it, with the program as "$0".
Outcome in_a_shell(const std::string& line, const Words& arguments) {
  return support::run_program("/bin/sh", Words{"-c", line, LOWTIDE_PROGRAM} + arguments);
}

TEST(Usage, AnAnswerThatCannotBeWrittenIsNoSuccess) {
  const Scene scene;
  for (const Words& arguments : {Words{"inspect", scene.small_network()}, Words{"zoo", "--list"}}) {
    const Outcome outcome = in_a_shell("\"$0\" \"$@\" > /dev/full", arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("standard output cannot be written"), std::string::npos)
        << outcome.err;
  }
}

TEST(Usage, TrainingGoesOnWhenNobodyReadsAlong) {
  const Scene scene;
  const Words run = {"train", scene.small_network(), "--data", scene.images(), "--epochs", "40",
                     "-o"};
  const Outcome alone = in_a_shell("\"$0\" \"$@\" | true", run + Words{scene / "alone.onnx"});
  EXPECT_NE(alone.err.find("standard output cannot be written"), std::string::npos) << alone.err;
  EXPECT_EQ(lowtide(run + Words{scene / "watched.onnx"}).exit_code, 0);
  EXPECT_TRUE(support::read_file(scene / "alone.onnx") ==
              support::read_file(scene / "watched.onnx"));
}

TEST(Usage, ALogThatCannotBeWrittenEndsTrainingWithTheReason) {
  const Scene scene;
  const std::string ck = scene / "run.safetensors";
  const Outcome outcome = lowtide({"train", scene.small_network(), "--data", scene.images(),
                                   "--log", "/dev/full", "--checkpoint", ck});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("/dev/full: cannot write the log: No space left on device"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find(ck + " holds step 1"), std::string::npos) << outcome.err;
}

// A file that is opened first must not become the standard output.
TEST(Usage, ClosedStreamsAreMixedWithNoFile) {
  const Scene scene;
  const std::string log = scene / "log.jsonl";
  const Words run = {"train", scene.small_network(), "--data", scene.images(), "--log", log};
  for (const char* const line : {"\"$0\" \"$@\" >&-", "\"$0\" \"$@\" <&- >&- 2>&-"}) {
    EXPECT_EQ(in_a_shell(line, run).exit_code, 0);
    EXPECT_GE(read_log(log).size(), 1U);
  }
}

// Names of files are bytes; JSON is UTF-8.
TEST(Usage, JsonHoldsNamesThatAreNoUtf8) {
  const Scene scene;
  const std::string model = scene / "caf\xe9.onnx";
  std::filesystem::rename(scene.small_network(), model);
  const Outcome outcome =
      lowtide({"train", model, "--data", scene.images(), "--json", "-o", scene / "out\xff.onnx"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GE(Json::parse(outcome.out).at("steps"), 1);
}

TEST(Usage, APlanThatDoesNotFitIsAnAnswerWithExitCodeOne) {
  const Scene scene;
  const Outcome outcome = lowtide(
      {"plan", scene.small_network(), "--data", scene.images(), "--budget", "1MiB", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const Json json = Json::parse(outcome.out);
  EXPECT_FALSE(json.at("fits").get<bool>());
  EXPECT_GT(json.at("smallest_feasible_bytes").get<std::int64_t>(), 1 << 20);
}

TEST(Usage, EveryOptionThatTheZooListsIsOne) {
  const std::string help = lowtide({"zoo", "--help"}).out;
  std::istringstream list(lowtide({"zoo", "--list"}).out);
  std::size_t options = 0;
  for (std::string word; list >> word;) {
    if (word.rfind("--", 0) != 0) continue;
    ++options;
    EXPECT_TRUE(help.find(word + " ") != std::string::npos ||
                help.find(word + ",") != std::string::npos)
        << word;
  }
  EXPECT_GT(options, 20U);
}

}  // namespace
}  // namespace lowtide::e2e
