// Data that a plan assumes where none is given: what the model's inputs and its loss would take.
#pragma once

#include <memory>

#include "lowtide/settings.h"

#include "data/dataset.h"
#include "onnx/model_file.h"

namespace lowtide::train {

// A dataset of the right fields that cannot be read. Samples are as the model's inputs say, in
// their own types; labels as its output and the loss say: classes along axis 1, or a target for
// each element. One full batch and, as real data mostly has, a shorter one after it. Throws
// Error(kInvalidArgument) naming an input whose shape is open.
std::unique_ptr<data::Dataset> assume_data(const onnx::ModelFile& file,
                                           const ModelSettings& model,
                                           const DataSettings& data,
                                           LossKind loss);

}  // namespace lowtide::train
