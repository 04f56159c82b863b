#include "onnx/trained/node_edit.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "core/text.h"

namespace lowtide::onnx {
namespace {

void edit_dropout(const FileNode& node, NodeEdit& edit) {
  constexpr std::size_t kTrainingMode = 2;
  if (node.inputs.size() <= kTrainingMode || node.inputs[kTrainingMode].empty()) return;
  edit.kept_inputs = node.inputs[1].empty() ? 1 : kTrainingMode;
}

void edit_batch_norm(const FileNode& node, const std::set<std::string>& reads, NodeEdit& edit) {
  const Attribute* const flag = node.attribute("training_mode");
  const auto* value = flag == nullptr ? nullptr : std::get_if<std::int64_t>(&flag->value);
  edit.training_off = value != nullptr && *value != 0;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty() && reads.contains(node.outputs[i])) {
      throw core::fail(ErrorCode::kUnsupported,
                       "node '{}' (BatchNormalization): output '{}' exists only in training, but "
                       "it is read",
                       node.label(), node.outputs[i]);
    }
  }
  edit.kept_outputs = std::min<std::size_t>(node.outputs.size(), 1);
}

}  // namespace

bool NodeEdit::changes(const FileNode& node) const {
  return !inputs.empty() || kept_inputs != node.inputs.size() ||
         kept_outputs != node.outputs.size() || training_off || rewrite_tensor;
}

NodeEdit keep_all(const FileNode& node) {
  NodeEdit edit;
  edit.kept_inputs = node.inputs.size();
  edit.kept_outputs = node.outputs.size();
  return edit;
}

void turn_training_off(const FileNode& node, const std::set<std::string>& reads, NodeEdit& edit) {
  if (!node.domain.empty()) return;
  if (node.type == "Dropout") edit_dropout(node, edit);
  if (node.type == "BatchNormalization") edit_batch_norm(node, reads, edit);
}

void collect_reads(const FileGraph& graph, std::set<std::string>& names) {
  for (const ValueInfo& output : graph.outputs) names.insert(output.name);
  for (const FileNode& node : graph.nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute& attribute : node.attributes) {
      const auto* branch = std::get_if<std::shared_ptr<const FileGraph>>(&attribute.value);
      if (branch != nullptr) collect_reads(**branch, names);
    }
  }
}

const TensorRef* constant_tensor(const FileNode& node) {
  if (node.type != "Constant" || !node.domain.empty() || node.outputs.empty()) return nullptr;
  const Attribute* const value = node.attribute("value");
  return value == nullptr ? nullptr : std::get_if<TensorRef>(&value->value);
}

}  // namespace lowtide::onnx
