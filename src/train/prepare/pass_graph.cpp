#include "train/prepare/pass_graph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "autodiff/differentiate.h"
#include "core/text.h"
#include "graph/unread.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "ops/pair_loss/pair_loss.h"
#include "ops/top_hits/top_hits.h"
#include "optim/updates.h"
#include "passes/alternatives.h"
#include "passes/dependence.h"
#include "passes/fuse/fuse.h"
#include "passes/fuse/gradients.h"
#include "passes/linear_head.h"
#include "passes/training.h"
#include "train/prepare/export_notes.h"
#include "train/prepare/file_tensors.h"

namespace lowtide::train {
namespace {

using core::text;
using graph::GraphBuilder;
using graph::Role;
using graph::ValueId;

// Logits of this size or more do not exist whole.
constexpr std::int64_t kManyLogits = std::int64_t{1} << 20U;

constexpr std::int64_t kFive = 5;

struct LossUse {
  bool gradients = false;  // they follow
  bool metrics = false;    // those that cost something are wanted, too
};

// The linear layer that makes the logits, where there are so many that it is computed with the
// loss.
std::optional<passes::LinearHead> large_head(const graph::Graph& graph,
                                             const Loss& loss,
                                             ValueId logits) {
  const core::Shape& shape = graph.type(logits).shape;
  const bool rows = loss.class_axis + 1 == shape.rank();
  if (!rows || shape.elements() < kManyLogits) return std::nullopt;
  return passes::find_linear_head(graph, logits);
}

void add_cross_entropy(
    GraphBuilder& builder, const Loss& loss, ValueId logits, LossUse use, PassGraph& pass) {
  ValueId weights;
  if (!loss.class_weights.empty()) {
    weights =
        builder.constant(core::Shape{loss.classes}, loss.class_weights, "lowtide/class_weights");
  }
  const ops::CrossEntropy attributes{.class_axis = loss.class_axis,
                                     .ignore_index = loss.ignore_index,
                                     .label_smoothing = loss.label_smoothing};
  ops::LossValues values;
  if (const auto head = large_head(pass.graph, loss, logits)) {
    const bool learned = passes::depends_on_state(pass.graph, head->weight) ||
                         (head->bias.valid() && passes::depends_on_state(pass.graph, head->bias));
    values = ops::linear_cross_entropy(builder, head->hidden, head->weight, head->bias, pass.labels,
                                       pass.normalizer,
                                       {.loss = attributes,
                                        .transposed = head->transposed,
                                        .gradients = use.gradients,
                                        .learned = learned},
                                       weights);
  } else {
    values = ops::cross_entropy(builder, logits, pass.labels, pass.normalizer, attributes, weights);
    if (use.metrics && loss.classes > kFive) {
      pass.top_five = ops::top_hits(
          builder, logits, pass.labels,
          {.class_axis = loss.class_axis, .ignore_index = loss.ignore_index, .among = kFive});
    }
  }
  pass.loss = values.loss;
  pass.correct = values.correct;
}

// The loss and the inputs it needs, appended to a pass whose model output is `output`. Nodes that
// the loss does not need are dropped.
void add_loss(
    GraphBuilder& builder, const Recipe& recipe, ValueId output, LossUse use, PassGraph& pass) {
  const Loss& loss = recipe.loss;
  builder.set_phase(graph::Phase::kLoss);
  builder.set_scope("loss");
  if (loss.before_activation) {
    const graph::NodeId producer = builder.graph().value(output).producer;
    output = builder.graph().node(producer).inputs[0];
  }
  pass.normalizer =
      builder.input("lowtide/normalizer", {core::DType::kFloat32, core::Shape{}}, Role::kScalar);
  std::vector<std::int64_t> label_dims = {pass.samples};
  label_dims.insert(label_dims.end(), recipe.label_shape.dims().begin(),
                    recipe.label_shape.dims().end());
  if (loss.kind == LossKind::kCrossEntropy) {
    pass.labels = builder.input("lowtide/labels", {core::DType::kInt64, core::Shape(label_dims)});
    add_cross_entropy(builder, loss, output, use, pass);
  } else {
    const core::Shape shape = builder.type(output).shape;
    pass.labels = builder.input("lowtide/labels", {core::DType::kFloat32, shape});
    pass.loss = ops::pair_loss(builder, loss.pair, output, pass.labels, pass.normalizer);
    const bool distance = loss.pair.kind != ops::PairLossKind::kBinaryCrossEntropy;
    if (use.metrics && distance) {
      pass.absolute_error = ops::pair_loss(builder, {.kind = ops::PairLossKind::kAbsoluteError},
                                           output, pass.labels, pass.normalizer);
    }
  }
  pass.graph.outputs() = {pass.loss};
  for (const ValueId metric : {pass.correct, pass.top_five, pass.absolute_error}) {
    if (metric.valid()) pass.graph.outputs().push_back(metric);
  }
  graph::drop_unread(pass.graph);
}

std::vector<ValueId> trained_values(const std::vector<passes::Parameter>& parameters) {
  std::vector<ValueId> result;
  for (const passes::Parameter& parameter : parameters) {
    if (parameter.trained) result.push_back(parameter.value);
  }
  return result;
}

passes::TrainingRules training_rules(const onnx::Model& model,
                                     const TrainSettings& settings,
                                     std::int64_t samples,
                                     ValueId output) {
  passes::TrainingRules rules{.samples = samples};
  if (settings.running_statistics == RunningStatistics::kOnnx) {
    rules.running = passes::RunningRule::kOnnx;
  }
  std::multimap<std::string, ValueId> named(model.values.begin(), model.values.end());
  named.insert(model.nodes.begin(), model.nodes.end());
  // What the loss reads is the network's answer.
  std::erase_if(named, [&](const auto& entry) { return entry.second == output; });
  std::vector<passes::DropoutRule> dropout;
  for (const DropoutSettings& rule : settings.dropout) dropout.push_back({rule.values, rule.ratio});
  rules.dropout = passes::choose_dropout(model.graph, named, dropout);
  return rules;
}

std::vector<ValueId> feed_values(const Recipe& recipe, const onnx::Model& model) {
  std::vector<ValueId> result;
  for (const Feed& feed : recipe.feeds) {
    const auto at = std::find(model.input_names.begin(), model.input_names.end(), feed.input);
    LT_CHECK(at != model.input_names.end(), "a feed's input is in the model");
    result.push_back(
        model.graph.inputs()[static_cast<std::size_t>(at - model.input_names.begin())]);
  }
  return result;
}

std::vector<passes::Parameter> choose_parameters(onnx::Model& model,
                                                 const TrainSettings& settings) {
  const FileTensors described = describe_tensors(model);
  std::vector<passes::Parameter> parameters = passes::choose_parameters(
      model.graph, described.tensors, described.uses,
      {.train = settings.selection.train, .freeze = settings.selection.freeze});
  passes::check_globs(parameters, settings.optimizer.no_decay, "--no-decay");
  return parameters;
}

// For a message, some of the tensors that are not trained and why.
std::string what_is_fixed(const std::vector<passes::Parameter>& parameters) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> fixed;
  for (const passes::Parameter& parameter : parameters) {
    if (fixed.size() == kMost) break;
    fixed.push_back(text("'{}' ({})", parameter.name, parameter.reason));
  }
  return fixed.empty()
             ? std::string()
             : text("; fixed are {}; --train NAME trains what it names", fmt::join(fixed, ", "));
}

// Gives a model's values the roles and names of the state that training keeps.
void share_state(onnx::Model& model, const TrainSettings& settings, PassGraph& pass) {
  pass.parameters = choose_parameters(model, settings);
  if (!settings.optimizer.ema) return;
  for (const passes::Parameter& parameter : pass.parameters) {
    graph::Value& value = model.graph.value(parameter.value);
    if (parameter.trained) value.name = optim::ema_name(value.name);
  }
}

// With a limit that no norm reaches, updates wait for the norm and are what they are without.
OptimizerSettings optimizer_of(const TrainSettings& settings) {
  OptimizerSettings optimizer = settings.optimizer;
  if (settings.detect_anomaly && !optimizer.clip_norm) {
    optimizer.clip_norm = std::numeric_limits<double>::infinity();
  }
  return optimizer;
}

}  // namespace

PassGraph build_training_pass(const Recipe& recipe,
                              const TrainSettings& settings,
                              std::int64_t samples,
                              Gradients gradients) {
  onnx::Model model = build_model(recipe, samples);
  PassGraph pass;
  pass.samples = samples;
  pass.parameters = choose_parameters(model, settings);
  const ValueId output = model.values.at(recipe.loss.output);
  model.graph.outputs() = {output};
  passes::Training training =
      passes::to_training(model.graph, training_rules(model, settings, samples, output));
  passes::fuse(training.rewritten.graph);
  const auto& to = training.rewritten.to;
  pass.couples_samples = training.couples_samples;
  pass.notes = export_notes(recipe.file, training);
  for (passes::Parameter& parameter : pass.parameters) parameter.value = to[parameter.value];
  for (const ValueId input : feed_values(recipe, model)) pass.inputs.push_back(to[input]);
  pass.graph = std::move(training.rewritten.graph);

  GraphBuilder builder(pass.graph);
  add_loss(builder, recipe, to[output], {.gradients = true, .metrics = settings.step_metrics},
           pass);
  if (settings.step_metrics && !pass.top_five.valid() && !pass.absolute_error.valid()) {
    pass.notes.emplace_back(
        "--step-metrics: this loss of these outputs has neither top-5 accuracy nor mean absolute "
        "error");
  }
  const std::vector<ValueId> trained = trained_values(pass.parameters);
  if (trained.empty()) {
    throw core::fail(ErrorCode::kInvalidArgument, "{}: nothing is left to train{}",
                     recipe.model_path, what_is_fixed(pass.parameters));
  }
  const autodiff::Seed seed{.output = pass.loss, .gradient = {}};
  const std::vector<ValueId> found = autodiff::differentiate(builder, {&seed, 1}, trained);
  std::vector<optim::Trained> pairs;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    if (found[i].valid()) {
      pairs.push_back({trained[i], found[i]});
      continue;
    }
    pass.notes.push_back(
        text("'{}' does not reach the loss and stays as it is", pass.graph.value(trained[i]).name));
  }
  builder.set_phase(graph::Phase::kUpdate);
  if (gradients == Gradients::kAccumulate) {
    pass.scalars = optim::add_accumulation(builder, pairs).first;
  } else {
    const optim::Updates updates = optim::add_updates(builder, pairs, optimizer_of(settings));
    pass.scalars = updates.scalars;
    pass.grad_norm = updates.grad_norm;
  }
  passes::fuse_gradients(pass.graph);
  passes::offer_alternatives(pass.graph);
  return pass;
}

PassGraph build_update(const PassGraph& accumulating, const TrainSettings& settings) {
  PassGraph pass;
  GraphBuilder builder(pass.graph, graph::Phase::kUpdate);
  std::vector<optim::Trained> pairs;
  for (const passes::Parameter& parameter : accumulating.parameters) {
    if (!parameter.trained) continue;
    const graph::Value& value = accumulating.graph.value(parameter.value);
    const std::string sum = optim::accumulator_name(value.name);
    if (!accumulating.graph.find(sum)) continue;
    pairs.push_back({builder.state(value.name, value.type, value.role, value.content),
                     builder.state(sum, value.type, Role::kOptimizer)});
  }
  const optim::Updates updates = optim::add_updates(builder, pairs, optimizer_of(settings));
  pass.scalars = updates.scalars;
  pass.grad_norm = updates.grad_norm;
  return pass;
}

namespace {

// `training`: whose state to use; null for the file's own.
PassGraph evaluation_pass(const Recipe& recipe,
                          std::int64_t samples,
                          const TrainSettings* training) {
  onnx::Model model = build_model(recipe, samples);
  PassGraph pass;
  pass.samples = samples;
  pass.inputs = feed_values(recipe, model);
  if (training != nullptr) share_state(model, *training, pass);
  const ValueId output = model.values.at(recipe.loss.output);
  model.graph.outputs() = {output};
  passes::fuse(model.graph);
  pass.graph = std::move(model.graph);
  GraphBuilder builder(pass.graph);
  add_loss(builder, recipe, output, {.metrics = true}, pass);
  return pass;
}

}  // namespace

PassGraph build_evaluation_pass(const Recipe& recipe, std::int64_t samples) {
  return evaluation_pass(recipe, samples, nullptr);
}

PassGraph build_validation_pass(const Recipe& recipe,
                                const TrainSettings& settings,
                                std::int64_t samples) {
  return evaluation_pass(recipe, samples, &settings);
}

}  // namespace lowtide::train
