// The list of the float tensors that a file holds.
#pragma once

#include <unordered_map>
#include <vector>

#include "onnx/model_file.h"
#include "onnx/read.h"

namespace lowtide::onnx {

// Values that are such tensors, and whether a Constant node holds them.
using FloatTensors = std::unordered_map<graph::ValueId, bool>;

// Those of them that the model needs: the file's initializers in its order, then Constant nodes.
std::vector<Initializer> list_initializers(const FileGraph& file,
                                           const Model& model,
                                           const FloatTensors& tensors);

}  // namespace lowtide::onnx
