// The table of contents of ops.
#pragma once

#include <span>

#include "graph/op_def.h"

namespace lowtide::ops {

// Every op, each once. The ONNX reader finds its rules here; tests walk it.
std::span<const graph::OpDef* const> catalog();

}  // namespace lowtide::ops
