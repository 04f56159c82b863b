// Checks gradients at a node test's own inputs against central differences, in float64.
#pragma once

#include <cstddef>
#include <string>

#include "conformance/node_test.h"

namespace lowtide::conformance {

struct GradientCheck {
  std::size_t elements = 0;  // of inputs, compared
  std::size_t kinks = 0;     // left out: the differences on both sides disagree
  std::string detail;        // the first wrong one; empty where there is none
};

// Throws Error where the model has no form in float64, or no gradient.
GradientCheck check_gradient(const NodeTest& test);

}  // namespace lowtide::conformance
