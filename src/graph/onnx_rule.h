// How an op is read from and written as ONNX. Strings end here: past this header attributes are
// typed structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/tensor_type.h"
#include "graph/ids.h"

namespace lowtide::graph {

class GraphBuilder;
struct ConstantTensor;

// One ONNX node while it is being read: its attributes, its inputs as values of the graph under
// construction, and the model's opset. Attribute getters throw Error(kInvalidFile) naming the node
// and attribute where the attribute has another kind.
class OnnxNode {
 public:
  OnnxNode() = default;
  virtual ~OnnxNode() = default;
  OnnxNode(const OnnxNode&) = delete;
  OnnxNode& operator=(const OnnxNode&) = delete;
  OnnxNode(OnnxNode&&) = delete;
  OnnxNode& operator=(OnnxNode&&) = delete;

  [[nodiscard]] virtual std::string_view type() const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual int opset() const = 0;  // of the node's domain

  [[nodiscard]] virtual bool has(std::string_view attribute) const = 0;
  [[nodiscard]] virtual std::int64_t integer(std::string_view attribute,
                                             std::int64_t fallback) const = 0;
  [[nodiscard]] virtual float real(std::string_view attribute, float fallback) const = 0;
  [[nodiscard]] virtual std::string string(std::string_view attribute,
                                           std::string_view fallback) const = 0;
  [[nodiscard]] virtual std::vector<std::int64_t> integers(std::string_view attribute) const = 0;
  [[nodiscard]] virtual std::vector<float> reals(std::string_view attribute) const = 0;
  // A tensor attribute; nothing where absent.
  [[nodiscard]] virtual std::optional<ConstantTensor> tensor(std::string_view attribute) const = 0;

  [[nodiscard]] virtual std::size_t input_count() const = 0;
  // The i-th input; invalid where omitted (an empty name or past the end).
  [[nodiscard]] virtual ValueId input(std::size_t i) const = 0;
  [[nodiscard]] virtual std::size_t output_count() const = 0;
  [[nodiscard]] virtual bool output_used(std::size_t i) const = 0;  // named and present
  // The i-th input, which must be there: throws Error(kInvalidFile).
  [[nodiscard]] virtual ValueId required_input(std::size_t i) const = 0;
  // The elements of a constant integer (or bool) input, for shapes, axes, pads. Nothing where the
  // input is omitted; throws Error(kUnsupported) where it is computed from data.
  [[nodiscard]] virtual std::optional<std::vector<std::int64_t>> constant_integers(
      std::size_t i) const = 0;
  // The elements of a constant float input as doubles; the same rules.
  [[nodiscard]] virtual std::optional<std::vector<double>> constant_reals(std::size_t i) const = 0;

  [[nodiscard]] virtual GraphBuilder& builder() = 0;
};

// Emits nodes for one ONNX node and returns its outputs, in order (missing trailing ones are fine
// where the ONNX node does not use them). Throws Error for what it cannot take.
using OnnxReadFn = std::vector<ValueId> (*)(OnnxNode&);

struct OnnxRule {
  std::string_view type;
  OnnxReadFn read = nullptr;
  std::string_view domain = {};
};

using OnnxAttribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>;

// A number of another type than int64.
struct OnnxScalar {
  core::DType dtype = core::DType::kFloat32;
  double value = 0;
};

// An input that ONNX wants and the graph keeps as an attribute: a number, a vector, or left out.
using OnnxConstant = std::variant<std::monostate,
                                  std::int64_t,
                                  std::vector<std::int64_t>,
                                  std::vector<float>,
                                  OnnxScalar>;

// A node as ONNX writes it (opset 20). `constant_inputs` are appended after the node's own inputs,
// such as Reshape's target.
struct OnnxForm {
  std::string type;
  std::vector<std::pair<std::string, OnnxAttribute>> attributes = {};
  std::vector<OnnxConstant> constant_inputs = {};
};

}  // namespace lowtide::graph
