// The list of the float tensors that a file holds, and what the exporter says of them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/model_file.h"
#include "onnx/read.h"

namespace lowtide::onnx {

// What PyTorch's exporter notes of initializers, at themselves or at the value info of their name.
// Borrows the graph.
class TensorNotes {
 public:
  explicit TensorNotes(const FileGraph& graph);

  // See Initializer; empty where it says nothing.
  [[nodiscard]] std::string kind(const TensorRef& tensor) const;
  [[nodiscard]] std::string folded_from(const TensorRef& tensor) const;

 private:
  [[nodiscard]] std::string find(const TensorRef& tensor, const char* key) const;

  std::unordered_map<std::string, const Metadata*> of_;
};

// Values that are such tensors, and whether a Constant node holds them.
using FloatTensors = std::unordered_map<graph::ValueId, bool>;

// Those of them that the model needs: the file's initializers in its order, then Constant nodes.
std::vector<Initializer> list_initializers(const FileGraph& file,
                                           const Model& model,
                                           const FloatTensors& tensors);

}  // namespace lowtide::onnx
