// Runs that stop and go on: the same numbers as without the stop, and refusals where they could not
// be.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/hand_made.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

struct Kind {
  std::string name;
  Words zoo;
  Images images;
  Words options;
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

// 22 samples in batches of 8: three steps an epoch, the last of them short.
const std::vector<Kind> kKinds = {
    {"Momentum",
     {"mlp", "--size", "4", "--channels", "1", "--width", "8", "--classes", "3"},
     {.samples = 22},
     {"--lr", "0.1", "--momentum", "0.9", "--nesterov", "--weight-decay", "0.01"}},
    {"AdamWithDropout",
     {"mlp", "--size", "4", "--channels", "1", "--width", "8", "--classes", "3"},
     {.samples = 22},
     {"--optimizer", "adam", "--lr", "0.01", "--dropout", "*relu*=0.3", "--clip-norm", "0.5"}},
    {"MicroBatches",
     {"mlp", "--size", "4", "--channels", "1", "--width", "8", "--classes", "3"},
     {.samples = 22},
     {"--optimizer", "adamw", "--lr", "0.01", "--micro-batch", "3", "--schedule", "cosine", "--ema",
      "0.9"}},
    {"OneCycle",
     {"mlp", "--size", "4", "--channels", "1", "--width", "8", "--classes", "3"},
     {.samples = 22},
     {"--lr", "0.1", "--nesterov", "--schedule", "one-cycle"}},
    {"OneCycleOfAdam",
     {"mlp", "--size", "4", "--channels", "1", "--width", "8", "--classes", "3"},
     {.samples = 22},
     {"--optimizer", "adam", "--lr", "0.01", "--schedule", "one-cycle"}},
    {"RunningStatistics",
     {"resnet", "--depth", "18", "--size", "32", "--classes", "3"},
     {.samples = 22, .channels = 3, .size = 32},
     {"--lr", "0.01", "--momentum", "0.9"}},
};

class Resuming : public testing::TestWithParam<Kind> {
 protected:
  [[nodiscard]] Words run(const Words& more) const {
    return Words{model, "--data", data, "--batch", "8", "--seed", "7"} + GetParam().options + more;
  }

  Scene scene;
  std::string model = scene.zoo(GetParam().zoo);
  std::string data = scene.images(GetParam().images);
};

TEST_P(Resuming, GivesTheWeightsOfARunThatNeverStopped) {
  const bool large = GetParam().name == "RunningStatistics";
  const std::int64_t total = large ? 4 : 8;
  const std::string steps = std::to_string(total);
  const Trained whole = train(scene, run({"--steps", steps}), "whole.onnx");
  const std::string ck = scene / "whole.ck";
  const Words saved = {"--checkpoint", ck, "--checkpoint-every", "1", "--keep-checkpoints", "10"};
  EXPECT_TRUE(train(scene, run(Words{"--steps", steps} + saved)).bytes == whole.bytes);
  const std::string last = support::read_file(ck);
  for (std::int64_t stop = 1; stop < total; stop += large ? 2 : 1) {
    const std::int64_t age = total - stop;
    const std::string from = core::text("{}.{}", ck, age);
    const Trained rest =
        train(scene, run({"--steps", steps, "--resume", from, "--checkpoint", scene / "rest.ck"}),
              core::text("{}.onnx", stop));
    EXPECT_TRUE(rest.bytes == whole.bytes) << stop;
    EXPECT_TRUE(support::read_file(scene / "rest.ck") == last) << stop;
    ASSERT_EQ(rest.steps.size(), static_cast<std::size_t>(age));
    for (const Step& step : rest.steps) {
      const Step& same = whole.steps[static_cast<std::size_t>(step.step - 1)];
      EXPECT_EQ(step.loss, same.loss);
      EXPECT_EQ(step.epoch, same.epoch);
      EXPECT_EQ(step.lr, same.lr);
    }
    std::filesystem::remove(scene / "rest.ck");
    std::filesystem::remove(scene / "rest.ck.1");
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Resuming, testing::ValuesIn(kKinds), [](const auto& instance) {
  return std::string(instance.param.name);
});

// The command with another value of an option.
Words with(Words words, const std::string& option, const std::string& value) {
  *(std::find(words.begin(), words.end(), option) + 1) = value;
  return words;
}

class Checkpoints : public testing::Test {
 protected:
  Scene scene;
  std::string model = scene.small_network();
  std::string data = scene.images({.samples = 22});
  std::string ck = scene / "run.safetensors";
  Words run = {model, "--data", data, "--batch", "8", "--lr", "0.1", "--momentum", "0.9"};

  // A checkpoint of step 4.
  void make_checkpoint() const { train(scene, run + Words{"--steps", "4", "--checkpoint", ck}); }
};

// Without weight decay or so much as a step, all that differs is where the bytes lie.
TEST_F(Checkpoints, DoNotDependOnTheBudgetThePolicyOrTheSpillFile) {
  const std::string large = scene.zoo({"mlp", "--size", "16", "--width", "256", "--channels", "1"});
  const std::string images = scene.images({.samples = 40, .size = 16, .classes = 10});
  const Words here = {large, "--data",      images, "--batch", "16", "--micro-batch",
                      "16",  "--optimizer", "adam", "--steps", "6"};
  const Trained whole = train(scene, here, "whole.onnx");
  const support::Folder disk;
  const Words spilled = {"--spill", disk.path().string(), "--budget"};
  const std::string least =
      std::to_string(smallest_budget(here + Words{"--spill", disk.path(), "--checkpoint", ck}));
  const Words ways[] = {{"--policy", "keep"}, {"--policy", "chen"}, spilled + Words{least}};
  for (const Words& before : ways) {
    for (const Words& after : ways) {
      const Words save = {"--checkpoint", ck, "--checkpoint-every", "3"};
      train(scene, here + before + save, "first.onnx");
      const Trained rest = train(scene, here + after + Words{"--resume", ck + ".1"}, "rest.onnx");
      EXPECT_EQ(rest.steps.size(), 3U);
      EXPECT_TRUE(rest.bytes == whole.bytes);
      std::filesystem::remove(ck);
      std::filesystem::remove(ck + ".1");
    }
  }
}

TEST_F(Checkpoints, ContinueTheLog) {
  const std::string log = scene / "log.jsonl";
  const Words always = run + Words{"--log", log, "--checkpoint", ck, "--resume", ck};
  ASSERT_EQ(lowtide(Words{"train"} + always + Words{"--steps", "5"}).exit_code, 0);
  // As a crash leaves it: a step that no checkpoint holds, and half a line.
  const std::string five = support::read_file(log);
  support::write_file(log, five + R"({"step":6,"epoch":1})" + "\n" + R"({"step":7,"ep)");
  ASSERT_EQ(lowtide(Words{"train"} + always + Words{"--steps", "8"}).exit_code, 0);
  const std::vector<Step> steps = read_log(log);
  ASSERT_EQ(steps.size(), 8U);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].step, static_cast<std::int64_t>(i + 1));
    EXPECT_GT(steps[i].loss, 0);
  }
  EXPECT_EQ(support::read_file(log).rfind(five, 0), 0U);
}

TEST_F(Checkpoints, GoOnFromWhatIsThereOrBegin) {
  const Words command = Words{"train"} + run + Words{"--checkpoint", ck, "--resume", ck};
  const Outcome first = lowtide(command + Words{"--steps", "3"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("not there yet"), std::string::npos) << first.out;
  const Outcome second = lowtide(command + Words{"--steps", "6"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.out.find("goes on from " + ck + " at step 3"), std::string::npos) << second.out;
  const Outcome third = lowtide(command + Words{"--steps", "6"});
  EXPECT_EQ(third.exit_code, 0) << third.err;
  EXPECT_TRUE(std::filesystem::exists(ck + ".1"));
}

TEST_F(Checkpoints, OfAnotherRunAreRefusedWithBothValues) {
  make_checkpoint();
  const auto refused = [&](const Words& words, const Words& parts) {
    expect_refused(scene, Words{"train"} + words + Words{"--resume", ck}, Words{ck} + parts);
  };
  const Words rest = {"--steps", "6"};
  refused(with(run, "--batch", "4") + rest, {"--batch was 8 and is now 4"});
  refused(run + rest + Words{"--seed", "3"}, {"--seed was 0 and is now 3"});
  refused(run + rest + Words{"--no-shuffle"}, {"--shuffle was yes and is now no"});
  refused(run + rest + Words{"--drop-last"}, {"--drop-last was no and is now yes"});
  refused(run + rest + Words{"--micro-batch", "2"}, {"--micro-batch was 8 and is now 2"});
  refused(with(run, "--momentum", "0") + rest + Words{"--optimizer", "adamw"},
          {"--optimizer was sgd and is now adamw"});
  refused(with(run, "--momentum", "0") + rest, {"it has 'fc1.bias/momentum', this run has not"});
  refused(run + rest + Words{"--freeze", "fc1.*"}, {"it has 'fc1."});
  refused(run + Words{"--steps", "3"}, {"step 4", "3 asked for"});
  const std::string other =
      scene.zoo({"mlp", "--size", "4", "--channels", "1", "--width", "9", "--classes", "3"});
  ASSERT_EQ(other, model);
  refused(run + rest, {"'fc1.weight' is float32[8, 16], and must be float32[9, 16]"});
  const Scene elsewhere;
  refused(with(run, "--data", elsewhere.images({.samples = 21})) + rest,
          {"the number of samples was 22 and is now 21"});
}

// The part to train on may be as large as before, and is another one.
TEST_F(Checkpoints, OfOtherDataAreRefusedWithBothSizes) {
  const Scene here;
  const auto refused = [&](const Words& words, const std::string& part) {
    expect_refused(here, Words{"train"} + words + Words{"--resume", here / "run.ck"}, {part});
  };
  const Words rest = {"--batch", "4", "--steps", "3"};
  const Words save = {"--checkpoint", here / "run.ck", "--steps", "1", "--batch", "4"};
  const auto half_of = [&](std::int64_t samples) {
    return Words{model, "--data", here.images({.samples = samples}), "--val-split", "0.5"};
  };
  train(here, half_of(22) + save);
  refused(half_of(23) + rest, "samples held back for validation was 11 and is now 12");
  std::filesystem::remove(here / "run.ck");
  const std::string gpt = here.zoo({"gpt2", "--layers", "1", "--width", "16", "--heads", "2",
                                    "--vocabulary", "12", "--sequence", "8"});
  const auto text_of = [&](std::size_t tokens) {
    support::write_file(here / "text.bin", std::string(2 * tokens, '\0'));
    return Words{gpt, "--data", here / "text.bin"};
  };
  train(here, text_of(100) + save);
  refused(text_of(101) + rest, "the number of tokens was 100 and is now 101");
}

TEST_F(Checkpoints, OfANetworkThatChangedAreRefused) {
  make_checkpoint();
  std::string bytes = support::read_file(model);
  const std::size_t at = bytes.find("\x22\x04Relu");  // the type of a node
  ASSERT_NE(at, std::string::npos);
  support::write_file(model, bytes.replace(at + 2, 4, "Tanh"));
  expect_refused(scene, Words{"train"} + run + Words{"--steps", "6", "--resume", ck},
                 {ck, "the network"});
}

// Attributes that change numbers and no shape.
TEST_F(Checkpoints, OfANetworkWithOtherAttributesAreRefused) {
  using Attributes = std::vector<onnx::WireWriter>;
  const auto write = [&](float alpha, float epsilon, const std::string& padding, int keep) {
    return write_model(
        scene, {.nodes = {toy::node("Mul", {"x", "w"}, {"product"}, {}, "scale"),
                          toy::node("LeakyRelu", {"product"}, {"bent"},
                                    Attributes{float_attribute("alpha", alpha)}, "bend"),
                          toy::node("BatchNormalization", {"bent", "s", "b", "m", "v"}, {"normal"},
                                    Attributes{float_attribute("epsilon", epsilon),
                                               toy::int_attribute("training_mode", keep)},
                                    "norm"),
                          toy::node("Pad", {"normal", "pads"}, {"y"},
                                    Attributes{text_attribute("mode", padding)}, "pad")},
                .initializers = {weight("w", {2}, {1, 0.5F}), weight("s", {2}, {1, 1}),
                                 weight("b", {2}, {0, 0}), weight("m", {2}, {0, 0}),
                                 weight("v", {2}, {1, 1}), toy::integers("pads", {0, 1, 0, 1})},
                .inputs = {toy::value_info("x", {"batch", "2"})},
                .outputs = {toy::value_info("y", {"batch", "4"})}});
  };
  const std::string net = write(0.1F, 1e-5F, "reflect", 0);
  const std::string samples = write_data(scene, "x", core::Shape{8, 2}, std::vector<float>(16, 1),
                                         core::Shape{8, 4}, std::vector<float>(32, 0.25F));
  const Words these = {net, "--data", samples, "--batch", "4", "--lr", "0.01"};
  train(scene, these + Words{"--steps", "1", "--checkpoint", ck});
  const Words rest = Words{"train"} + these + Words{"--steps", "2", "--resume", ck};
  write(0.2F, 1e-5F, "reflect", 0);
  expect_refused(scene, rest, {ck, "the network (a digest) was"});
  write(0.1F, 1e-3F, "reflect", 0);
  expect_refused(scene, rest, {ck, "the network (a digest) was"});
  write(0.1F, 1e-5F, "edge", 0);
  expect_refused(scene, rest, {ck, "the network (a digest) was"});
  // What training decides itself.
  write(0.1F, 1e-5F, "reflect", 1);
  EXPECT_EQ(lowtide(rest).exit_code, 0);
}

TEST_F(Checkpoints, OfAFrozenPartThatChangedAreRefused) {
  const Words frozen = {"--freeze", "fc1.*"};
  train(scene, run + frozen + Words{"--steps", "2", "--checkpoint", ck});
  std::filesystem::copy_file(model, scene / "kept.onnx");
  const std::string fresh = scene.zoo(
      {"mlp", "--size", "4", "--channels", "1", "--width", "8", "--classes", "3", "--seed", "5"});
  ASSERT_EQ(fresh, model);
  expect_refused(scene, Words{"train"} + run + frozen + Words{"--steps", "4", "--resume", ck},
                 {ck, "beside what is trained"});
}

TEST_F(Checkpoints, NoteWhatChangesTheNumbers) {
  make_checkpoint();
  const Outcome outcome = lowtide(Words{"train"} + with(run, "--lr", "0.05") +
                                  Words{"--steps", "6", "--resume", ck, "--weight-decay", "0.1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("--lr was 0.1 and is now 0.05, from step 4 on"), std::string::npos);
  EXPECT_NE(outcome.out.find("--weight-decay was 0 and is now 0.1"), std::string::npos);
}

TEST_F(Checkpoints, MayGoFurtherWhereTheScheduleAllowsIt) {
  const Words constant = run + Words{"--checkpoint", ck, "--resume", ck};
  train(scene, constant + Words{"--steps", "4"}, "four.onnx");
  const Trained eight = train(scene, constant + Words{"--steps", "8"}, "eight.onnx");
  const Trained whole = train(scene, run + Words{"--steps", "8"}, "whole.onnx");
  EXPECT_TRUE(eight.bytes == whole.bytes);
  const std::string bent = scene / "bent.safetensors";
  const Words cosine = run + Words{"--schedule", "cosine"};
  train(scene, cosine + Words{"--steps", "4", "--checkpoint", bent});
  expect_refused(scene, Words{"train"} + cosine + Words{"--steps", "8", "--resume", bent},
                 {"schedule cosine", "was 4 and is now 8"});
}

TEST_F(Checkpoints, AreNotOverwrittenByARunThatBegins) {
  make_checkpoint();
  expect_refused(scene, Words{"train"} + run + Words{"--steps", "2", "--checkpoint", ck},
                 {ck, "is there already"});
  expect_refused(scene, Words{"train"} + run + Words{"--steps", "2", "--checkpoint", model},
                 {model, "would replace the other"});
}

TEST_F(Checkpoints, ThatAreDamagedPointToTheOneBefore) {
  train(scene, run + Words{"--steps", "6", "--checkpoint", ck});
  const std::string whole = support::read_file(ck);
  support::write_file(ck, whole.substr(0, whole.size() - 100));
  const Words rest = {"--steps", "6", "--checkpoint", ck, "--resume"};
  expect_refused(scene, Words{"train"} + run + rest + Words{ck}, {ck, "cut", ck + ".1, of step 3"});
  const Trained trained = train(scene, run + rest + Words{ck + ".1"}, "again.onnx");
  EXPECT_EQ(trained.steps.size(), 3U);
  EXPECT_TRUE(support::read_file(ck) == whole);
  // The damaged one has not taken the place of the good one.
  EXPECT_EQ(lowtide(Words{"train"} + run + Words{"--steps", "4", "--resume", ck + ".1"}).exit_code,
            0);
}

TEST_F(Checkpoints, ReplaceALinkAndClearWhatKilledRunsLeft) {
  support::write_file(scene / ".run.safetensors.99-0.tmp", "half a checkpoint");
  make_checkpoint();
  EXPECT_FALSE(std::filesystem::exists(scene / ".run.safetensors.99-0.tmp"));
  const support::Folder elsewhere;
  std::filesystem::rename(ck, elsewhere / "real");
  std::filesystem::create_symlink(elsewhere / "real", ck);
  const std::string before = support::read_file(elsewhere / "real");
  train(scene, run + Words{"--steps", "6", "--checkpoint", ck, "--resume", ck});
  EXPECT_FALSE(std::filesystem::is_symlink(ck));
  EXPECT_TRUE(support::read_file(elsewhere / "real") == before);
}

TEST_F(Checkpoints, AreSavedWhenASignalComes) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string here = scene / core::text("{}.safetensors", signal);
    const std::string log = scene / core::text("{}.jsonl", signal);
    support::ChildProcess process(LOWTIDE_PROGRAM,
                                  Words{"train"} + run +
                                      Words{"--steps", "100000000", "--checkpoint", here,
                                            "--checkpoint-every", "100000000", "--log", log});
    while (!std::filesystem::exists(log) || std::filesystem::file_size(log) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    process.signal(signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    const std::size_t done = read_log(log).size();
    const std::string more = std::to_string(done + 2);
    const Trained rest =
        train(scene, run + Words{"--steps", more, "--resume", here}, core::text("{}.onnx", signal));
    EXPECT_EQ(rest.steps.front().step, static_cast<std::int64_t>(done + 1));
  }
}

TEST_F(Checkpoints, KeepTheProcessWithinItsBudget) {
  const std::string large = scene.zoo({"mlp", "--size", "28", "--width", "512", "--channels", "1"});
  const std::string images = scene.images({.samples = 64, .size = 28, .classes = 10});
  const Words here = {
      large, "--data",       images, "--batch",  "32", "--optimizer",        "adamw", "--steps",
      "6",   "--checkpoint", ck,     "--resume", ck,   "--checkpoint-every", "1"};
  const std::string least = std::to_string(smallest_budget(here));
  const Trained first = train(scene, here + Words{"--budget", least});
  EXPECT_LE(first.result.at("peak_rss_bytes"), first.result.at("budget_bytes"));
  const Trained second = train(scene, with(here, "--steps", "12") + Words{"--budget", least});
  EXPECT_EQ(second.steps.size(), 12U);  // the log goes on
  EXPECT_LE(second.result.at("peak_rss_bytes"), second.result.at("budget_bytes"));
}

}  // namespace
}  // namespace lowtide::e2e
