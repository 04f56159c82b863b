// What a model wants to be fed, and how its free dimensions become numbers.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "onnx/read.h"

namespace lowtide::onnx {

// The inputs that data must be fed to: those that no initializer fills, in the file's order.
std::vector<ValueInfo> data_inputs(const ModelFile& file);
std::vector<ValueInfo> inspect_inputs(const std::filesystem::path& path);

// "[batch, 3, 224, 224]", with "?" where the file says nothing.
std::string describe(const ValueInfo& info);

// The shape of every data input under the options. `shapes` decides first, then `batch` for the
// first dimensions, then `dims`. A symbol has one value everywhere. `batch` also replaces a fixed
// first dimension that all inputs share. Throws Error(kInvalidArgument) for what stays free, for
// contradictions and for names that the model does not have.
std::map<std::string, core::Shape> bind_inputs(const ModelFile& file, const ReadOptions& options);

}  // namespace lowtide::onnx
