#include "train/prepare/file_tensors.h"

namespace lowtide::train {

FileTensors describe_tensors(const onnx::Model& model) {
  FileTensors result;
  for (const onnx::Initializer& initializer : model.initializers) {
    if (!core::is_float(model.graph.type(initializer.value).dtype)) continue;
    result.tensors.push_back({.name = initializer.name,
                              .value = initializer.value,
                              .kind = initializer.kind,
                              .folded_from = initializer.folded_from,
                              .constant_node = initializer.from_constant_node});
  }
  for (const onnx::InitializerUse& use : model.uses) {
    result.uses.push_back({use.value, use.node_output, use.input, use.renamed, use.begin, use.end});
  }
  return result;
}

}  // namespace lowtide::train
