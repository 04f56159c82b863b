// Settings: plain structs with the same words as the command line. All have working defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/bytes.h"
#include "lowtide/optimizer.h"

namespace lowtide {

// Which file, and the sizes that it leaves open.
struct ModelSettings {
  std::filesystem::path path;
  std::map<std::string, std::vector<std::int64_t>> shapes = {};  // by input; overrides the file
  std::string output = {};  // the output that the loss reads; empty: the first
};

// How the files of an image folder become samples, and what training sees of them; crop and flip
// also apply to images in arrays, in an .npz as uint8 of {samples, 1 or 3, height, width}.
struct ImageSettings {
  std::vector<std::int64_t> size =
      {};                   // pixels: both sides, or height and width; empty: the model's
  bool crop = false;        // train on a random part, 3:4 to 4:3, scaled to that size
  double crop_area = 0.08;  // of that part, at least, as a share of the image; in (0, 1]
  bool flip = false;        // mirror every second image, at random, while training
  bool skip_bad = false;    // leave out files that cannot be decoded; else they are errors
};

enum class TokenType { kUint16, kUint32 };

struct DataSettings {
  // An .npz, a folder of .npy files, a folder of IDX files, a folder of class folders of images, a
  // .csv, or a .bin of tokens whose labels are the tokens that follow. Planning works without: then
  // the model's inputs tell.
  std::filesystem::path source;
  // What to validate with: another source (of an IDX folder: its test part), or a share in (0, 1)
  // of `source`, which is then not trained on. Not both. `eval` takes it in place of `source`.
  std::filesystem::path validation = {};
  std::optional<double> validation_split = std::nullopt;
  std::uint64_t split_seed = 0;   // which samples that share is
  std::string label = "label";    // the array, or column, that holds the targets
  std::int64_t batch = 32;        // samples per optimizer step
  bool shuffle = true;            // a new order each epoch, fixed by the seed
  bool drop_last = false;         // leave out a short last batch
  std::optional<bool> normalize;  // (x - mean) / deviation per channel; default: uint8 images only
  // What to normalise by: one value, or one for each channel; of images in [0, 1]. Empty: what the
  // model remembers, else the training data's own.
  std::vector<float> mean = {};
  std::vector<float> deviation = {};
  ImageSettings image = {};
  // Of a file of tokens. None: what the model remembers, else uint16.
  std::optional<TokenType> token_type = std::nullopt;
  std::filesystem::path temp_directory = {};  // where compressed data is unpacked; default /var/tmp
};

enum class LossKind {
  kAuto,  // cross-entropy for integer targets, mean squared error for float ones
  kCrossEntropy,
  kMeanSquaredError,
  kMeanAbsoluteError,
  kHuber,
  kBinaryCrossEntropy,            // of logits
  kProbabilityBinaryCrossEntropy  // of what a sigmoid makes of them; the loss reads its input
};

struct LossSettings {
  LossKind kind = LossKind::kAuto;
  std::optional<std::int64_t> ignore_index;  // a label that takes no part
  double label_smoothing = 0;                // in [0, 1)
  std::vector<float> class_weights = {};     // one per class, or empty
  double huber_delta = 1;                    // where the error's square becomes its magnitude
  double positive_weight = 1;                // of targets of 1 in binary cross-entropy
};

// What is trained: see `inspect`, which gives the reason for each tensor.
struct SelectionSettings {
  std::vector<std::string> train = {};   // globs that replace the default choice
  std::vector<std::string> freeze = {};  // globs that take away from it
};

// Dropout put back while training, where the exporter left it out or with another ratio.
struct DropoutSettings {
  std::string values;  // a glob over names of values and nodes
  double ratio = 0.5;  // in [0, 1)
};

enum class RunningStatistics {
  kPyTorch,  // running variance from the variance divided by n - 1
  kOnnx,     // divided by n, as ONNX's training mode says
};

struct MemorySettings {
  std::optional<Bytes> budget;   // bound on the process's resident memory; none: what is free
  std::int64_t micro_batch = 0;  // samples per pass; 0: chosen, never splitting batch statistics
  // Or keep, chen, and other systems': no-bn, residual-1, residual-2, superneurons, dtr.
  std::string policy = "lowtide";
  // A file with the plan_json of a PlanReport, made for the same model, batch and settings: its
  // plans are run and nothing is planned. Then no budget means the plan's, and policy is not asked.
  std::filesystem::path plan = {};
  // Where the times of nodes come from that planning weighs: "model" of the machine; "measured" by
  // running each kernel within the budget before training, or by earlier runs; "auto": measured
  // where the cache has all or, for training, where measuring takes a few seconds at most. The
  // numbers that training gives do not depend on it.
  std::string costs = "auto";
  std::filesystem::path cost_cache = {};  // a file that keeps measured times; empty: none does
  // Where tensors may be moved to while they are not needed: a file without a name in this folder,
  // which must be on a disk that this run may fill. Empty: nothing leaves memory.
  std::filesystem::path spill = {};
  std::optional<Bytes> spill_limit = std::nullopt;  // of that file; none: what is free
};

struct MachineSettings {
  int threads = 0;             // 0: the CPUs this process may use
  std::string isa = "native";  // native, avx512, avx2, reference
};

// What outlives the process. The command writes its checkpoints as these say; with the library,
// call Trainer::save_checkpoint() when it is time.
struct CheckpointSettings {
  std::filesystem::path file = {};    // where they go; empty: none
  std::optional<std::int64_t> every;  // steps between them; none: one at the end of each epoch
  int keep = 2;  // the newest and keep - 1 older ones, as `file`.1, `file`.2, ...
  // Go on from this checkpoint: the weights that come out are those of a run that never stopped.
  // The same as `file` and not there yet: begin anew.
  std::filesystem::path resume = {};
};

struct TrainSettings {
  ModelSettings model;
  DataSettings data;
  LossSettings loss;
  OptimizerSettings optimizer;
  Schedule schedule;  // total_steps is filled in from epochs or steps
  SelectionSettings selection;
  std::vector<DropoutSettings> dropout;  // of several that match, the last counts
  MemorySettings memory;
  MachineSettings machine;
  CheckpointSettings checkpoint;
  RunningStatistics running_statistics = RunningStatistics::kPyTorch;
  std::optional<std::int64_t> epochs;  // default 1; not together with steps
  std::optional<std::int64_t> steps;   // optimizer updates
  std::uint64_t seed = 0;              // of shuffling, augmentation and dropout
  // Where a step goes wrong, say where its first number appeared that is not finite, with the
  // weights as they were before it. Updates then wait for the norm of the gradients, as they do for
  // clipping, which may take memory; the numbers are the same.
  bool detect_anomaly = false;
  // Tell of each batch what `eval` tells beside accuracy and perplexity, which come in any case:
  // top-5 accuracy, mean absolute error.
  bool step_metrics = false;
  bool report = false;  // keep what a report shows: PlanReport's sweep and tensors
  bool trace = false;   // keep the times of the fastest step's nodes
};

struct EvalSettings {
  ModelSettings model;
  DataSettings data;
  LossSettings loss;
  MemorySettings memory;
  MachineSettings machine;
};

}  // namespace lowtide
