// The float tensors of a model file in the words of the parameter pass.
#pragma once

#include <vector>

#include "onnx/read.h"
#include "passes/parameters.h"

namespace lowtide::train {

struct FileTensors {
  std::vector<passes::FileTensor> tensors;
  std::vector<passes::FileTensorUse> uses;
};

FileTensors describe_tensors(const onnx::Model& model);

}  // namespace lowtide::train
