// GraphBuilder: appends nodes to a graph; GradientContext: what a gradient rule sees.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace lowtide::graph {

// Appends values and nodes to one graph. Infers output types, names outputs, and marks new nodes
// with the current phase and scope. Equal conversions of one value are emitted once.
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph, Phase phase = Phase::kForward)
      : graph_(graph), phase_(phase) {}

  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] const TensorType& type(ValueId id) const { return graph_.type(id); }
  [[nodiscard]] Phase phase() const { return phase_; }
  void set_phase(Phase phase) { phase_ = phase; }
  // The name of the next nodes: an ONNX node's own name, or what a gradient belongs to.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  [[nodiscard]] const std::string& scope() const { return scope_; }

  // Appends a node; throws Error(kInvalidArgument), with the node's name before the op's message,
  // where the op refuses the types.
  std::vector<ValueId> add(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs);
  // The same for ops with one output.
  ValueId add_one(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs);

  ValueId input(std::string name, TensorType type, Role role = Role::kInput);
  ValueId constant(ConstantTensor tensor, std::string name = "");
  template <class T>
  ValueId constant(core::Shape shape, const std::vector<T>& elements, std::string name = "");
  // A persistent value of the given role, content to be set by the caller (default: zeros).
  ValueId state(std::string name, TensorType type, Role role, Content content = {});
  // Marks `next` as the new version of the state value `old`.
  void replace_state(ValueId old, ValueId next);

  // Nodes that only depend on constants are evaluated at once, up to this many bytes of output
  // for each node (0, the default: never). Folded values become constants.
  void fold_up_to(Bytes limit) { fold_limit_ = limit; }
  // The elements of a constant value held in memory or in a file (small ones); nothing if it is
  // computed. Throws Error(kIo) where its file cannot be read.
  [[nodiscard]] std::optional<ConstantTensor> constant_value(ValueId id) const;
  // Whether a node of the backward phase built here reads the value: it then stays in memory
  // anyway.
  [[nodiscard]] bool read_by_backward(ValueId id) const { return read_by_backward_.contains(id); }

 private:
  bool folds(const std::vector<ValueId>& inputs,
             const std::vector<TensorType>& out,
             const OpDef& op) const;
  std::string fresh_name(std::string_view op);

  Graph& graph_;
  Phase phase_;
  std::string scope_;
  Bytes fold_limit_;
  std::map<std::string, int> name_counts_;
  std::set<ValueId> read_by_backward_;
};

template <class T>
ValueId GraphBuilder::constant(core::Shape shape,
                               const std::vector<T>& elements,
                               std::string name) {
  ConstantTensor tensor;
  tensor.type = {core::dtype_of<T>(), std::move(shape), core::Layout::kPlain};
  LT_CHECK(static_cast<std::size_t>(tensor.type.shape.elements()) == elements.size(),
           "a constant's elements must fill its shape");
  const auto* first = reinterpret_cast<const std::byte*>(elements.data());
  tensor.bytes =
      std::make_shared<const std::vector<std::byte>>(first, first + elements.size() * sizeof(T));
  return constant(std::move(tensor), std::move(name));
}

// What a gradient rule works with: the forward node's values, the gradients of its outputs, and a
// builder to emit the answer with. Rules build with the ops' own functions.
class GradientContext {
 public:
  GradientContext(GraphBuilder& builder,
                  const Node& node,
                  std::vector<ValueId> output_gradients,
                  std::vector<bool> needed)
      : builder_(builder),
        inputs_(node.inputs),
        outputs_(node.outputs),
        output_gradients_(std::move(output_gradients)),
        needed_(std::move(needed)) {}

  [[nodiscard]] GraphBuilder& builder() { return builder_; }
  [[nodiscard]] ValueId in(std::size_t i) const { return inputs_.at(i); }
  [[nodiscard]] ValueId out(std::size_t i) const { return outputs_.at(i); }
  [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }
  // The gradient of output i; invalid where nothing depends on that output.
  [[nodiscard]] ValueId out_gradient(std::size_t i) const { return output_gradients_.at(i); }
  // Whether the gradient of input i is wanted; a rule need not compute the others.
  [[nodiscard]] bool needs(std::size_t i) const { return needed_.at(i); }
  [[nodiscard]] const TensorType& type(ValueId id) const { return builder_.type(id); }

  // Whether the value is kept for backward anyway. Where it is not, a rule may save something
  // smaller instead (a bit mask, an index): see in_forward.
  [[nodiscard]] bool kept_for_backward(ValueId id) const { return builder_.read_by_backward(id); }
  // Calls f(builder) so that the nodes it adds belong to the forward pass; differentiate() moves
  // them to where their inputs are produced.
  template <class F>
  ValueId in_forward(F&& f) {
    builder_.set_phase(Phase::kForward);
    const ValueId result = f(builder_);
    builder_.set_phase(Phase::kBackward);
    return result;
  }

 private:
  GraphBuilder& builder_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<ValueId> output_gradients_;
  std::vector<bool> needed_;
};

}  // namespace lowtide::graph
