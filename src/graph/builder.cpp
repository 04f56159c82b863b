#include "graph/builder.h"

#include <algorithm>
#include <cstring>

#include "core/text.h"
#include "graph/evaluate.h"

namespace lowtide::graph {

using core::fail;
using core::text;

namespace {

// Constants that folding may read: everything but float tensors from the model file, which may yet
// turn out to be parameters.
bool foldable(const Value& value) {
  if (value.role != Role::kConstant) return false;
  if (!core::is_float(value.type.dtype)) return true;
  return value.content.tensor.has_value() && value.content.file.empty();
}

// What loops over a tensor pass: over one without elements, its other dimensions.
Bytes passed_bytes(const TensorType& type) {
  if (type.shape.elements() != 0) return type.bytes();
  Bytes bytes = core::element_bytes(type.dtype);
  for (const std::int64_t dim : type.shape.dims()) bytes = std::max<std::int64_t>(dim, 1) * bytes;
  return bytes;
}

}  // namespace

std::string GraphBuilder::fresh_name(std::string_view op) {
  // ONNX names often end in the op already, and a rewritten node keeps its name.
  const bool says_op = scope_ == op || scope_.ends_with(text("/{}", op));
  const std::string stem = scope_.empty() ? std::string(op)
                           : says_op      ? scope_
                                          : text("{}/{}", scope_, op);
  const int count = name_counts_[stem]++;
  return count == 0 ? stem : text("{}.{}", stem, count);
}

bool GraphBuilder::folds(const std::vector<ValueId>& inputs,
                         const std::vector<TensorType>& out,
                         const OpDef& op) const {
  if (fold_limit_ == Bytes() || op.repeat() != Repeat::kExact) return false;
  Bytes left = fold_limit_;
  for (const TensorType& type : out) {
    if (passed_bytes(type) > left) return false;
    left -= passed_bytes(type);
  }
  return std::all_of(inputs.begin(), inputs.end(), [&](ValueId id) {
    const Value& value = graph_.value(id);
    const bool endless = value.type.bytes() == Bytes() && passed_bytes(value.type) > fold_limit_;
    return foldable(value) && !endless;
  });
}

std::vector<ValueId> GraphBuilder::add(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs) {
  for (const ValueId input : inputs) LT_CHECK(input.valid(), "a node's inputs must exist");
  const std::string name = fresh_name(op.name());
  std::vector<TensorType> out;
  try {
    out = op.infer(attrs, graph_.types(inputs));
  } catch (const Error& error) {
    throw error.within(text("node '{}' ({})", scope_.empty() ? name : scope_, op.name()));
  }
  std::vector<ValueId> outputs;
  if (folds(inputs, out, op)) {
    std::vector<ConstantTensor> values;
    for (const ValueId input : inputs) values.push_back(*constant_value(input));
    for (ConstantTensor& folded : evaluate(op, attrs, values, out)) {
      outputs.push_back(constant(std::move(folded), name));
    }
    return outputs;
  }
  if (phase_ == Phase::kBackward) read_by_backward_.insert(inputs.begin(), inputs.end());
  const NodeId id(graph_.node_count());
  const Role role =
      phase_ == Phase::kForward || phase_ == Phase::kLoss ? Role::kActivation : Role::kGradient;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Value value;
    value.name = i == 0 ? name : text("{}:{}", name, i);
    value.type = std::move(out[i]);
    value.role = role;
    value.producer = id;
    outputs.push_back(graph_.add_value(std::move(value)));
  }
  graph_.add_node({name, &op, std::move(attrs), std::move(inputs), outputs, phase_});
  return outputs;
}

ValueId GraphBuilder::add_one(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs) {
  const std::vector<ValueId> outputs = add(op, std::move(attrs), std::move(inputs));
  LT_CHECK(outputs.size() == 1, "an op with one output is needed here");
  return outputs.front();
}

ValueId GraphBuilder::input(std::string name, TensorType type, Role role) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.role = role;
  const ValueId id = graph_.add_value(std::move(value));
  graph_.inputs().push_back(id);
  return id;
}

ValueId GraphBuilder::constant(ConstantTensor tensor, std::string name) {
  Value value;
  value.name = name.empty() ? fresh_name("constant") : std::move(name);
  value.type = tensor.type;
  value.role = Role::kConstant;
  value.content.tensor = std::move(tensor);
  return graph_.add_value(std::move(value));
}

ValueId GraphBuilder::state(std::string name, TensorType type, Role role, Content content) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.role = role;
  value.content = std::move(content);
  return graph_.add_value(std::move(value));
}

void GraphBuilder::replace_state(ValueId old, ValueId next) {
  graph_.value(next).previous_version = old;
  graph_.value(next).role = graph_.value(old).role;
}

std::optional<ConstantTensor> GraphBuilder::constant_value(ValueId id) const {
  const Value& value = graph_.value(id);
  if (value.role != Role::kConstant) return std::nullopt;
  return load_content(value);
}

}  // namespace lowtide::graph
