#include "onnx/import/initializers.h"

#include <string>

namespace lowtide::onnx {
namespace {

using graph::ValueId;

constexpr const char* kKindKey = "pkg.torch.export.graph_signature.InputSpec.kind";
constexpr const char* kFoldedFromKey = "pkg.onnxscript.optimizer.folded_from";

// What the exporter notes of tensors, at themselves or at the value info of their name.
class Notes {
 public:
  explicit Notes(const FileGraph& file) {
    for (const auto* infos : {&file.inputs, &file.value_info}) {
      for (const ValueInfo& info : *infos) of_.emplace(info.name, &info.metadata);
    }
  }

  [[nodiscard]] std::string find(const TensorRef& tensor, const char* key) const {
    const auto own = tensor.metadata.find(key);
    if (own != tensor.metadata.end()) return own->second;
    const auto found = of_.find(tensor.name);
    if (found == of_.end() || !found->second->contains(key)) return std::string();
    return found->second->at(key);
  }

 private:
  std::unordered_map<std::string, const Metadata*> of_;
};

}  // namespace

std::vector<Initializer> list_initializers(const FileGraph& file,
                                           const Model& model,
                                           const FloatTensors& tensors) {
  std::vector<Initializer> result;
  const Notes notes(file);
  for (const TensorRef& tensor : file.initializers) {
    const auto value = model.values.find(tensor.name);
    if (value == model.values.end() || !tensors.contains(value->second)) continue;
    result.push_back({.name = tensor.name,
                      .value = value->second,
                      .kind = notes.find(tensor, kKindKey),
                      .folded_from = notes.find(tensor, kFoldedFromKey)});
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
