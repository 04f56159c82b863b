#include "onnx/import/node_view.h"

#include <limits>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/text.h"
#include "graph/evaluate.h"

namespace lowtide::onnx {

using core::fail;
using graph::ConstantTensor;
using graph::ValueId;

namespace {

// Shapes, axes and tables that rules ask for are small; weights are never asked for.
constexpr Bytes kLargestConstant(16 * 1024 * 1024);

template <class To>
std::vector<To> elements(const ConstantTensor& tensor) {
  return core::visit(tensor.type.dtype, [&](auto tag) {
    using From = typename decltype(tag)::type;
    const From* data = tensor.data<From>();
    std::vector<To> result;
    result.reserve(static_cast<std::size_t>(tensor.type.shape.elements()));
    for (std::int64_t i = 0; i < tensor.type.shape.elements(); ++i) {
      result.push_back(static_cast<To>(data[i]));
    }
    return result;
  });
}

// What some nodes make of constants alone. Folding leaves float tensors of the file as they are,
// for they could be weights; exporters join scales and sizes from such, too.
std::optional<ConstantTensor> computed(const graph::GraphBuilder& builder,
                                       const graph::Graph& graph,
                                       ValueId wanted) {
  constexpr std::size_t kMostNodes = 64;
  std::set<graph::NodeId> nodes;
  std::map<ValueId, ConstantTensor> known;
  std::vector<ValueId> open = {wanted};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    const graph::NodeId producer = graph.value(id).producer;
    if (graph.type(id).bytes() > kLargestConstant || nodes.size() > kMostNodes) return std::nullopt;
    if (!producer.valid()) {
      const auto constant = builder.constant_value(id);
      if (!constant) return std::nullopt;
      known.emplace(id, *constant);
    } else if (nodes.insert(producer).second) {
      const std::vector<ValueId>& inputs = graph.node(producer).inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
  }
  for (const graph::NodeId id : nodes) {
    const graph::Node& node = graph.node(id);
    std::vector<ConstantTensor> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(known.at(input));
    std::vector<ConstantTensor> outputs =
        graph::evaluate(*node.op, node.attrs, inputs, graph.types(node.outputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      known.insert_or_assign(node.outputs[i], std::move(outputs[i]));
    }
  }
  return known.at(wanted);
}

}  // namespace

// The attribute's value as a T; null where the attribute is absent.
template <class T>
const T* NodeView::value(std::string_view attribute) const {
  const Attribute* const found = node_.attribute(attribute);
  if (found == nullptr) return nullptr;
  const T* const result = std::get_if<T>(&found->value);
  if (result == nullptr) {
    throw fail(ErrorCode::kInvalidFile, "node '{}' ({}): attribute '{}' has the wrong type",
               node_.label(), node_.type, attribute);
  }
  return result;
}

bool NodeView::has(std::string_view attribute) const {
  return node_.attribute(attribute) != nullptr;
}

std::int64_t NodeView::integer(std::string_view attribute, std::int64_t fallback) const {
  const auto* found = value<std::int64_t>(attribute);
  return found == nullptr ? fallback : *found;
}

float NodeView::real(std::string_view attribute, float fallback) const {
  const auto* found = value<float>(attribute);
  return found == nullptr ? fallback : *found;
}

std::string NodeView::string(std::string_view attribute, std::string_view fallback) const {
  const auto* found = value<std::string>(attribute);
  return found == nullptr ? std::string(fallback) : *found;
}

std::vector<std::int64_t> NodeView::integers(std::string_view attribute) const {
  const auto* found = value<std::vector<std::int64_t>>(attribute);
  return found == nullptr ? std::vector<std::int64_t>() : *found;
}

std::vector<float> NodeView::reals(std::string_view attribute) const {
  const auto* found = value<std::vector<float>>(attribute);
  return found == nullptr ? std::vector<float>() : *found;
}

std::optional<ConstantTensor> NodeView::tensor(std::string_view attribute) const {
  const auto* found = value<TensorRef>(attribute);
  if (found == nullptr) return std::nullopt;
  return ConstantTensor{found->type, load(*found)};
}

ValueId NodeView::input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : ValueId(); }

bool NodeView::output_used(std::size_t i) const { return i < used_.size() && used_[i]; }

ValueId NodeView::required_input(std::size_t i) const {
  const ValueId id = input(i);
  if (!id.valid()) {
    throw fail(ErrorCode::kInvalidFile, "node '{}' ({}): input {} is missing", node_.label(),
               node_.type, i);
  }
  return id;
}

std::optional<ConstantTensor> NodeView::constant(std::size_t i) const {
  const ValueId id = input(i);
  if (!id.valid()) return std::nullopt;
  const std::optional<ConstantTensor> found = computed(builder_, builder_.graph(), id);
  if (!found) {
    throw fail(ErrorCode::kUnsupported,
               "node '{}' ({}): input {} ('{}') must be constant, but it is computed from data",
               node_.label(), node_.type, i, node_.inputs[i]);
  }
  return found;
}

std::optional<std::vector<std::int64_t>> NodeView::constant_integers(std::size_t i) const {
  const auto found = constant(i);
  if (!found) return std::nullopt;
  const core::DType dtype = found->type.dtype;
  if (!core::is_integer(dtype) && dtype != core::DType::kBool) {
    throw fail(ErrorCode::kInvalidFile, "node '{}' ({}): input {} must hold integers, not {}",
               node_.label(), node_.type, i, core::name(dtype));
  }
  return elements<std::int64_t>(*found);
}

std::optional<std::vector<double>> NodeView::constant_reals(std::size_t i) const {
  const auto found = constant(i);
  if (!found) return std::nullopt;
  return elements<double>(*found);
}

}  // namespace lowtide::onnx
