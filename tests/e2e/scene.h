// What tests of the whole program share: networks, data and the program itself in one folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "support/arrays.h"
#include "support/folder.h"
#include "support/program.h"

namespace lowtide::e2e {

using core::Json;
using support::Outcome;
using Words = std::vector<std::string>;

Words operator+(Words first, const Words& second);

inline Outcome lowtide(const Words& arguments, const support::Surroundings& surroundings = {}) {
  return support::run_program(LOWTIDE_PROGRAM, arguments, surroundings);
}

// Images of one class each: noise around a pattern of the class.
struct Images {
  std::int64_t samples = 24;
  std::int64_t channels = 1;
  std::int64_t size = 4;
  std::int64_t classes = 3;
  std::uint64_t seed = 1;
};

// Sequences of token numbers; the label of each is the one that follows.
struct Tokens {
  std::int64_t samples = 8;
  std::int64_t sequence = 8;
  std::int64_t vocabulary = 16;
};

class Scene {
 public:
  [[nodiscard]] const support::Folder& folder() const { return folder_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return folder_ / name; }

  // Writes a network of the zoo; returns its path.
  [[nodiscard]] std::string zoo(const Words& arguments) const;
  // mlp for 4x4 images, 8 hidden units, 3 classes.
  [[nodiscard]] std::string small_network() const;
  // Writes "input" and "label" as an .npz; returns its path.
  [[nodiscard]] std::string images(const Images& images = {}) const;
  [[nodiscard]] std::string tokens(const Tokens& tokens) const;

 private:
  support::Folder folder_;
};

struct Step {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  std::int64_t rss_bytes = 0;
};

// A training run that must end with exit code 0 (a failed one throws).
struct Trained {
  std::string model;        // the trained file
  std::string bytes;        // its content
  std::vector<Step> steps;  // its log
  Json result;              // what --json printed
};

// `train` with these arguments (model and options); the trained file goes to `<scene>/<name>`.
Trained train(const Scene& scene, const Words& arguments, const std::string& name = "out.onnx");
// `plan --json` with these arguments.
Json plan(const Words& arguments);
// The smallest budget that `plan` names.
std::int64_t smallest_budget(const Words& arguments);
std::vector<Step> read_log(const std::string& path);
// `run`, inputs given as NAME=FILE; all outputs.
std::map<std::string, support::Array> infer(const Scene& scene,
                                            const std::string& model,
                                            const Words& inputs);

// The command must end with exit code 1 and one line on standard error that has all these parts,
// and leave the folder as it was.
void expect_refused(const Scene& scene, const Words& arguments, const Words& parts);

}  // namespace lowtide::e2e
