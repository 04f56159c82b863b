#include "onnx/functions.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <variant>

#include "core/text.h"

namespace lowtide::onnx {

using core::fail;

namespace {

using Branch = std::shared_ptr<const FileGraph>;

// One call: what the names and attributes of the body stand for.
class Call {
 public:
  Call(const FileNode& node, const FileFunction& function);

  // A node of the body as the caller has it.
  [[nodiscard]] FileNode node(const FileNode& of_body) const;
  // Outputs that are inputs at once.
  [[nodiscard]] std::vector<FileNode> copies() const;

 private:
  void bind(const std::vector<std::string>& names, const std::vector<std::string>& given);
  [[nodiscard]] std::string name(const std::string& of_body) const;
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>& of_body) const;
  [[nodiscard]] const Attribute* attribute(const std::string& wanted) const;
  [[nodiscard]] std::vector<Attribute> attributes(const std::vector<Attribute>& of_body) const;
  [[nodiscard]] Branch branch(const FileGraph& of_body) const;

  const FileNode& call_;
  const FileFunction& function_;
  std::string prefix_;
  std::unordered_map<std::string, std::string> names_;
};

Call::Call(const FileNode& node, const FileFunction& function) : call_(node), function_(function) {
  const auto output = std::find_if(node.outputs.begin(), node.outputs.end(),
                                   [](const std::string& name) { return !name.empty(); });
  prefix_ = output == node.outputs.end() ? node.name : *output;
  bind(function.inputs, node.inputs);
  bind(function.outputs, node.outputs);
}

void Call::bind(const std::vector<std::string>& names, const std::vector<std::string>& given) {
  if (given.size() > names.size()) {
    throw fail(ErrorCode::kInvalidFile, "node '{}': {} has {} inputs or outputs, {} are given",
               call_.label(), call_.type, names.size(), given.size());
  }
  const bool inputs = &names == &function_.inputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string outer = i < given.size() ? given[i] : std::string();
    // An output that the caller leaves out may still be read within.
    if (inputs || !outer.empty()) names_.emplace(names[i], outer);
  }
}

std::string Call::name(const std::string& of_body) const {
  if (of_body.empty()) return {};
  const auto found = names_.find(of_body);
  return found != names_.end() ? found->second : core::text("{}/{}", prefix_, of_body);
}

std::vector<std::string> Call::names(const std::vector<std::string>& of_body) const {
  std::vector<std::string> result;
  for (const std::string& one : of_body) result.push_back(name(one));
  return result;
}

const Attribute* Call::attribute(const std::string& wanted) const {
  if (const Attribute* const given = call_.attribute(wanted)) return given;
  const auto fallback = std::find_if(function_.defaults.begin(), function_.defaults.end(),
                                     [&](const Attribute& a) { return a.name == wanted; });
  return fallback == function_.defaults.end() ? nullptr : &*fallback;
}

// An attribute that refers to one which the call does not have is left out.
std::vector<Attribute> Call::attributes(const std::vector<Attribute>& of_body) const {
  std::vector<Attribute> result;
  for (const Attribute& one : of_body) {
    if (const auto* reference = std::get_if<AttributeReference>(&one.value)) {
      const Attribute* const meant = attribute(reference->name);
      if (meant != nullptr) result.push_back({one.name, meant->value});
    } else if (const auto* inner = std::get_if<Branch>(&one.value)) {
      result.push_back({one.name, branch(**inner)});
    } else {
      result.push_back(one);
    }
  }
  return result;
}

FileNode Call::node(const FileNode& of_body) const {
  FileNode result = of_body;
  if (!result.name.empty()) result.name = core::text("{}/{}", prefix_, of_body.name);
  result.inputs = names(of_body.inputs);
  result.outputs = names(of_body.outputs);
  result.attributes = attributes(of_body.attributes);
  const auto opset = function_.opsets.find(of_body.domain);
  if (opset != function_.opsets.end()) result.opset = opset->second;
  return result;
}

Branch Call::branch(const FileGraph& of_body) const {
  FileGraph result = of_body;
  for (FileNode& one : result.nodes) one = node(one);
  for (TensorRef& tensor : result.initializers) tensor.name = name(tensor.name);
  for (ValueInfo& input : result.inputs) input.name = name(input.name);
  for (ValueInfo& output : result.outputs) output.name = name(output.name);
  return std::make_shared<const FileGraph>(std::move(result));
}

std::vector<FileNode> Call::copies() const {
  std::vector<FileNode> result;
  for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
    const std::string& output = function_.outputs[i];
    const auto input = std::find(function_.inputs.begin(), function_.inputs.end(), output);
    if (input == function_.inputs.end() || call_.outputs[i].empty()) continue;
    FileNode copy{.type = "Identity"};
    copy.inputs = {name(output)};
    copy.outputs = {call_.outputs[i]};
    result.push_back(std::move(copy));
  }
  return result;
}

// What a copy of a node takes, nearly.
std::size_t size_of(const FileNode& node) {
  std::size_t size = sizeof(FileNode) + node.name.size();
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string& name : *names) size += sizeof(name) + name.size();
  }
  for (const Attribute& attribute : node.attributes) {
    size += sizeof(Attribute);
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
      size += list->size() * sizeof(std::int64_t);
    } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) {
      size += reals->size() * sizeof(float);
    } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      size += text->size();
    }
  }
  return size;
}

class Inliner {
 public:
  Inliner(const Functions& functions, std::size_t most)
      : functions_(functions), nodes_left_(most) {}

  void inline_into(FileGraph& graph, int depth = 0) {
    std::vector<FileNode> nodes;
    for (FileNode& node : graph.nodes) add(std::move(node), depth, nodes);
    graph.nodes = std::move(nodes);
  }

 private:
  void add(FileNode node, int depth, std::vector<FileNode>& to);
  void count(const FileNode& node, int depth);

  const Functions& functions_;
  std::size_t nodes_left_;
  std::size_t bytes_left_ = std::size_t{256} * 1024 * 1024;
};

// Calls within calls double quickly: a small file must not become a large graph.
void Inliner::count(const FileNode& node, int depth) {
  constexpr int kDeepest = 64;
  const std::size_t size = size_of(node);
  if (depth > kDeepest) {
    throw fail(ErrorCode::kInvalidFile, "node '{}': the model's functions grow too deep",
               node.label());
  }
  if (nodes_left_ == 0 || (depth > 0 && size > bytes_left_)) {
    throw fail(ErrorCode::kInvalidFile, "the model's functions grow too large");
  }
  --nodes_left_;
  if (depth > 0) bytes_left_ -= size;
}

void Inliner::add(FileNode node, int depth, std::vector<FileNode>& to) {
  count(node, depth);
  for (Attribute& attribute : node.attributes) {
    if (const auto* branch = std::get_if<Branch>(&attribute.value)) {
      FileGraph inlined = **branch;
      inline_into(inlined, depth + 1);
      attribute.value = std::make_shared<const FileGraph>(std::move(inlined));
    }
  }
  const auto function = functions_.find({node.domain, node.type});
  if (function == functions_.end()) return to.push_back(std::move(node));
  const Call call(node, function->second);
  for (FileNode& copy : call.copies()) to.push_back(std::move(copy));
  for (const FileNode& inner : function->second.nodes) add(call.node(inner), depth + 1, to);
}

}  // namespace

void inline_calls(FileGraph& graph, const Functions& functions, std::size_t most) {
  if (!functions.empty()) Inliner(functions, most).inline_into(graph);
}

}  // namespace lowtide::onnx
