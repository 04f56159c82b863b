// Recipe: what a run does, settled once from the settings, the model file and the data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/settings.h"

#include "core/machine.h"
#include "data/convert.h"
#include "data/dataset.h"
#include "kernels/simd/loss.h"
#include "onnx/model_file.h"
#include "onnx/read.h"

namespace lowtide::train {

// The loss with everything that "auto" leaves open decided.
struct Loss {
  LossKind kind = LossKind::kCrossEntropy;
  std::string output;  // ONNX name of what it reads
  // The model ends in (Log)Softmax, or in a sigmoid: the loss reads what goes into it.
  bool before_activation = false;
  std::size_t class_axis = 1;  // cross-entropy
  std::int64_t classes = 0;    // cross-entropy
  std::optional<std::int64_t> ignore_index;
  double label_smoothing = 0;
  std::vector<float> class_weights;
  kernels::PairLoss pair;    // all but cross-entropy
  bool next_tokens = false;  // cross-entropy: classes are the tokens that the model also reads

  // Whether exp(loss) is one.
  [[nodiscard]] bool has_perplexity() const {
    return next_tokens && label_smoothing == 0 && class_weights.empty();
  }
};

// Which array of the data feeds which input of the model, or the loss.
struct Feed {
  std::string input;      // ONNX name
  std::size_t field = 0;  // of the dataset
  core::DType dtype = core::DType::kFloat32;
  core::Shape sample_shape;  // as the model takes it
  std::optional<data::Normalization> normalization;
  std::optional<std::int64_t> rows;  // its integers pick from so many, and must be less
};

struct Recipe {
  std::string model_path;
  onnx::ModelFile file;  // parsed once; graphs of several batch sizes are built from it
  ModelSettings model;
  std::shared_ptr<const data::Dataset> dataset;
  // Arrays of the same names and types; null without validation data, and in evaluation.
  std::shared_ptr<const data::Dataset> validation;
  bool has_data = true;     // whether the dataset can be read: a plan may do without
  std::vector<Feed> feeds;  // in the order of the model's inputs
  std::size_t label_field = 0;
  core::Shape label_shape;  // of one sample
  Loss loss;
  std::int64_t batch = 0;
  bool couples_samples = false;  // batch statistics depend on all samples of a pass
  core::Machine machine;
  std::vector<std::string> notes;
};

// Opens the data, matches it to the model and decides the loss. Without a source, what the model
// takes is assumed, which is enough to plan. Without a normalisation in the
// settings, the model's own (kNormalizationKey in its metadata) is used; failing that, uint8 data
// is normalised by its own mean and deviation when training. `seed` is of the data's random
// choices. Throws Error naming what does not match: missing arrays, shapes, dtypes.
Recipe settle(const ModelSettings& model,
              const DataSettings& data,
              const LossSettings& loss,
              const MachineSettings& machine,
              data::Split split,
              std::uint64_t seed = 0);

// The graph of the model for a number of samples, as the file has it.
onnx::Model build_model(const Recipe& recipe, std::int64_t samples);

// Metadata of a trained file: how an input was normalised, and whether it was bytes or other
// numbers (kind_of()); with the input's name where there are several.
inline constexpr const char* kNormalizationKey = "lowtide.normalization";
inline constexpr const char* kNotNormalized = "none";  // in the place of the numbers
struct NormalizationKeys {
  std::string numbers;
  std::string kind;
};
NormalizationKeys normalization_keys(const Recipe& recipe, const Feed& feed);
std::string kind_of(const data::Field& field);

// The threads and instruction set asked for; applies them to the process.
core::Machine settle_machine(const MachineSettings& settings);

}  // namespace lowtide::train
