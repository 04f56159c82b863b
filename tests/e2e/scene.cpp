#include "e2e/scene.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "core/random.h"
#include "core/text.h"

namespace lowtide::e2e {
namespace {

Outcome must_succeed(const Words& arguments) {
  Outcome outcome = lowtide(arguments);
  if (outcome.exit_code != 0) {
    throw std::runtime_error(
        core::text("exit {}: {}\n{}", outcome.exit_code, fmt::join(arguments, " "), outcome.err));
  }
  return outcome;
}

}  // namespace

Words operator+(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string Scene::zoo(const Words& arguments) const {
  const std::string path = folder_ / (arguments.at(0) + ".onnx");
  must_succeed(Words{"zoo"} + arguments + Words{"-o", path});
  return path;
}

std::string Scene::small_network() const {
  return zoo({"mlp", "--size", "4", "--channels", "1", "--width", "8", "--classes", "3"});
}

std::string Scene::images(const Images& images) const {
  const std::string path = folder_ / "images.npz";
  const std::int64_t pixels = images.channels * images.size * images.size;
  core::RandomStream random(images.seed, 0);
  std::vector<float> input;
  std::vector<std::int64_t> label;
  for (std::int64_t i = 0; i < images.samples; ++i) {
    label.push_back(i % images.classes);
    for (std::int64_t k = 0; k < pixels; ++k) {
      const double pattern = k % images.classes == label.back() ? 1.0 : 0.0;
      input.push_back(static_cast<float>(pattern + 0.5 * random.normal()));
    }
  }
  data::NpzWriter writer(path);
  support::add_array(writer, "input",
                     core::Shape{images.samples, images.channels, images.size, images.size}, input);
  support::add_array(writer, "label", core::Shape{images.samples}, label);
  writer.finish();
  return path;
}

std::string Scene::tokens(const Tokens& tokens) const {
  const std::string path = folder_ / "tokens.npz";
  core::RandomStream random(1, 0);
  std::vector<std::int64_t> input;
  for (std::int64_t i = 0; i < tokens.samples * tokens.sequence; ++i) {
    input.push_back(static_cast<std::int64_t>(random.word() % tokens.vocabulary));
  }
  std::vector<std::int64_t> label = input;
  std::rotate(label.begin(), label.begin() + 1, label.end());
  const core::Shape shape{tokens.samples, tokens.sequence};
  data::NpzWriter writer(path);
  support::add_array(writer, "input", shape, input);
  support::add_array(writer, "label", shape, label);
  writer.finish();
  return path;
}

std::vector<Step> read_log(const std::string& path) {
  std::vector<Step> steps;
  std::istringstream lines(support::read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    steps.push_back({json.at("step"), json.at("epoch"), json.at("loss"), json.at("lr"),
                     json.at("grad_norm"), json.at("rss_bytes")});
  }
  return steps;
}

Trained train(const Scene& scene, const Words& arguments, const std::string& name) {
  Trained trained{.model = scene / name};
  const std::string log = scene / (name + ".jsonl");
  const Outcome outcome =
      must_succeed(Words{"train"} + arguments + Words{"-o", trained.model, "--log", log, "--json"});
  trained.bytes = support::read_file(trained.model);
  trained.steps = read_log(log);
  trained.result = Json::parse(outcome.out);
  return trained;
}

Json plan(const Words& arguments) {
  const Outcome outcome = lowtide(Words{"plan", "--json"} + arguments);
  if (outcome.out.empty()) throw std::runtime_error("no plan: " + outcome.err);
  return Json::parse(outcome.out);
}

std::int64_t smallest_budget(const Words& arguments) {
  return plan(arguments + Words{"--budget", "1"}).at("smallest_feasible_bytes");
}

std::map<std::string, support::Array> infer(const Scene& scene,
                                            const std::string& model,
                                            const Words& inputs) {
  Words arguments = {"run", model, "-o", scene / "inference.npz"};
  for (const std::string& input : inputs) arguments.insert(arguments.end(), {"--input", input});
  must_succeed(arguments);
  return support::read_npz(scene / "inference.npz");
}

void expect_refused(const Scene& scene, const Words& arguments, const Words& parts) {
  const auto before = scene.folder().names();
  const Outcome outcome = lowtide(arguments);
  const std::string command = core::text("{}", fmt::join(arguments, " "));
  EXPECT_EQ(outcome.exit_code, 1) << command << "\n" << outcome.err;
  EXPECT_EQ(outcome.err.rfind("lowtide: ", 0), 0U) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  for (const std::string& part : parts) {
    EXPECT_NE(outcome.err.find(part), std::string::npos)
        << "'" << part << "' is not in: " << outcome.err;
  }
  EXPECT_EQ(scene.folder().names(), before) << command;
}

}  // namespace lowtide::e2e
