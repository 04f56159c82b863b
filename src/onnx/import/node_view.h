// NodeView: a node of the file as the ops' reading rules see it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "graph/onnx_rule.h"
#include "onnx/model_file.h"

namespace lowtide::onnx {

class NodeView final : public graph::OnnxNode {
 public:
  // `inputs` and `used` run along the node's inputs and outputs. Borrows node and builder.
  NodeView(const FileNode& node,
           int opset,
           std::vector<graph::ValueId> inputs,
           std::vector<bool> used,
           graph::GraphBuilder& builder)
      : node_(node),
        opset_(opset),
        inputs_(std::move(inputs)),
        used_(std::move(used)),
        builder_(builder) {}

  [[nodiscard]] std::string_view type() const override { return node_.type; }
  [[nodiscard]] std::string_view name() const override { return node_.label(); }
  [[nodiscard]] int opset() const override { return opset_; }

  [[nodiscard]] bool has(std::string_view attribute) const override;
  [[nodiscard]] std::int64_t integer(std::string_view attribute,
                                     std::int64_t fallback) const override;
  [[nodiscard]] float real(std::string_view attribute, float fallback) const override;
  [[nodiscard]] std::string string(std::string_view attribute,
                                   std::string_view fallback) const override;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view attribute) const override;
  [[nodiscard]] std::vector<float> reals(std::string_view attribute) const override;
  [[nodiscard]] std::optional<graph::ConstantTensor> tensor(
      std::string_view attribute) const override;

  [[nodiscard]] std::size_t input_count() const override { return inputs_.size(); }
  [[nodiscard]] graph::ValueId input(std::size_t i) const override;
  [[nodiscard]] std::size_t output_count() const override { return used_.size(); }
  [[nodiscard]] bool output_used(std::size_t i) const override;
  [[nodiscard]] graph::ValueId required_input(std::size_t i) const override;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> constant_integers(
      std::size_t i) const override;
  [[nodiscard]] std::optional<std::vector<double>> constant_reals(std::size_t i) const override;

  [[nodiscard]] graph::GraphBuilder& builder() override { return builder_; }

 private:
  template <class T>
  [[nodiscard]] const T* value(std::string_view attribute) const;
  [[nodiscard]] std::optional<graph::ConstantTensor> constant(std::size_t i) const;

  const FileNode& node_;
  int opset_;
  std::vector<graph::ValueId> inputs_;
  std::vector<bool> used_;
  graph::GraphBuilder& builder_;
};

}  // namespace lowtide::onnx
