#include "train/prepare/export_notes.h"

#include <algorithm>

#include "core/text.h"

namespace lowtide::train {
namespace {

using core::text;

// PyTorch's exporters leave traces: dynamo's optimizer says so at the node, and TorchScript's has
// no name of a parameter for the weight that it computed.
bool folded_by_dynamo(const onnx::FileNode& node) {
  return node.rewritten_by.find("FuseBatchNorm") != std::string::npos;
}

// A zero bias is a parameter all the same. Of convolutions nothing can be said: the exporter gives
// those without a bias one of zeros before its optimizer takes it away.
bool lost_its_bias(const onnx::FileNode& node) {
  return node.type == "Gemm" && node.rewritten_by.find("RemoveOptionalBias") != std::string::npos;
}

bool folded_by_torchscript(const onnx::FileNode& node) {
  return (node.type == "Conv" || node.type == "ConvTranspose") && node.inputs.size() > 1 &&
         node.inputs[1].starts_with("onnx::" + node.type);
}

}  // namespace

std::vector<std::string> export_notes(const onnx::ModelFile& file,
                                      const passes::Training& training) {
  std::vector<std::string> notes;
  const auto note_folded = [&](bool (*folded)(const onnx::FileNode&), const char* remedy) {
    const auto count = std::count_if(file.graph.nodes.begin(), file.graph.nodes.end(), folded);
    if (count == 0) return;
    notes.push_back(
        text("the exporter folded {} batch normalisation{} into convolutions, so training goes on "
             "without; to keep them, export with {}",
             count, count == 1 ? "" : "s", remedy));
  };
  note_folded(folded_by_dynamo, "optimize=False");
  note_folded(folded_by_torchscript, "training=TrainingMode.PRESERVE");
  const auto& nodes = file.graph.nodes;
  if (const auto lost = std::count_if(nodes.begin(), nodes.end(), lost_its_bias)) {
    notes.push_back(
        text("the exporter dropped the bias{} of {} linear layer{} that {} zero, so "
             "training goes on without; to keep them, export with optimize=False",
             lost == 1 ? "" : "es", lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were"));
  }
  const auto is_half = [](const onnx::TensorRef& t) { return t.half != onnx::Half::kNone; };
  if (const auto halves =
          std::count_if(file.graph.initializers.begin(), file.graph.initializers.end(), is_half)) {
    notes.push_back(
        text("{} tensor{} of the file {} of 16 bits: computing and training go on in "
             "float32, and what is trained is rounded when it is written",
             halves, halves == 1 ? "" : "s", halves == 1 ? "is" : "are"));
  }
  for (const onnx::TiedCopy& tie : file.ties) {
    notes.push_back(
        text("'{}' is a transposed copy of '{}' by the exporter: the two are trained "
             "as the one weight they were",
             tie.copy, tie.original));
  }
  if (training.dropouts > 0) {
    notes.push_back(text("dropout acts in {} place{} while training", training.dropouts,
                         training.dropouts == 1 ? "" : "s"));
  }
  return notes;
}

}  // namespace lowtide::train
