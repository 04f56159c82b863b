#include "train/prepare/recipe.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parallel.h"
#include "core/text.h"
#include "kernels/simd/target.h"
#include "onnx/input_shapes.h"
#include "onnx/ties.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/catalog.h"
#include "ops/gather/gather.h"
#include "ops/unary/unary.h"
#include "train/prepare/data/assumed_data.h"
#include "train/prepare/data/open_data.h"
#include "train/prepare/labels.h"
#include "train/prepare/settings/names.h"
#include "train/prepare/settings/unread.h"

namespace lowtide::train {
namespace {

using core::fail;
using core::text;

// The shape of the model's samples where all of it is fixed.
std::optional<core::Shape> fixed_sample(const onnx::ValueInfo& input) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 1; i < input.dims->size(); ++i) {
    if (!(*input.dims)[i].value) return std::nullopt;
    dims.push_back(*(*input.dims)[i].value);
  }
  return core::Shape(std::move(dims));
}

// Whether a row of numbers is what the model takes, row after row: an image in a table, say.
bool folds(const onnx::ValueInfo& input, const core::Shape& sample) {
  const std::optional<core::Shape> wanted = fixed_sample(input);
  return sample.rank() == 1 && wanted && wanted->rank() > 1 &&
         wanted->elements() == sample.elements();
}

// Whether a sample of the data fills one of the model's input: dimensions equal where the file
// fixes them, or the model wants vectors and gets the sample flattened, or the other way round.
bool fits(const onnx::ValueInfo& input, const core::Shape& sample) {
  if (folds(input, sample)) return true;
  const std::vector<onnx::Dim>& dims = *input.dims;
  const auto matches = [](const onnx::Dim& dim, std::int64_t size) {
    return !dim.value || *dim.value == size;
  };
  if (dims.size() == 2 && sample.rank() != 1) return matches(dims[1], sample.elements());
  if (dims.size() != sample.rank() + 1) return false;
  for (std::size_t i = 0; i < sample.rank(); ++i) {
    if (!matches(dims[i + 1], sample[i])) return false;
  }
  return true;
}

// The array for one input: the one of its name, or the only one there is for the only input.
std::size_t find_field(const data::Dataset& dataset,
                       const onnx::ValueInfo& input,
                       std::size_t label_field,
                       bool only_input) {
  if (const auto named = dataset.find(input.name)) return *named;
  if (only_input && dataset.fields().size() == 2) return 1 - label_field;
  std::vector<std::string> names;
  for (const data::Field& field : dataset.fields()) names.push_back(field.name);
  throw fail(ErrorCode::kInvalidArgument, "{}: no array for the model's input '{}'; there are: {}",
             dataset.name(), input.name, fmt::join(names, ", "));
}

Feed match(const data::Dataset& dataset, const onnx::ValueInfo& input, std::size_t field_index) {
  const data::Field& field = dataset.fields()[field_index];
  if (!input.dims || input.dims->empty() || !input.dtype) {
    throw fail(ErrorCode::kUnsupported,
               "input '{}' has no shape or a type that cannot be fed ({}); give --shape",
               input.name, input.type_name);
  }
  if (!fits(input, field.sample_shape)) {
    throw fail(ErrorCode::kInvalidArgument,
               "{}: array '{}' has samples of shape {}, but input '{}' is {}", dataset.name(),
               field.name, field.sample_shape.str(), input.name, onnx::describe(input));
  }
  const bool wants_float = core::is_float(*input.dtype);
  if (wants_float && *input.dtype != core::DType::kFloat32) {
    throw fail(ErrorCode::kUnsupported, "input '{}' is {}; only float32 networks are trained",
               input.name, core::name(*input.dtype));
  }
  if (!wants_float && !core::is_integer(field.dtype) && field.dtype != core::DType::kBool) {
    throw fail(ErrorCode::kInvalidArgument, "{}: array '{}' is {}, but input '{}' takes {}",
               dataset.name(), field.name, core::name(field.dtype), input.name,
               core::name(*input.dtype));
  }
  core::Shape shape = field.sample_shape;
  if (folds(input, shape)) {
    shape = *fixed_sample(input);
  } else if (input.dims->size() == 2 && shape.rank() != 1) {
    shape = core::Shape{shape.elements()};
  }
  return {.input = input.name,
          .field = field_index,
          .dtype = *input.dtype,
          .sample_shape = std::move(shape)};
}

void settle_normalization(Recipe& recipe, const DataSettings& settings, data::Split split) {
  for (Feed& feed : recipe.feeds) {
    const data::Field& field = recipe.dataset->fields()[feed.field];
    if (feed.dtype != core::DType::kFloat32) continue;
    const bool images = field.dtype == core::DType::kUint8;
    const NormalizationKeys keys = normalization_keys(recipe, feed);
    const std::string remembered = metadata_value(recipe.file.metadata, keys.numbers);
    const std::string kind = metadata_value(recipe.file.metadata, keys.kind);
    // Bytes are divided by 255 first: what was found of them says nothing about other numbers.
    const bool applies = !remembered.empty() && (kind.empty() || kind == kind_of(field));
    const bool left_alone = applies && remembered == kNotNormalized;
    // What was normalised in training is so ever after.
    const bool known = applies && (field.columns || !kind.empty());
    const bool usual = !settings.mean.empty() || (!left_alone && (images || known));
    if (!settings.normalize.value_or(usual)) continue;
    if (!settings.mean.empty()) {
      feed.normalization = data::Normalization{settings.mean, settings.deviation};
      data::check_normalization(field, *feed.normalization);
    } else if (applies && !left_alone) {
      feed.normalization = data::Normalization::parse(remembered);
      recipe.notes.push_back(
          text("'{}' is normalised as the model remembers: {}", feed.input, remembered));
    } else {
      feed.normalization =
          data::compute_normalization(*recipe.dataset, feed.field, recipe.machine.threads);
      recipe.notes.push_back(text("'{}' is normalised by the {} data's own statistics: {}",
                                  feed.input, split == data::Split::kTrain ? "training" : "given",
                                  feed.normalization->str()));
    }
  }
}

// The (Log)Softmax node that makes a value, if one does.
const graph::Node* softmax_before(const graph::Graph& graph, graph::ValueId value) {
  const graph::NodeId producer = graph.value(value).producer;
  if (!producer.valid()) return nullptr;
  const graph::Node& node = graph.node(producer);
  return node.op->name() == "Softmax" ? &node : nullptr;
}

void check_classes(const Recipe& recipe) {
  const auto named = static_cast<std::int64_t>(recipe.dataset->class_names().size());
  if (named > recipe.loss.classes) {
    throw fail(ErrorCode::kInvalidArgument, "{}: {} classes, but the output '{}' tells {} apart",
               recipe.dataset->name(), named, recipe.loss.output, recipe.loss.classes);
  }
}

void settle_cross_entropy(Recipe& recipe,
                          const LossSettings& settings,
                          const onnx::Model& model,
                          graph::ValueId output) {
  const graph::Graph& graph = model.graph;
  const std::size_t likely = likely_class_axis(model, output);
  Loss& loss = recipe.loss;
  if (const graph::Node* const softmax = softmax_before(graph, output)) {
    loss.before_activation = true;
    output = softmax->inputs[0];
    recipe.notes.push_back(
        text("output '{}' is a softmax; the loss reads what goes into it", loss.output));
  }
  const core::Shape& logits = graph.type(output).shape;
  const auto placement = place_labels(recipe.label_shape, logits, likely);
  if (!placement) {
    throw fail(ErrorCode::kInvalidArgument,
               "{}: labels of shape {} a sample do not fit the output '{}' of type {}",
               recipe.dataset->name(), recipe.label_shape.str(), loss.output,
               graph.type(output).str());
  }
  loss.class_axis = placement->class_axis;
  recipe.label_shape = placement->shape;
  loss.classes = logits[loss.class_axis];
  loss.next_tokens = predicts_tokens(model, output);
  if (!(settings.label_smoothing >= 0 && settings.label_smoothing < 1)) {
    throw fail(ErrorCode::kInvalidArgument, "label smoothing must lie in [0, 1), got {}",
               settings.label_smoothing);
  }
  if (!settings.class_weights.empty() &&
      static_cast<std::int64_t>(settings.class_weights.size()) != loss.classes) {
    throw fail(ErrorCode::kInvalidArgument, "{} class weights for {} classes",
               settings.class_weights.size(), loss.classes);
  }
  for (std::size_t i = 0; i < settings.class_weights.size(); ++i) {
    const float weight = settings.class_weights[i];
    if (std::isfinite(weight) && weight >= 0) continue;
    throw fail(ErrorCode::kInvalidArgument,
               "the weight of class {} is {}; weights are finite and not negative", i, weight);
  }
  check_classes(recipe);
  loss.ignore_index = settings.ignore_index;
  loss.label_smoothing = settings.label_smoothing;
  loss.class_weights = settings.class_weights;
}

bool has_batch_norm(const graph::Graph& graph) {
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    if (graph.node(graph::NodeId(i)).op == &ops::batch_norm_op()) return true;
  }
  return false;
}

kernels::PairLoss pair_loss_of(const LossSettings& settings, LossKind kind) {
  using kernels::PairLossKind;
  switch (kind) {
    case LossKind::kMeanAbsoluteError: return {.kind = PairLossKind::kAbsoluteError};
    case LossKind::kHuber:
      return {.kind = PairLossKind::kHuber, .parameter = static_cast<float>(settings.huber_delta)};
    case LossKind::kBinaryCrossEntropy:
    case LossKind::kProbabilityBinaryCrossEntropy:
      return {.kind = PairLossKind::kBinaryCrossEntropy,
              .parameter = static_cast<float>(settings.positive_weight)};
    case LossKind::kAuto:
    case LossKind::kCrossEntropy:
    case LossKind::kMeanSquaredError: break;
  }
  return {.kind = PairLossKind::kSquaredError};
}

// A loss of one prediction and one target each.
void settle_pair_loss(Recipe& recipe,
                      const LossSettings& settings,
                      const onnx::Model& model,
                      graph::ValueId output) {
  Loss& loss = recipe.loss;
  if (!(settings.huber_delta > 0 && settings.positive_weight > 0)) {
    throw fail(ErrorCode::kInvalidArgument,
               "Huber's delta and the weight of positives must be "
               "positive, not {} and {}",
               settings.huber_delta, settings.positive_weight);
  }
  loss.pair = pair_loss_of(settings, loss.kind);
  const graph::NodeId producer = model.graph.value(output).producer;
  const bool sigmoid =
      producer.valid() && model.graph.node(producer).op == &ops::unary_op(ops::UnaryKind::kSigmoid);
  if (loss.kind == LossKind::kProbabilityBinaryCrossEntropy) {
    if (!sigmoid) {
      throw fail(ErrorCode::kInvalidArgument,
                 "{}: the loss bce needs an output that a Sigmoid makes, and '{}' is none; "
                 "bce-with-logits takes it as it is",
                 recipe.model_path, loss.output);
    }
    loss.before_activation = true;
    recipe.notes.push_back(
        text("output '{}' is a sigmoid; the loss reads what goes into it", loss.output));
  } else if (loss.kind == LossKind::kBinaryCrossEntropy && sigmoid) {
    recipe.notes.push_back(
        text("output '{}' is a sigmoid already, and bce-with-logits takes "
             "another one of it; the loss bce does not",
             loss.output));
  }
  const core::Shape& label = recipe.label_shape;
  const core::Shape targets = model.graph.type(output).shape;
  if (!same_order(label, targets) || targets.elements() != recipe.batch * label.elements()) {
    const bool numbers = label.elements() == 1 && targets.rank() > 1;
    throw fail(ErrorCode::kInvalidArgument,
               "{}: the loss {} compares each output with a target, and targets of shape {} a "
               "sample do not fit the output '{}' of shape {}{}",
               recipe.dataset->name(), name(loss.kind), label.str(), loss.output, targets.str(),
               numbers ? "; numbers of classes are for cross-entropy, which takes integers" : "");
  }
}

// Of the feeds that hold indices: token numbers, say, of which an embedding has a row each.
void settle_rows(Recipe& recipe, const onnx::Model& model) {
  for (Feed& feed : recipe.feeds) {
    const auto named = std::ranges::find(model.input_names, feed.input);
    if (named == model.input_names.end() || !core::is_integer(feed.dtype)) continue;
    const auto place = static_cast<std::size_t>(named - model.input_names.begin());
    feed.rows = ops::rows_picked_by(model.graph, model.graph.inputs()[place]);
  }
}

void settle_loss(Recipe& recipe, const LossSettings& settings) {
  const onnx::Model model = build_model(recipe, recipe.batch);
  settle_rows(recipe, model);
  recipe.couples_samples = has_batch_norm(model.graph);
  Loss& loss = recipe.loss;
  loss.output = recipe.model.output.empty() ? model.output_names.at(0) : recipe.model.output;
  const auto found = model.values.find(loss.output);
  if (found == model.values.end()) {
    throw fail(ErrorCode::kInvalidArgument, "{}: there is no output '{}'; it has: {}",
               recipe.model_path, loss.output, fmt::join(model.output_names, ", "));
  }
  const data::Field& label = recipe.dataset->fields()[recipe.label_field];
  recipe.label_shape = label.sample_shape;
  loss.kind = settings.kind;
  if (loss.kind == LossKind::kAuto) {
    loss.kind =
        core::is_integer(label.dtype) ? LossKind::kCrossEntropy : LossKind::kMeanSquaredError;
  }
  if (loss.kind == LossKind::kCrossEntropy) {
    if (core::is_float(label.dtype)) {
      throw fail(ErrorCode::kInvalidArgument,
                 "{}: cross-entropy needs integer labels, but array '{}' is {}",
                 recipe.dataset->name(), label.name, core::name(label.dtype));
    }
    settle_cross_entropy(recipe, settings, model, found->second);
    return;
  }
  settle_pair_loss(recipe, settings, model, found->second);
}

}  // namespace

NormalizationKeys normalization_keys(const Recipe& recipe, const Feed& feed) {
  const std::string key =
      recipe.feeds.size() == 1 ? kNormalizationKey : text("{}/{}", kNormalizationKey, feed.input);
  return {.numbers = key, .kind = key + ".of"};
}

std::string kind_of(const data::Field& field) {
  return field.dtype == core::DType::kUint8 ? "bytes" : "numbers";
}

core::Machine settle_machine(const MachineSettings& settings) {
  core::Machine machine;
  machine.threads = settings.threads > 0 ? settings.threads : core::usable_cpus();
  machine.isa = core::parse_isa(settings.isa);
  kernels::hold_to_isa(machine.isa);
  core::use_threads(machine.threads);
  return machine;
}

onnx::Model build_model(const Recipe& recipe, std::int64_t samples) {
  onnx::ReadOptions options{.catalog = ops::catalog()};
  for (const auto& [name, dims] : recipe.model.shapes) {
    std::vector<std::int64_t> shape = dims;
    if (!shape.empty()) shape[0] = samples;
    options.shapes[name] = core::Shape(std::move(shape));
  }
  for (const Feed& feed : recipe.feeds) {
    std::vector<std::int64_t> shape = {samples};
    shape.insert(shape.end(), feed.sample_shape.dims().begin(), feed.sample_shape.dims().end());
    options.shapes[feed.input] = core::Shape(std::move(shape));
  }
  return onnx::build(recipe.file, options);
}

Recipe settle(const ModelSettings& model,
              const DataSettings& data,
              const LossSettings& loss,
              const MachineSettings& machine,
              data::Split split,
              std::uint64_t seed) {
  Recipe recipe;
  recipe.machine = settle_machine(machine);
  if (data.batch < 1) {
    throw fail(ErrorCode::kInvalidArgument, "the batch must hold at least one sample, got {}",
               data.batch);
  }
  recipe.model_path = model.path.string();
  recipe.model = model;
  recipe.file = onnx::parse_file(model.path);
  onnx::restore_ties(recipe.file);
  recipe.has_data = !data.source.empty();
  if (recipe.has_data) {
    OpenedData opened = open_data(recipe.file, model, data, split, seed);
    recipe.dataset = std::move(opened.dataset);
    recipe.validation = std::move(opened.validation);
    for (const auto& dataset : {recipe.dataset, recipe.validation}) {
      if (dataset == nullptr) continue;
      const std::span<const std::string> notes = dataset->notes();
      recipe.notes.insert(recipe.notes.end(), notes.begin(), notes.end());
    }
  } else {
    recipe.dataset = assume_data(recipe.file, model, data, loss.kind);
    recipe.notes.emplace_back("no data given: as much is assumed as the model takes");
  }
  recipe.label_field = recipe.dataset->index(data.label);
  recipe.batch = std::min(data.batch, recipe.dataset->samples());
  const std::vector<onnx::ValueInfo> inputs = onnx::data_inputs(recipe.file);
  for (const onnx::ValueInfo& input : inputs) {
    const std::size_t field =
        find_field(*recipe.dataset, input, recipe.label_field, inputs.size() == 1);
    recipe.feeds.push_back(match(*recipe.dataset, input, field));
  }
  settle_loss(recipe, loss);
  check_read(recipe, data, loss);
  if (recipe.has_data) settle_normalization(recipe, data, split);
  return recipe;
}

}  // namespace lowtide::train
