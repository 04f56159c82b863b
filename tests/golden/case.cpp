#include "golden/case.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "core/text.h"
#include "onnx/model_file.h"

namespace lowtide::golden {
namespace {

using core::Json;
using core::text;
using support::Outcome;
using support::run_program;

// Runs the program; throws where it does not end well.
Outcome lowtide(const std::vector<std::string>& arguments) {
  Outcome outcome = run_program(LOWTIDE_PROGRAM, arguments);
  if (outcome.exit_code != 0) {
    throw std::runtime_error(
        text("exit {}: {}\n{}", outcome.exit_code, fmt::join(arguments, " "), outcome.err));
  }
  return outcome;
}

void append_list(std::vector<std::string>& arguments, const char* option, const Json& list) {
  for (const Json& entry : list) {
    arguments.emplace_back(option);
    arguments.push_back(entry.get<std::string>());
  }
}

void append_optimizer(std::vector<std::string>& arguments, const Json& optimizer) {
  const auto append = [&](const char* option, const std::string& value) {
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  append("--optimizer", optimizer.at("type"));
  append("--lr", optimizer.at("lr").dump());
  append("--weight-decay", optimizer.at("weight_decay").dump());
  if (optimizer.at("type") == "sgd") {
    append("--momentum", optimizer.at("momentum").dump());
    if (optimizer.at("nesterov").get<bool>()) arguments.emplace_back("--nesterov");
  } else {
    const Json& betas = optimizer.at("betas");
    append("--betas", betas[0].dump() + "," + betas[1].dump());
    append("--eps", optimizer.at("eps").dump());
  }
}

void append_schedule(std::vector<std::string>& arguments, const Json& schedule) {
  arguments.insert(arguments.end(), {"--schedule", schedule.at("type")});
  if (schedule.at("type") == "constant") return;
  arguments.insert(arguments.end(), {"--warmup", schedule.at("warmup_steps").dump(), "--min-lr",
                                     schedule.at("min_lr").dump()});
}

void append_loss(std::vector<std::string>& arguments, const Json& loss) {
  const auto append = [&](const char* option, const Json& value) {
    if (value.is_null()) return;
    arguments.insert(arguments.end(), {option, value.dump()});
  };
  append("--label-smoothing", loss.value("label_smoothing", Json()));
  append("--ignore-index", loss.value("ignore_index", Json()));
}

// The first samples of an input, in the type that the model takes.
void write_input(const std::filesystem::path& path, const Array& array, const Json& inputs) {
  for (const Json& input : inputs) {
    if (input.at("name") != path.stem().string() || input.at("dtype") != "int64") continue;
    const std::vector<std::int64_t> whole(array.values.begin(), array.values.end());
    return support::write_npy(path, array.shape, whole);
  }
  const std::vector<float> real(array.values.begin(), array.values.end());
  support::write_npy(path, array.shape, real);
}

}  // namespace

Case::Case(const std::string& name)
    : folder_(std::string(LOWTIDE_GOLDEN_CASES) + "/" + name),
      model_(folder_ + "/model.onnx"),
      settings_(Json::parse(support::read_file(folder_ + "/settings.json"))),
      expected_(support::read_npz(folder_ + "/expected.npz")) {}

std::int64_t Case::micro_batch() const {
  const Json& asked = settings_.at("micro_batch");
  return asked.is_null() ? batch() : asked.get<std::int64_t>();
}

std::vector<std::string> Case::arguments() const {
  std::vector<std::string> result = {model_,
                                     "--data",
                                     folder_ + "/train.npz",
                                     "--no-shuffle",
                                     "--batch",
                                     settings_.at("batch_size").dump(),
                                     "--epochs",
                                     settings_.at("epochs").dump(),
                                     "--loss",
                                     settings_.at("loss").at("type"),
                                     "--output",
                                     settings_.at("loss").at("output")};
  append_loss(result, settings_.at("loss"));
  append_optimizer(result, settings_.at("optimizer"));
  append_schedule(result, settings_.at("lr_schedule"));
  append_list(result, "--no-decay", settings_.at("no_decay"));
  append_list(result, "--freeze", settings_.at("frozen"));
  if (!settings_.at("clip_norm").is_null()) {
    result.insert(result.end(), {"--clip-norm", settings_.at("clip_norm").dump()});
  }
  return result;
}

Trained Case::train(const std::vector<std::string>& options) const {
  const std::string stem = scratch_ / text("{}", scratch_.names().size());
  std::vector<std::string> all = {"train"};
  for (const auto& part : {arguments(), options}) all.insert(all.end(), part.begin(), part.end());
  Trained run{.model = stem + ".onnx"};
  all.insert(all.end(), {"-o", run.model, "--log", stem + ".jsonl", "--json"});
  run.result = Json::parse(lowtide(all).out);
  std::istringstream lines(support::read_file(stem + ".jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json step = Json::parse(line);
    run.losses.push_back(step.at("loss"));
    run.grad_norms.push_back(step.at("grad_norm"));
  }
  return run;
}

std::int64_t Case::smallest_budget(const std::vector<std::string>& options) const {
  std::vector<std::string> all = {"plan", "--json", "--budget", "1"};
  for (const auto& part : {arguments(), options}) all.insert(all.end(), part.begin(), part.end());
  return Json::parse(run_program(LOWTIDE_PROGRAM, all).out).at("smallest_feasible_bytes");
}

Array Case::logits(const std::string& model) const {
  std::vector<std::string> all = {"run", model, "-o", scratch_ / "out.npz"};
  for (const auto& [name, array] : support::read_npz(folder_ + "/train.npz")) {
    if (name == "label") continue;
    std::vector<std::int64_t> dims = array.shape.dims();
    const auto count = static_cast<std::ptrdiff_t>(array.shape.elements() / dims[0] * batch());
    dims[0] = batch();
    const Array first{core::Shape(dims), {array.values.begin(), array.values.begin() + count}};
    write_input(scratch_ / (name + ".npy"), first, settings_.at("model").at("inputs"));
    all.insert(all.end(), {"--input", name + "=" + (scratch_ / (name + ".npy"))});
  }
  lowtide(all);
  return support::read_npz(scratch_ / "out.npz").at(settings_.at("loss").at("output"));
}

void Case::expect_close(const std::string& name,
                        const Array& found,
                        const std::string& deviation) const {
  const Array& expected = expected_.at(name);
  ASSERT_EQ(found.values.size(), expected.values.size()) << name;
  double largest = 0;
  for (const double x : expected.values) largest = std::max(largest, std::abs(x));
  const auto known = expected_.find(deviation);
  const double float32 = known == expected_.end() ? 0.0 : known->second.values.at(0);
  const double tolerance = std::max(20 * float32, 1e-5 * largest);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double error = std::abs(found.values[i] - expected.values[i]);
    if (error <= worst) continue;
    worst = error;
    at = i;
  }
  EXPECT_LE(worst, tolerance) << name << " at element " << at << ": expected "
                              << expected.values[at] << ", found " << found.values[at];
  for (const double x : found.values) ASSERT_TRUE(std::isfinite(x)) << name;
}

void Case::expect_golden(const Trained& run, const std::string& statistics) const {
  const core::Shape steps{static_cast<std::int64_t>(run.losses.size())};
  expect_close("loss", {steps, run.losses}, "f32_dev_loss");
  expect_close("grad_norm", {steps, run.grad_norms}, "f32_dev_loss");
  std::map<std::string, Array> found = support::read_initializers(run.model);
  // Uses of merged initializers, under the key that the expected values have.
  std::map<std::string, Array> uses;
  if (settings_.contains("merged")) {
    const onnx::ModelFile file = onnx::parse_file(run.model);
    for (const auto& [name, list] : settings_.at("merged").at("initializers").items()) {
      for (const Json& use : list) {
        const auto node = std::find_if(
            file.graph.nodes.begin(), file.graph.nodes.end(),
            [&](const onnx::FileNode& each) { return each.outputs.at(0) == use.at("output"); });
        ASSERT_NE(node, file.graph.nodes.end()) << use.at("output");
        uses[use.at("key")] = found.at(node->inputs.at(use.at("input").get<std::size_t>()));
      }
    }
  }
  int compared = 0;
  for (const std::string& prefix : {std::string("param"), statistics}) {
    for (const auto& [name, array] : expected_) {
      if (name.rfind(prefix + "/", 0) != 0) continue;
      const std::string tensor = name.substr(prefix.size() + 1);
      const bool use = uses.contains(tensor);
      ASSERT_TRUE(use || found.contains(tensor)) << tensor << " is not in the trained file";
      expect_close(name, use ? uses.at(tensor) : found.at(tensor), "f32_dev/" + tensor);
      ++compared;
    }
  }
  EXPECT_GE(compared, 6);
  expect_close(statistics == "running" ? "logits_eval" : "logits_eval_population",
               logits(run.model), "f32_dev_logits_eval");
}

std::vector<std::string> case_names() {
  return {"a1_mlp",
          "a2_convnet",
          "a3_resnet_bn",
          "a4_resnet_bn_dynamo",
          "a5_mobilenet",
          "a6_densenet",
          "a7_gpt2",
          "a8_bert",
          "a9_vit",
          "a10_regression",
          "a11_groupnorm_accumulate",
          "a12_unet",
          "a13_merged_initializers"};
}

}  // namespace lowtide::golden
