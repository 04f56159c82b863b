// NodeEdit: what changes in a node of a file when its trained copy is written.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "onnx/model_file.h"

namespace lowtide::onnx {

struct NodeEdit {
  std::map<std::size_t, std::string> inputs;  // new names by index
  std::size_t kept_inputs = 0;                // later ones go
  std::size_t kept_outputs = 0;
  bool training_off = false;    // the attribute training_mode becomes 0
  bool rewrite_tensor = false;  // the tensor of a Constant is written anew

  [[nodiscard]] bool changes(const FileNode& node) const;
};

// No edit: everything is kept.
NodeEdit keep_all(const FileNode& node);

// Turns training off: the flag of Dropout and BatchNormalization, and the outputs that only
// training has. Throws Error(kUnsupported) where one of those is among the names that are read.
void turn_training_off(const FileNode& node, const std::set<std::string>& reads, NodeEdit& edit);

// All names that the graph's nodes, branches and outputs read.
void collect_reads(const FileGraph& graph, std::set<std::string>& names);

// The tensor of a Constant node; null for other nodes and other constants.
const TensorRef* constant_tensor(const FileNode& node);

}  // namespace lowtide::onnx
