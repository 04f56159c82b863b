#include "train/inspection.h"

#include <algorithm>
#include <numeric>

#include "core/text.h"
#include "onnx/input_shapes.h"
#include "onnx/read.h"
#include "onnx/ties.h"
#include "ops/catalog.h"
#include "passes/fuse/fuse.h"
#include "passes/parameters.h"
#include "passes/training.h"
#include "train/prepare/export_notes.h"
#include "train/prepare/file_tensors.h"

namespace lowtide::train {
namespace {

using core::text;

onnx::Model read_with_batch(const onnx::ModelFile& file,
                            const ModelSettings& settings,
                            std::int64_t batch) {
  onnx::ReadOptions options{.batch = batch, .catalog = ops::catalog()};
  for (const auto& [name, dims] : settings.shapes) options.shapes[name] = core::Shape(dims);
  return onnx::build(file, options);
}

void list_file(const onnx::ModelFile& file, ModelReport& report) {
  report.producer = file.producer;
  for (const onnx::ValueInfo& input : onnx::data_inputs(file)) {
    report.inputs.push_back(text("{}: {}{}", input.name,
                                 input.dtype ? core::name(*input.dtype) : input.type_name,
                                 onnx::describe(input)));
  }
  for (const onnx::ValueInfo& output : file.graph.outputs) {
    report.outputs.push_back(text("{}: {}{}", output.name,
                                  output.dtype ? core::name(*output.dtype) : output.type_name,
                                  onnx::describe(output)));
  }
  for (const onnx::FileNode& node : file.graph.nodes) ++report.ops[node.type];
}

// Bytes by role of one step of SGD with momentum that keeps every activation a gradient may read.
void sum_training_bytes(const graph::Graph& graph,
                        std::int64_t parameters,
                        Bytes statistics,
                        ModelReport& report) {
  Bytes activations;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(graph::NodeId(i));
    const auto in = graph.types(node.inputs);
    const auto out = graph.types(node.outputs);
    const std::vector<graph::Alias> aliases = node.op->aliases(node.attrs, {in, out});
    const bool view = std::any_of(aliases.begin(), aliases.end(), [](const graph::Alias& alias) {
      return alias.sharing == graph::Sharing::kView;
    });
    if (view) continue;
    for (const core::TensorType& type : out) activations += type.bytes();
  }
  report.training_bytes = {{"parameters", Bytes(4 * parameters)},
                           {"optimizer state (SGD with momentum)", Bytes(4 * parameters)},
                           {"running statistics", statistics},
                           {"activations, all kept", activations}};
}

}  // namespace

ModelReport inspect(const ModelSettings& settings,
                    std::int64_t batch,
                    const SelectionSettings& selection) {
  onnx::ModelFile file = onnx::parse_file(settings.path);
  onnx::restore_ties(file);
  ModelReport report;
  report.batch = batch;
  list_file(file, report);
  onnx::Model model = read_with_batch(file, settings, batch);
  report.opset = model.opset;
  const FileTensors described = describe_tensors(model);
  const std::vector<passes::Parameter> parameters =
      passes::choose_parameters(model.graph, described.tensors, described.uses,
                                {.train = selection.train, .freeze = selection.freeze});
  Bytes statistics;
  for (const passes::Parameter& parameter : parameters) {
    const core::TensorType& type = model.graph.type(parameter.value);
    report.tensors.push_back({.name = parameter.name,
                              .type = type.str(),
                              .elements = type.shape.elements(),
                              .trained = parameter.trained,
                              .statistic = parameter.statistic,
                              .reason = parameter.reason});
    if (parameter.trained) report.parameters += type.shape.elements();
    if (parameter.statistic) statistics += type.bytes();
  }
  passes::Training training = passes::to_training(model.graph, {.samples = batch});
  report.notes = export_notes(file, training);
  passes::fuse(training.rewritten.graph);
  if (training.batch_norms > 0) {
    report.notes.push_back(
        text("{} batch normalisations train with the batch's statistics; micro-batches would "
             "change them",
             training.batch_norms));
  }
  sum_training_bytes(training.rewritten.graph, report.parameters, statistics, report);
  return report;
}

}  // namespace lowtide::train
