// Compares tensors as ONNX's own test runner does.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lowtide::conformance {

// The first difference for people, empty where there is none. Types are equal exactly, and so are
// integers, bools, infinities and NaNs; floats may be off by 1e-7 and a thousandth of the expected.
std::string difference(const std::vector<graph::ConstantTensor>& actual,
                       const std::vector<graph::ConstantTensor>& expected);

}  // namespace lowtide::conformance
