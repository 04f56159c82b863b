// Evaluating a model on labelled data, and running it on given inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
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

// What a network that predicts tokens writes after a prompt. It has one input, integers of {batch,
// tokens}, and its first output is the logits {batch, tokens, kinds} of the token behind each; what
// it says of a token depends on that and earlier ones (GPT-2, say). It looks at as many of the last
// tokens as it reads at once.
struct GenerateSettings {
  ModelSettings model;
  std::vector<std::int64_t> prompt;  // at least one token
  std::int64_t tokens = 200;         // to write
  // Token k is chosen with a probability in proportion to exp(logit[k] / temperature), among the
  // top_k of largest logits, or all where that is 0. Temperature 0: always the largest, of equal
  // ones the first.
  double temperature = 1;
  std::int64_t top_k = 0;
  std::uint64_t seed = 0;  // of the choices: the n-th depends on it, n and the logits
  // What the caller keeps of each token until the end: it counts in the budget.
  Bytes kept_per_token;
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

// Gives each token to `take` as soon as it is chosen. Memory stays inside the budget. Throws
// Error: kUnsupported for other networks, kInvalidArgument for tokens that the network does not
// know, kNumeric for logits that are no numbers.
void generate_tokens(const GenerateSettings& settings,
                     const std::function<void(std::int64_t)>& take);

}  // namespace lowtide
