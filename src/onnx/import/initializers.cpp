#include "onnx/import/initializers.h"

namespace lowtide::onnx {
namespace {

using graph::ValueId;

constexpr const char* kKindKey = "pkg.torch.export.graph_signature.InputSpec.kind";
constexpr const char* kFoldedFromKey = "pkg.onnxscript.optimizer.folded_from";

}  // namespace

TensorNotes::TensorNotes(const FileGraph& graph) {
  for (const auto* infos : {&graph.inputs, &graph.value_info}) {
    for (const ValueInfo& info : *infos) of_.emplace(info.name, &info.metadata);
  }
}

std::string TensorNotes::find(const TensorRef& tensor, const char* key) const {
  const auto own = tensor.metadata.find(key);
  if (own != tensor.metadata.end()) return own->second;
  const auto found = of_.find(tensor.name);
  if (found == of_.end() || !found->second->contains(key)) return std::string();
  return found->second->at(key);
}

std::string TensorNotes::kind(const TensorRef& tensor) const { return find(tensor, kKindKey); }

std::string TensorNotes::folded_from(const TensorRef& tensor) const {
  return find(tensor, kFoldedFromKey);
}

std::vector<Initializer> list_initializers(const FileGraph& file,
                                           const Model& model,
                                           const FloatTensors& tensors) {
  std::vector<Initializer> result;
  const TensorNotes notes(file);
  for (const TensorRef& tensor : file.initializers) {
    const auto value = model.values.find(tensor.name);
    if (value == model.values.end() || !tensors.contains(value->second)) continue;
    result.push_back({.name = tensor.name,
                      .value = value->second,
                      .kind = notes.kind(tensor),
                      .folded_from = notes.folded_from(tensor)});
  }
  for (std::size_t i = 0; i < model.graph.value_count(); ++i) {
    const auto found = tensors.find(ValueId(i));
    if (found == tensors.end() || !found->second) continue;
    result.push_back({.name = model.graph.value(ValueId(i)).name,
                      .value = ValueId(i),
                      .kind = "",
                      .folded_from = "",
                      .from_constant_node = true});
  }
  return result;
}

}  // namespace lowtide::onnx
