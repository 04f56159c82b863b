// An ONNX node given by hand, for tests of an op's ONNX rule.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "graph/builder.h"
#include "graph/onnx_rule.h"

namespace lowtide::support {

// What the node holds. Attribute getters throw where an attribute has another kind, as the ONNX
// reader's do; tensor attributes are left out.
struct NodeContent {
  std::string type;
  int opset = 17;
  std::vector<graph::ValueId> inputs;
  std::map<std::string, graph::OnnxAttribute, std::less<>> attributes = {};
  std::size_t outputs = 1;
};

class GivenNode final : public graph::OnnxNode {
 public:
  GivenNode(graph::GraphBuilder& builder, NodeContent content)
      : builder_(builder), content_(std::move(content)) {}

  [[nodiscard]] std::string_view type() const override { return content_.type; }
  [[nodiscard]] std::string_view name() const override { return "given"; }
  [[nodiscard]] int opset() const override { return content_.opset; }

  [[nodiscard]] bool has(std::string_view attribute) const override {
    return content_.attributes.contains(attribute);
  }
  [[nodiscard]] std::int64_t integer(std::string_view attribute,
                                     std::int64_t fallback) const override {
    return attribute_or(attribute, fallback);
  }
  [[nodiscard]] float real(std::string_view attribute, float fallback) const override {
    return attribute_or(attribute, fallback);
  }
  [[nodiscard]] std::string string(std::string_view attribute,
                                   std::string_view fallback) const override {
    return attribute_or(attribute, std::string(fallback));
  }
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view attribute) const override {
    return attribute_or(attribute, std::vector<std::int64_t>());
  }
  [[nodiscard]] std::vector<float> reals(std::string_view attribute) const override {
    return attribute_or(attribute, std::vector<float>());
  }
  [[nodiscard]] std::optional<graph::ConstantTensor> tensor(std::string_view) const override {
    return std::nullopt;
  }

  [[nodiscard]] std::size_t input_count() const override { return content_.inputs.size(); }
  [[nodiscard]] graph::ValueId input(std::size_t i) const override {
    return i < content_.inputs.size() ? content_.inputs[i] : graph::ValueId();
  }
  [[nodiscard]] std::size_t output_count() const override { return content_.outputs; }
  [[nodiscard]] bool output_used(std::size_t i) const override { return i < content_.outputs; }
  [[nodiscard]] graph::ValueId required_input(std::size_t i) const override {
    if (!input(i).valid()) throw core::fail(ErrorCode::kInvalidFile, "input {} is missing", i);
    return input(i);
  }
  [[nodiscard]] std::optional<std::vector<std::int64_t>> constant_integers(
      std::size_t i) const override {
    return elements<std::int64_t, std::int64_t>(i);
  }
  [[nodiscard]] std::optional<std::vector<double>> constant_reals(std::size_t i) const override {
    return elements<float, double>(i);
  }

  [[nodiscard]] graph::GraphBuilder& builder() override { return builder_; }

 private:
  template <class T>
  [[nodiscard]] T attribute_or(std::string_view name, T fallback) const {
    const auto found = content_.attributes.find(name);
    if (found == content_.attributes.end()) return fallback;
    const T* const value = std::get_if<T>(&found->second);
    if (value == nullptr) {
      throw core::fail(ErrorCode::kInvalidFile, "attribute '{}' has another kind", name);
    }
    return *value;
  }

  template <class From, class To>
  [[nodiscard]] std::optional<std::vector<To>> elements(std::size_t i) const {
    if (!input(i).valid()) return std::nullopt;
    const auto tensor = builder_.constant_value(input(i));
    if (!tensor) throw core::fail(ErrorCode::kUnsupported, "input {} is computed", i);
    const From* const first = tensor->template data<From>();
    return std::vector<To>(first, first + tensor->type.shape.elements());
  }

  graph::GraphBuilder& builder_;
  NodeContent content_;
};

}  // namespace lowtide::support
