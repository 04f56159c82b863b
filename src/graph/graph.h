// Graph: values and nodes in SSA form. Owns both; outside they are 4-byte ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/tensor_type.h"
#include "graph/attrs.h"
#include "graph/ids.h"
#include "graph/op_def.h"

namespace lowtide::graph {

// What a value is for. Decides who fills it and how long it lives.
enum class Role : std::uint8_t {
  kActivation,  // computed by the forward pass
  kGradient,    // computed by the backward pass
  kInput,       // a batch of data, written before each run
  kScalar,      // a tiny per-step input: learning rate, loss normaliser
  kConstant,    // never changes
  kParameter,   // trained: state
  kStatistic,   // running mean or variance: state
  kOptimizer,   // moments, gradient accumulators: state
};

// State lives across steps at a fixed place; its new version overwrites the old one.
constexpr bool is_state(Role role) {
  return role == Role::kParameter || role == Role::kStatistic || role == Role::kOptimizer;
}

// Values that exist before the first node runs and keep their bytes throughout a step.
constexpr bool is_persistent(Role role) { return is_state(role) || role == Role::kConstant; }

enum class Phase : std::uint8_t { kForward, kLoss, kBackward, kUpdate };

// A small tensor held in memory.
struct ConstantTensor {
  TensorType type;
  std::shared_ptr<const std::vector<std::byte>> bytes;

  template <class T>
  [[nodiscard]] const T* data() const {
    return reinterpret_cast<const T*>(bytes->data());
  }
};

// Where the first bytes of a persistent value come from: a stretch of a file (read once, straight
// into the arena), a small tensor held here, a recipe for random floats, or zeros where all are
// absent.
struct Content {
  std::string file;         // path to open; empty: not in a file
  std::int64_t offset = 0;  // of the first byte, elements as the value's type has them
  std::optional<ConstantTensor> tensor;
  std::optional<core::Draw> draw;
};

struct Value {
  std::string name;  // ONNX name, or a derived one; unique for inputs and state
  TensorType type;
  Role role = Role::kActivation;
  NodeId producer;           // invalid for inputs and persistent values
  ValueId previous_version;  // for the output of an update node: the state value it replaces
  Content content;           // persistent values only
};

struct Node {
  std::string name;
  const OpDef* op = nullptr;  // static storage
  Attrs attrs;
  std::vector<ValueId> inputs;  // all valid: ops with optional inputs say so in their attributes
  std::vector<ValueId> outputs;
  Phase phase = Phase::kForward;
  // Valid for an alternative: of the node it names and its alternatives one runs, whichever suits.
  // All compute the same outputs to the same bits, of different inputs or in different scratch; the
  // values' producer is the node that is none. Only nodes behind the loss have alternatives.
  NodeId alternative_to;
};

// A value type: cheap to copy for small networks, references to values stay valid while
// values are appended, references to nodes do not. Nodes
// stand in an order in which every input is produced before it is read.
class Graph {
 public:
  [[nodiscard]] const Value& value(ValueId id) const { return values_[id]; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[id]; }
  [[nodiscard]] Value& value(ValueId id) { return values_[id]; }
  [[nodiscard]] Node& node(NodeId id) { return nodes_[id]; }
  [[nodiscard]] const TensorType& type(ValueId id) const { return values_[id].type; }
  [[nodiscard]] std::size_t value_count() const { return values_.size(); }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }

  // The node itself, or the one that it is an alternative to.
  [[nodiscard]] NodeId original(NodeId id) const {
    const NodeId other = nodes_[id].alternative_to;
    return other.valid() ? other : id;
  }

  ValueId add_value(Value value) { return values_.push_back(std::move(value)); }
  NodeId add_node(Node node) { return nodes_.push_back(std::move(node)); }

  [[nodiscard]] std::vector<ValueId>& inputs() { return inputs_; }
  [[nodiscard]] const std::vector<ValueId>& inputs() const { return inputs_; }
  // What must be readable after the last node has run. State versions need not be listed.
  [[nodiscard]] std::vector<ValueId>& outputs() { return outputs_; }
  [[nodiscard]] const std::vector<ValueId>& outputs() const { return outputs_; }

  // The value of that name, if there is one (linear search; for set-up code).
  [[nodiscard]] std::optional<ValueId> find(std::string_view name) const;
  // Types of a node's inputs and outputs.
  [[nodiscard]] std::vector<TensorType> types(const std::vector<ValueId>& ids) const;

  // Keeps only these nodes, in this order; values stay (ids do not change).
  void keep_nodes(const std::vector<NodeId>& order);

 private:
  // Rules hold references to types while they add nodes, so values never move.
  core::IdVector<ValueId, Value, std::deque<Value>> values_;
  core::IdVector<NodeId, Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
};

// For each value the nodes that read it, in node order, alternatives included.
core::IdVector<ValueId, std::vector<NodeId>> readers(const Graph& graph);

// What is wrong with a graph: reads before writes, two producers, types that the op would not
// infer, state replaced twice. Empty when it is sound.
std::vector<std::string> verify(const Graph& graph);

// One line per node: "%out: type = Op(%in, ...)  # name". Stable, for golden tests.
std::string dump(const Graph& graph);

}  // namespace lowtide::graph
