// What the exporter of a file left out, or changed, that training should know of.
#pragma once

#include <string>
#include <vector>

#include "onnx/model_file.h"
#include "passes/training.h"

namespace lowtide::train {

// For people: batch norms folded into convolutions and how to keep them, dropouts that act.
std::vector<std::string> export_notes(const onnx::ModelFile& file,
                                      const passes::Training& training);

}  // namespace lowtide::train
