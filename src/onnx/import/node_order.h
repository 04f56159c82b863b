// The nodes of a file's graph that its outputs need, in an order fit for building.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "onnx/model_file.h"

namespace lowtide::onnx {

struct NodeOrder {
  std::vector<const FileNode*> nodes;
  std::unordered_set<std::string> read;  // names that these nodes read, or the graph gives out
};

// Keeps the file's order where it is sound, as ONNX demands; otherwise sorts, keeping that order
// as far as it goes. `outside` says which names the surrounding graphs define. Throws
// Error(kInvalidFile) for names written twice, for names that nothing writes and for cycles.
NodeOrder order_nodes(const FileGraph& graph,
                      const std::function<bool(const std::string&)>& outside);

}  // namespace lowtide::onnx
