#include "train/prepare/data/assumed_data.h"

#include <utility>

#include "core/text.h"
#include "onnx/input_shapes.h"
#include "onnx/read.h"
#include "ops/catalog.h"
#include "train/prepare/labels.h"

namespace lowtide::train {
namespace {

class AssumedData final : public data::Dataset {
 public:
  AssumedData(std::int64_t samples, std::vector<data::Field> fields)
      : Dataset("assumed data", samples, std::move(fields)) {}

  void read(std::size_t, std::span<const std::int64_t>, std::span<std::byte>) const override {
    throw core::fail(ErrorCode::kInvalidArgument, "there is no data to read");
  }
};

// A shape without its first dimension, and without another.
core::Shape without(const core::Shape& shape, std::size_t axis) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 1; i < shape.rank(); ++i) {
    if (i != axis) dims.push_back(shape[i]);
  }
  return core::Shape(std::move(dims));
}

onnx::ReadOptions options_for(const ModelSettings& model, std::int64_t batch) {
  onnx::ReadOptions options{.batch = batch, .catalog = ops::catalog()};
  for (const auto& [name, dims] : model.shapes) {
    std::vector<std::int64_t> shape = dims;
    if (!shape.empty()) shape[0] = batch;
    options.shapes[name] = core::Shape(std::move(shape));
  }
  return options;
}

data::Field label_field(const onnx::Model& model,
                        const ModelSettings& settings,
                        const DataSettings& data,
                        LossKind loss) {
  const std::string name = settings.output.empty() ? model.output_names.at(0) : settings.output;
  const auto found = model.values.find(name);
  if (found == model.values.end()) {
    throw core::fail(ErrorCode::kInvalidArgument, "{}: there is no output '{}'", model.path, name);
  }
  const core::Shape& shape = model.graph.type(found->second).shape;
  const bool classes = loss == LossKind::kAuto || loss == LossKind::kCrossEntropy;
  return {.name = data.label,
          .dtype = classes ? core::DType::kInt64 : core::DType::kFloat32,
          .sample_shape = without(shape, classes ? likely_class_axis(model, found->second) : 0)};
}

}  // namespace

std::unique_ptr<data::Dataset> assume_data(const onnx::ModelFile& file,
                                           const ModelSettings& model,
                                           const DataSettings& data,
                                           LossKind loss) {
  const onnx::ReadOptions options = options_for(model, data.batch);
  std::vector<data::Field> fields;
  const std::map<std::string, core::Shape> shapes = onnx::bind_inputs(file, options);
  for (const onnx::ValueInfo& input : onnx::data_inputs(file)) {
    fields.push_back({.name = input.name,
                      .dtype = input.dtype.value_or(core::DType::kFloat32),
                      .sample_shape = without(shapes.at(input.name), 0)});
  }
  fields.push_back(label_field(onnx::build(file, options), model, data, loss));
  return std::make_unique<AssumedData>(2 * data.batch - 1, std::move(fields));
}

}  // namespace lowtide::train
