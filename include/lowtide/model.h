// Looking into a model file: what is in it and what training it would need.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lowtide/settings.h"

namespace lowtide {

struct TensorSummary {
  std::string name;
  std::string type;  // "float32[64, 3, 7, 7]"
  std::int64_t elements = 0;
  bool trained = false;
  bool statistic = false;
  std::string reason;
};

struct ModelReport {
  std::string producer;
  int opset = 0;
  std::vector<std::string> inputs;  // "input: float32[batch, 3, 224, 224]"
  std::vector<std::string> outputs;
  std::map<std::string, int> ops;  // nodes of the file by type
  std::vector<TensorSummary> tensors;
  std::int64_t parameters = 0;  // trained elements
  // What one training step (SGD with momentum) keeps by role, everything kept, at `batch`.
  std::int64_t batch = 0;
  std::vector<std::pair<std::string, Bytes>> training_bytes;
  std::vector<std::string> notes;
};

// Throws Error(kUnsupported) listing every op that Lowtide lacks.
ModelReport inspect_model(const ModelSettings& model,
                          std::int64_t batch,
                          const SelectionSettings& selection = {});

}  // namespace lowtide
