// One of ONNX's node tests: a model of one operator (or of a function's body), inputs and outputs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/machine.h"
#include "graph/graph.h"
#include "onnx/model_file.h"
#include "onnx/read.h"

namespace lowtide::conformance {

struct NodeTest {
  std::string name;  // of its folder, without "test_"
  onnx::ModelFile file;
  std::vector<graph::ConstantTensor> inputs;   // in the order of the file's inputs
  std::vector<graph::ConstantTensor> outputs;  // what must come out
};

// The names of all tests under `folder`, sorted.
std::vector<std::string> list_tests(const std::filesystem::path& folder);

// Throws Error where the test holds what Lowtide's types cannot.
NodeTest load_test(const std::filesystem::path& folder, const std::string& name);

// A test's model with static shapes. Inputs are data, except those that the reader wants to know
// while it reads (shapes, axes, pads): they have the test's values.
struct BoundTest {
  onnx::Model model;
  std::vector<std::size_t> data_inputs;  // of the test, in the order of the graph's inputs
};

BoundTest bind_test(const NodeTest& test);

// The model's outputs on the test's inputs.
std::vector<graph::ConstantTensor> run_test(const NodeTest& test,
                                            const BoundTest& bound,
                                            const core::Machine& machine);

}  // namespace lowtide::conformance
