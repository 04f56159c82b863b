#include "onnx/import/node_order.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <variant>

#include "core/text.h"

namespace lowtide::onnx {

using core::fail;

namespace {

using Outside = std::function<bool(const std::string&)>;

// Names that the branches of a node take from around it, without their own.
void add_captured(const FileGraph& branch, std::vector<std::string>& names);

void add_reads(const FileNode& node, std::vector<std::string>& names) {
  for (const std::string& input : node.inputs) {
    if (!input.empty()) names.push_back(input);
  }
  for (const Attribute& attribute : node.attributes) {
    if (const auto* branch = std::get_if<std::shared_ptr<const FileGraph>>(&attribute.value)) {
      add_captured(**branch, names);
    }
  }
}

void add_captured(const FileGraph& branch, std::vector<std::string>& names) {
  std::unordered_set<std::string> own;
  for (const ValueInfo& input : branch.inputs) own.insert(input.name);
  for (const TensorRef& tensor : branch.initializers) own.insert(tensor.name);
  for (const FileNode& node : branch.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string> reads;
  for (const FileNode& node : branch.nodes) add_reads(node, reads);
  for (const ValueInfo& output : branch.outputs) reads.push_back(output.name);
  for (std::string& name : reads) {
    if (!own.contains(name)) names.push_back(std::move(name));
  }
}

// Who writes what within one graph.
class Sorter {
 public:
  Sorter(const FileGraph& graph, const Outside& outside);

  NodeOrder order();

 private:
  void define_sources();
  void define_outputs();
  void link();
  [[nodiscard]] std::vector<std::size_t> sorted();
  [[nodiscard]] std::vector<bool> needed();

  const FileGraph& graph_;
  const Outside& outside_;
  std::unordered_set<std::string> sources_;
  std::unordered_map<std::string, std::size_t> writer_;  // name -> node
  std::vector<std::vector<std::string>> reads_;          // by node
  std::vector<std::vector<std::size_t>> readers_;        // by node, with repetitions
  std::vector<std::size_t> waiting_for_;                 // by node: reads not yet written
};

Sorter::Sorter(const FileGraph& graph, const Outside& outside) : graph_(graph), outside_(outside) {
  define_sources();
  define_outputs();
  link();
}

void Sorter::define_sources() {
  for (const TensorRef& tensor : graph_.initializers) {
    if (!sources_.insert(tensor.name).second) {
      throw fail(ErrorCode::kInvalidFile, "initializer '{}' is given twice", tensor.name);
    }
  }
  std::unordered_set<std::string> inputs;
  for (const ValueInfo& input : graph_.inputs) {
    if (!inputs.insert(input.name).second) {
      throw fail(ErrorCode::kInvalidFile, "input '{}' is given twice", input.name);
    }
  }
  sources_.merge(inputs);
}

void Sorter::define_outputs() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const FileNode& node = graph_.nodes[i];
    for (const std::string& name : node.outputs) {
      if (name.empty()) continue;
      if (sources_.contains(name) || !writer_.emplace(name, i).second) {
        throw fail(ErrorCode::kInvalidFile, "node '{}' ({}) writes '{}', which is written already",
                   node.label(), node.type, name);
      }
    }
  }
}

void Sorter::link() {
  const std::size_t count = graph_.nodes.size();
  reads_.resize(count);
  readers_.resize(count);
  waiting_for_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const FileNode& node = graph_.nodes[i];
    add_reads(node, reads_[i]);
    for (const std::string& name : reads_[i]) {
      if (sources_.contains(name)) continue;
      if (const auto found = writer_.find(name); found != writer_.end()) {
        readers_[found->second].push_back(i);
        ++waiting_for_[i];
      } else if (!outside_(name)) {
        throw fail(ErrorCode::kInvalidFile, "node '{}' ({}) reads '{}', which nothing writes",
                   node.label(), node.type, name);
      }
    }
  }
}

std::vector<std::size_t> Sorter::sorted() {
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < waiting_for_.size(); ++i) {
    if (waiting_for_[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const std::size_t reader : readers_[node]) {
      if (--waiting_for_[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() == graph_.nodes.size()) return order;
  for (std::size_t i = 0;; ++i) {
    if (waiting_for_[i] == 0) continue;
    throw fail(ErrorCode::kInvalidFile, "node '{}' ({}) is on a cycle, or behind one",
               graph_.nodes[i].label(), graph_.nodes[i].type);
  }
}

std::vector<bool> Sorter::needed() {
  std::vector<bool> result(graph_.nodes.size(), false);
  std::vector<std::size_t> todo;
  const auto want = [&](const std::string& name) {
    const auto found = writer_.find(name);
    if (found == writer_.end() || result[found->second]) return;
    result[found->second] = true;
    todo.push_back(found->second);
  };
  for (const ValueInfo& output : graph_.outputs) {
    if (!sources_.contains(output.name) && !writer_.contains(output.name) &&
        !outside_(output.name)) {
      throw fail(ErrorCode::kInvalidFile, "nothing writes the graph's output '{}'", output.name);
    }
    want(output.name);
  }
  while (!todo.empty()) {
    const std::size_t node = todo.back();
    todo.pop_back();
    for (const std::string& name : reads_[node]) want(name);
  }
  return result;
}

NodeOrder Sorter::order() {
  NodeOrder result;
  const std::vector<bool> wanted = needed();
  for (const std::size_t node : sorted()) {
    if (!wanted[node]) continue;
    result.nodes.push_back(&graph_.nodes[node]);
    result.read.insert(reads_[node].begin(), reads_[node].end());
  }
  for (const ValueInfo& output : graph_.outputs) result.read.insert(output.name);
  return result;
}

}  // namespace

NodeOrder order_nodes(const FileGraph& graph, const Outside& outside) {
  return Sorter(graph, outside).order();
}

}  // namespace lowtide::onnx
