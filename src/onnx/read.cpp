#include "onnx/read.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <variant>

#include "core/text.h"
#include "graph/builder.h"
#include "onnx/import/initializers.h"
#include "onnx/import/node_order.h"
#include "onnx/import/node_view.h"
#include "onnx/import/operators.h"
#include "onnx/input_shapes.h"

namespace lowtide::onnx {

using core::fail;
using graph::ConstantTensor;
using graph::NodeId;
using graph::ValueId;

namespace {

// ONNX's operators took numpy's broadcasting in 7; what comes after the newest may mean anything.
constexpr std::int64_t kOldestOpset = 7;
constexpr std::int64_t kNewestOpset = 27;

// All constants that folding makes together may take this many times the limit for one node.
constexpr std::int64_t kFoldedNodes = 16;

// The names of one graph of the file. Initializers become values when they are first read.
struct Scope {
  const FileGraph& graph;
  Scope* outer = nullptr;
  std::unordered_map<std::string, ValueId> values = {};
  std::unordered_map<std::string, const TensorRef*> tensors = {};
  std::unordered_map<std::string, const FileNode*> missing = {};  // outputs a rule did not give
  std::unordered_map<std::string, std::vector<ValueId>> sequences = {};
};

Scope open_scope(const FileGraph& graph, Scope* outer) {
  Scope scope{graph, outer};
  for (const TensorRef& tensor : graph.initializers) scope.tensors.emplace(tensor.name, &tensor);
  return scope;
}

bool is_builtin(const FileNode& node) {
  return node.domain.empty() && (node.type == "Constant" || node.type == "Identity" ||
                                 node.type == "If" || node.type == "SequenceAt");
}

int checked_opset(std::int64_t opset) {
  if (opset < kOldestOpset || opset > kNewestOpset) {
    throw fail(ErrorCode::kUnsupported, "opset {}; Lowtide reads {} to {}", opset, kOldestOpset,
               kNewestOpset);
  }
  return static_cast<int>(opset);
}

std::string qualified(const FileNode& node) {
  return node.domain.empty() ? node.type : core::text("{}::{}", node.domain, node.type);
}

// The error with the node before it, unless it names the node already.
Error located(const Error& error, const FileNode& node) {
  const std::string prefix = core::text("node '{}'", node.label());
  if (std::string_view(error.what()).starts_with(prefix)) return error;
  return error.within(core::text("{} ({})", prefix, node.type));
}

class Importer {
 public:
  Importer(const ModelFile& file, const ReadOptions& options);

  Model import();

 private:
  void add_inputs(Scope& scope);
  void add_graph(Scope& scope);
  void check_supported(const NodeOrder& order) const;
  void add_node(Scope& scope, const FileNode& node, const NodeOrder& order);
  std::vector<ValueId> apply_rule(Scope& scope, const FileNode& node, const NodeOrder& order);
  [[nodiscard]] int opset_of(const FileNode& node) const;
  std::vector<ValueId> add_constant(const FileNode& node);
  std::vector<ValueId> add_branch(Scope& scope, const FileNode& node);
  std::vector<ValueId> add_builtin(Scope& scope, const FileNode& node);
  ValueId sequence_element(Scope& scope, const FileNode& node);

  ValueId look_up(Scope& scope, const std::string& name);
  ValueId enter(const TensorRef& tensor, const std::string& name);
  static bool defined(const Scope* scope, const std::string& name);
  void record_uses(const FileNode& node, const std::vector<ValueId>& inputs, NodeId begin);

  const ModelFile& file_;
  const ReadOptions& options_;
  Model model_;
  graph::GraphBuilder builder_;
  std::map<std::pair<std::string_view, std::string_view>, graph::OnnxReadFn> rules_;
  Bytes fold_budget_;
  FloatTensors float_tensors_;
};

Importer::Importer(const ModelFile& file, const ReadOptions& options)
    : file_(file),
      options_(options),
      builder_(model_.graph),
      fold_budget_(kFoldedNodes * options.fold_limit) {
  for (const graph::OpDef* op : options.catalog) {
    for (const graph::OnnxRule& rule : op->onnx_rules()) {
      rules_.emplace(std::pair(rule.domain, rule.type), rule.read);
    }
  }
}

Model Importer::import() {
  if (file_.opsets.empty()) {
    throw fail(ErrorCode::kInvalidFile, "the model imports no version of ONNX's operators");
  }
  if (file_.graph.outputs.empty()) {
    throw fail(ErrorCode::kInvalidFile, "the model has no outputs");
  }
  const auto opset = file_.opsets.find("");
  model_.path = file_.path;
  model_.opset =
      opset == file_.opsets.end() ? static_cast<int>(kNewestOpset) : checked_opset(opset->second);
  model_.producer = file_.producer;
  model_.metadata = file_.metadata;
  Scope scope = open_scope(file_.graph, nullptr);
  add_inputs(scope);
  add_graph(scope);
  for (const ValueInfo& output : file_.graph.outputs) {
    model_.output_names.push_back(output.name);
    model_.graph.outputs().push_back(look_up(scope, output.name));
  }
  model_.values.insert(scope.values.begin(), scope.values.end());
  model_.initializers = list_initializers(file_.graph, model_, float_tensors_);
  return std::move(model_);
}

void Importer::add_inputs(Scope& scope) {
  const std::map<std::string, core::Shape> shapes = bind_inputs(file_, options_);
  for (const ValueInfo& input : data_inputs(file_)) {
    if (!input.dtype) {
      throw fail(ErrorCode::kUnsupported, "input '{}' has type {}", input.name, input.type_name);
    }
    const ValueId id =
        builder_.input(input.name, {*input.dtype, shapes.at(input.name), core::Layout::kPlain});
    if (!scope.values.emplace(input.name, id).second) {
      throw fail(ErrorCode::kInvalidFile, "input '{}' is given twice", input.name);
    }
    model_.input_names.push_back(input.name);
  }
}

bool Importer::defined(const Scope* scope, const std::string& name) {
  for (; scope != nullptr; scope = scope->outer) {
    if (scope->values.contains(name) || scope->tensors.contains(name) ||
        scope->missing.contains(name)) {
      return true;
    }
  }
  return false;
}

ValueId Importer::look_up(Scope& scope, const std::string& name) {
  for (Scope* at = &scope; at != nullptr; at = at->outer) {
    if (const auto found = at->values.find(name); found != at->values.end()) return found->second;
    if (const auto found = at->tensors.find(name); found != at->tensors.end()) {
      const ValueId id = enter(*found->second, name);
      if (core::is_float(found->second->type.dtype)) float_tensors_.emplace(id, false);
      at->values.emplace(name, id);
      return id;
    }
    if (const auto found = at->missing.find(name); found != at->missing.end()) {
      throw fail(ErrorCode::kUnsupported, "node '{}' ({}): its output '{}' is not available",
                 found->second->label(), found->second->type, name);
    }
  }
  throw fail(ErrorCode::kInvalidFile, "nothing writes '{}'", name);
}

// Float tensors of more than one element may be parameters: they stay in the file, where folding
// leaves them alone. Single ones are factors and limits. Halves are of the file, but in memory.
ValueId Importer::enter(const TensorRef& tensor, const std::string& name) {
  const bool weights = core::is_float(tensor.type.dtype) && tensor.type.shape.elements() != 1;
  if (tensor.bytes && !(weights && !tensor.file.empty())) {
    return builder_.constant(ConstantTensor{tensor.type, tensor.bytes}, name);
  }
  graph::Content content{.file = tensor.file, .offset = tensor.offset};
  if (tensor.half != Half::kNone) content.tensor = ConstantTensor{tensor.type, tensor.bytes};
  return builder_.state(name, tensor.type, graph::Role::kConstant, std::move(content));
}

void Importer::check_supported(const NodeOrder& order) const {
  std::map<std::string, std::string> lacking;  // operator -> first node
  for (const FileNode* node : order.nodes) {
    if (is_builtin(*node) || rules_.contains({node->domain, node->type})) continue;
    lacking.emplace(qualified(*node), node->label());
  }
  if (lacking.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [type, node] : lacking) {
    parts.push_back(core::text("{} (node '{}')", type, node));
  }
  throw fail(ErrorCode::kUnsupported, "unsupported operators: {}", fmt::join(parts, ", "));
}

void Importer::add_graph(Scope& scope) {
  const NodeOrder order =
      order_nodes(scope.graph, [&](const std::string& name) { return defined(scope.outer, name); });
  check_supported(order);
  for (const FileNode* node : order.nodes) add_node(scope, *node, order);
}

void Importer::add_node(Scope& scope, const FileNode& node, const NodeOrder& order) {
  try {
    check_schema(node);
    const std::size_t values_before = model_.graph.value_count();
    builder_.set_scope(node.label());
    std::vector<ValueId> results =
        is_builtin(node) ? add_builtin(scope, node) : apply_rule(scope, node, order);
    if (node.domain.empty() && node.type == "SplitToSequence" && !node.outputs.empty()) {
      scope.sequences.emplace(node.outputs.front(), std::exchange(results, {}));
    }
    if (!results.empty() && results[0].valid()) model_.nodes.emplace(node.label(), results[0]);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& name = node.outputs[i];
      if (name.empty()) continue;
      if (i >= results.size() || !results[i].valid()) {
        scope.missing.emplace(name, &node);
        continue;
      }
      scope.values.emplace(name, results[i]);
      if (results[i].index() >= values_before) model_.graph.value(results[i]).name = name;
    }
  } catch (const Error& error) {
    throw located(error, node);
  }
}

std::vector<ValueId> Importer::add_builtin(Scope& scope, const FileNode& node) {
  if (node.type == "Constant") return add_constant(node);
  if (node.type == "SequenceAt") return {sequence_element(scope, node)};
  if (node.inputs.size() != 1 || node.inputs.front().empty()) {
    throw fail(ErrorCode::kInvalidFile, "one input is needed");
  }
  if (node.type == "If") return add_branch(scope, node);
  return {look_up(scope, node.inputs.front())};
}

ValueId Importer::sequence_element(Scope& scope, const FileNode& node) {
  if (node.inputs.size() != 2) throw fail(ErrorCode::kInvalidFile, "two inputs are needed");
  const auto sequence = scope.sequences.find(node.inputs[0]);
  const auto position = builder_.constant_value(look_up(scope, node.inputs[1]));
  if (sequence == scope.sequences.end() || !position || position->type.shape.elements() != 1 ||
      position->type.dtype != core::DType::kInt64) {
    throw fail(ErrorCode::kUnsupported, "sequences other than by SplitToSequence, at fixed places");
  }
  const auto size = static_cast<std::int64_t>(sequence->second.size());
  const std::int64_t at = *position->data<std::int64_t>();
  if (at < -size || at >= size) {
    throw fail(ErrorCode::kInvalidFile, "place {} of a sequence of {}", at, size);
  }
  return sequence->second[static_cast<std::size_t>(at < 0 ? at + size : at)];
}

std::vector<ValueId> Importer::apply_rule(Scope& scope,
                                          const FileNode& node,
                                          const NodeOrder& order) {
  std::vector<ValueId> inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(name.empty() ? ValueId() : look_up(scope, name));
  }
  std::vector<bool> used;
  for (const std::string& name : node.outputs) {
    used.push_back(!name.empty() && order.read.contains(name));
  }
  const NodeId begin(model_.graph.node_count());
  const std::size_t values_before = model_.graph.value_count();
  builder_.fold_up_to(std::min(options_.fold_limit, fold_budget_));
  NodeView view(node, opset_of(node), inputs, std::move(used), builder_);
  std::vector<ValueId> results = rules_.at({node.domain, node.type})(view);
  for (std::size_t i = values_before; i < model_.graph.value_count(); ++i) {
    const graph::Value& value = model_.graph.value(ValueId(i));
    if (value.content.tensor) fold_budget_ -= value.type.bytes();
  }
  fold_budget_ = std::max(fold_budget_, Bytes());
  record_uses(node, inputs, begin);
  return results;
}

int Importer::opset_of(const FileNode& node) const {
  if (node.domain.empty() && node.opset) return checked_opset(*node.opset);
  if (node.domain.empty()) return model_.opset;
  const auto opset = file_.opsets.find(node.domain);
  return static_cast<int>(node.opset.value_or(opset == file_.opsets.end() ? 1 : opset->second));
}

std::vector<ValueId> Importer::add_constant(const FileNode& node) {
  if (node.attributes.size() != 1) {
    throw fail(ErrorCode::kInvalidFile, "a Constant needs exactly one value");
  }
  const Attribute& attribute = node.attributes.front();
  if (const auto* tensor = std::get_if<TensorRef>(&attribute.value)) {
    const ValueId id = enter(*tensor, node.label());
    // What a function holds cannot be replaced for one call of it.
    if (core::is_float(tensor->type.dtype) && !node.opset) float_tensors_.emplace(id, true);
    return {id};
  }
  const auto listed = [&](const auto& values) {
    return builder_.constant(core::Shape{static_cast<std::int64_t>(values.size())}, values);
  };
  if (const auto* real = std::get_if<float>(&attribute.value)) {
    return {builder_.constant(core::Shape(), std::vector<float>{*real})};
  }
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    return {builder_.constant(core::Shape(), std::vector<std::int64_t>{*integer})};
  }
  if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) {
    return {listed(*reals)};
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    return {listed(*integers)};
  }
  throw fail(ErrorCode::kUnsupported, "the kind of its '{}'", attribute.name);
}

std::vector<ValueId> Importer::add_branch(Scope& scope, const FileNode& node) {
  const ValueId condition = look_up(scope, node.inputs.front());
  const core::TensorType& type = builder_.type(condition);
  if (type.dtype != core::DType::kBool || type.shape.elements() != 1) {
    throw fail(ErrorCode::kInvalidFile, "its condition is {}, not one bool", type.str());
  }
  const auto constant = builder_.constant_value(condition);
  if (!constant) {
    throw fail(ErrorCode::kUnsupported, "its condition '{}' is computed from data",
               node.inputs.front());
  }
  const char* const wanted = *constant->data<std::uint8_t>() != 0 ? "then_branch" : "else_branch";
  const Attribute* const attribute = node.attribute(wanted);
  const auto* branch = attribute == nullptr
                           ? nullptr
                           : std::get_if<std::shared_ptr<const FileGraph>>(&attribute->value);
  if (branch == nullptr || !(*branch)->inputs.empty()) {
    throw fail(ErrorCode::kInvalidFile, "its {} is missing, or has inputs", wanted);
  }
  Scope inner = open_scope(**branch, &scope);
  add_graph(inner);
  std::vector<ValueId> results;
  for (const ValueInfo& output : (*branch)->outputs) {
    results.push_back(look_up(inner, output.name));
  }
  return results;
}

void Importer::record_uses(const FileNode& node, const std::vector<ValueId>& inputs, NodeId begin) {
  if (node.outputs.empty()) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!float_tensors_.contains(inputs[i])) continue;
    model_.uses.push_back({.value = inputs[i],
                           .node_output = node.opset ? "" : node.outputs.front(),
                           .input = i,
                           .renamed = node.inputs[i] != model_.graph.value(inputs[i]).name,
                           .op_type = node.type,
                           .begin = begin,
                           .end = NodeId(model_.graph.node_count())});
  }
}

}  // namespace

Model build(const ModelFile& file, const ReadOptions& options) {
  try {
    return Importer(file, options).import();
  } catch (const Error& error) {
    throw error.within(file.path);
  }
}

Model read(const std::filesystem::path& path, const ReadOptions& options) {
  return build(parse_file(path), options);
}

}  // namespace lowtide::onnx
