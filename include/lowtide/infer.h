// Evaluating a model on labelled data, and running it on given inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lowtide/settings.h"

namespace lowtide {

struct EvalReport {
  double loss = 0;
  // "accuracy" for class labels, "top_5_accuracy" with more than five classes (of token networks
  // only small ones), "perplexity" for token networks, "mae" for mse, l1 and huber.
  std::map<std::string, double> metrics;
  std::int64_t samples = 0;
  std::vector<std::string> classes;  // what labels 0, 1, ... are called, where that is known
  Bytes budget;
  double seconds = 0;
};

// Loss and metrics over a whole data set, no training. An IDX folder gives its test part. Memory
// stays inside the budget; throws Error(kDoesNotFit) naming the smallest that works.
EvalReport evaluate_model(const EvalSettings& settings);

struct RunSettings {
  ModelSettings model;
  std::map<std::string, std::filesystem::path> inputs;  // by input name: .npy files
  std::filesystem::path output;                         // an .npz to write, or empty
  MemorySettings memory;
  MachineSettings machine;
};

struct OutputSummary {
  std::string name;
  std::string type;  // "float32[8, 10]"
  double min = 0;
  double max = 0;
  double mean = 0;
};

// One inference. Input shapes come from the files. Writes all outputs to `output`.
std::vector<OutputSummary> run_model(const RunSettings& settings);

}  // namespace lowtide
