// What ONNX's own operators take, whether Lowtide knows them or not.
#pragma once

#include "onnx/model_file.h"

namespace lowtide::onnx {

// Throws Error(kInvalidFile) for an attribute that ONNX does not give the node's operator, and for
// more inputs than it has: what nobody reads must not look as if it were obeyed. Operators of other
// domains are not looked at.
void check_schema(const FileNode& node);

}  // namespace lowtide::onnx
