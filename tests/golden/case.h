// One golden case: its files, and the program trained and asked by it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "support/arrays.h"
#include "support/folder.h"
#include "support/program.h"

namespace lowtide::golden {

using support::Array;

// One training run of a case.
struct Trained {
  std::string model;  // the trained file
  std::vector<double> losses;
  std::vector<double> grad_norms;
  core::Json result;  // what --json printed
};

class Case {
 public:
  explicit Case(const std::string& name);

  [[nodiscard]] const std::string& model() const { return model_; }
  [[nodiscard]] std::int64_t batch() const { return settings_.at("batch_size"); }
  // Samples per pass that the case asks for.
  [[nodiscard]] std::int64_t micro_batch() const;
  [[nodiscard]] bool has_batch_norm() const { return !settings_.at("batch_norm").is_null(); }

  // Trains by the case's settings and these options beside them. A failed run fails the test and
  // throws.
  [[nodiscard]] Trained train(const std::vector<std::string>& options) const;
  // The smallest budget that `plan` names for these options.
  [[nodiscard]] std::int64_t smallest_budget(const std::vector<std::string>& options) const;

  // Compares losses, gradient norms, weights, statistics and outputs with the expected ones.
  // `statistics` is "running" or, where ONNX's rule was used, "running_population".
  void expect_golden(const Trained& run, const std::string& statistics = "running") const;

 private:
  [[nodiscard]] std::vector<std::string> arguments() const;
  [[nodiscard]] Array logits(const std::string& model) const;
  void expect_close(const std::string& name,
                    const Array& found,
                    const std::string& deviation) const;

  std::string folder_;
  std::string model_;
  core::Json settings_;
  std::map<std::string, Array> expected_;
  support::Folder scratch_;
};

// The names of all cases.
std::vector<std::string> case_names();

}  // namespace lowtide::golden
