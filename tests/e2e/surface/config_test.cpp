// Options from a file: the same run as from the command line, and clear words for what is wrong.
#include <gtest/gtest.h>

#include "core/random.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

class Config : public testing::Test {
 protected:
  std::string write(const std::string& text) const {
    support::write_file(scene_ / "run.toml", text);
    return scene_ / "run.toml";
  }

  void expect_bad(const std::string& text, const Words& parts) const {
    const std::string config = write(text);
    expect_refused(scene_, {"train", "--config", config}, Words{config} + parts);
  }

  Scene scene_;
};

TEST_F(Config, AFileGivesTheSameRunAsTheCommandLine) {
  const std::string model = scene_.small_network();
  const std::string data = scene_.images();
  const Trained typed =
      train(scene_, {model, "--data", data, "--batch", "5", "--optimizer", "adamw", "--betas",
                     "0.8,0.99", "--no-shuffle", "--no-decay", "*bias*", "--no-decay", "fc2.*"});
  const std::string config = write("# a comment\nmodel = \"" + model + "\"\ndata = '" + data +
                                   "'  # the data\nbatch = 5\n\n[train]\noptimizer = \"adamw\"\n"
                                   "betas = [0.8,\n  0.99, # second\n]\nshuffle = false\n"
                                   "no_decay = [\"*bias*\", \"fc2.*\"]\n[eval]\nlabel = \"y\"\n");
  const Trained read = train(scene_, {"--config", config}, "read.onnx");
  EXPECT_EQ(read.bytes, typed.bytes);
}

TEST_F(Config, TheCommandLineComesFirst) {
  const std::string config = write("model = \"none.onnx\"\ndata = \"" + scene_.images() +
                                   "\"\nbatch = 5\nepochs = 3\nno-shuffle = true\n");
  const Trained trained =
      train(scene_, {scene_.small_network(), "--config", config, "--batch", "12", "--steps", "1"});
  EXPECT_EQ(trained.steps.size(), 1U);
}

TEST_F(Config, AMarkOfTheByteOrderIsNoText) {
  const std::string config = write("\xEF\xBB\xBFmodel = '" + scene_.small_network() +
                                   "'\ndata = '" + scene_.images() + "'\n");
  EXPECT_EQ(lowtide({"train", "--config", config}).exit_code, 0);
}

TEST_F(Config, OneOptionIsGivenOnce) {
  expect_bad("lr = 1\n[train]\nlr = 2\n", {"line 3", "'lr' comes twice"});
  expect_bad("weight-decay = 1\nweight_decay = 2\n", {"line 2", "'weight-decay' comes twice"});
  expect_refused(scene_, {"train", "--config", scene_.folder().path().string()},
                 {scene_.folder().path().string(), "cannot be read"});
}

TEST_F(Config, WhatIsPrintedCanBeRead) {
  const Words arguments = {
      scene_.small_network(), "--data",     scene_.images(), "--lr",       "0.25",
      "--no-shuffle",         "--no-decay", "*\"b*",         "--no-decay", "c",
      "--schedule",           "cosine",     "--betas",       "0.5,0.75"};
  const Outcome printed = lowtide(Words{"train"} + arguments + Words{"--print-config"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_NE(printed.out.find("schedule = \"cosine\"\n"), std::string::npos) << printed.out;
  EXPECT_NE(printed.out.find("lr = 0.25\n"), std::string::npos) << printed.out;
  EXPECT_NE(printed.out.find("batch = 32\n"), std::string::npos) << printed.out;
  EXPECT_NE(printed.out.find("shuffle = false\n"), std::string::npos) << printed.out;
  EXPECT_NE(printed.out.find("no-decay = [\"*\\\"b*\", \"c\"]\n"), std::string::npos)
      << printed.out;
  const Outcome again = lowtide({"train", "--config", write(printed.out), "--print-config"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, printed.out);
}

TEST_F(Config, WhatIsWrongIsNamedWithItsLine) {
  expect_bad("batch = 5\nlearning-rate = 0.1\n", {"line 2", "no option 'learning-rate'"});
  expect_bad("[fly]\nlr = 1\n", {"[fly] is no command"});
  expect_bad("lr 0.1\n", {"line 1", "'='"});
  expect_bad("lr = \n", {"line 1", "is no value"});
  expect_bad("lr = fast\n", {"line 1", "'fast' is no value"});
  expect_bad("lr = 1_\n", {"line 1", "is no value"});
  expect_bad("lr = 0.1 0.2\n", {"line 1", "too much"});
  expect_bad("data = \"x\n", {"line 1", "closing"});
  expect_bad("\n\ndata = \"\"\"x\"\"\"\n", {"line 3", "several lines"});
  expect_bad("betas = [0.1,\n", {"line 1", "never ends"});
  expect_bad("betas = [[1]]\n", {"arrays within"});
  expect_bad("a.b = 1\n", {"dots"});
  expect_bad("x = {a = 1}\n", {"inline tables"});
  expect_bad("lr = 1\nlr = 2\n", {"line 2", "'lr' comes twice"});
  expect_bad("[train]\n[train]\n", {"line 2", "[train] comes twice"});
  expect_bad("data = \"\\q\"\n", {"escape"});
  expect_bad(std::string("data = \"a\0b\"\n", 13), {"control character"});
  expect_bad("config = \"more.toml\"\n", {"no option 'config'"});
  expect_refused(scene_, {"train", "--config", scene_ / "none.toml"}, {"none.toml"});
}

// A value that the option itself does not take is wrong usage, as on the command line.
TEST_F(Config, ValuesAreHeldToTheirOptions) {
  const std::string config = write("model = \"m.onnx\"\ndata = \"d.npz\"\noptimizer = \"lion\"\n");
  const Outcome outcome = lowtide({"train", "--config", config});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("lion"), std::string::npos);
}

// Any bytes at all: an error of one line or wrong usage, and never more.
TEST_F(Config, SurvivesAnyBytes) {
  const std::string good = "model = \"m\"\n[train]\nbetas = [0.1, 0.2]\nlr = 1e-3 # x\nseed = 7\n";
  core::RandomStream random(1, 0);
  for (int round = 0; round < 60; ++round) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) {
      const auto at = static_cast<std::size_t>(random.below(text.size()));
      if (random.below(3) == 0) {
        text.erase(at, 1 + random.below(5));
      } else {
        text[at] = static_cast<char>(random.below(256));
      }
      if (text.empty()) text = "=";
    }
    const Outcome outcome = lowtide({"train", "--config", write(text), "--print-config"});
    EXPECT_TRUE(outcome.exit_code >= 0 && outcome.exit_code <= 2) << text;
  }
}

}  // namespace
}  // namespace lowtide::e2e
