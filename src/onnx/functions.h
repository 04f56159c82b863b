// Functions that a file defines: calls of them are replaced by their bodies.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnx/model_file.h"

namespace lowtide::onnx {

struct FileFunction {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Attribute> defaults;  // of attributes that a call leaves out
  std::vector<FileNode> nodes;
  std::map<std::string, std::int64_t> opsets;  // by domain
};

using Functions = std::map<std::pair<std::string, std::string>, FileFunction>;  // domain, name

// Puts the functions' nodes in the place of the calls, in branches too; names of the bodies get
// the call's output before them. Throws Error(kInvalidFile) for calls that do not fit, functions
// that call themselves, and more than `most` nodes.
void inline_calls(FileGraph& graph, const Functions& functions, std::size_t most);

}  // namespace lowtide::onnx
