#include "graph/evaluate.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/text.h"

namespace lowtide::graph {
namespace {

// Heap memory for one tensor, aligned like the arena.
class Buffer {
 public:
  explicit Buffer(Bytes size) : storage_(static_cast<std::size_t>(size.count()) + kAlignment) {}

  [[nodiscard]] std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    return storage_.data() + (kAlignment - address % kAlignment) % kAlignment;
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::vector<std::byte> storage_;
};

ConstantTensor to_tensor(const TensorType& type, const std::byte* data) {
  return {type, std::make_shared<const std::vector<std::byte>>(data, data + type.bytes().count())};
}

std::vector<ConstantTensor> run_once(const BoundKernel& kernel,
                                     const std::vector<ConstantTensor>& inputs,
                                     const std::vector<TensorType>& out_types,
                                     const StepContext& step) {
  std::vector<Buffer> buffers;
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  buffers.reserve(inputs.size() + out_types.size() + 1);
  for (const ConstantTensor& input : inputs) {
    buffers.emplace_back(input.type.bytes());
    std::copy(input.bytes->begin(), input.bytes->end(), buffers.back().data());
    in.push_back(buffers.back().data());
  }
  for (const TensorType& type : out_types) {
    buffers.emplace_back(type.bytes());
    out.push_back(buffers.back().data());
  }
  buffers.emplace_back(kernel.scratch());
  const std::span<std::byte> scratch(buffers.back().data(),
                                     static_cast<std::size_t>(kernel.scratch().count()));
  kernel.run({in, out, scratch, &step});
  std::vector<ConstantTensor> results;
  for (std::size_t i = 0; i < out.size(); ++i) results.push_back(to_tensor(out_types[i], out[i]));
  return results;
}

}  // namespace

std::vector<ConstantTensor> evaluate(const OpDef& op,
                                     const Attrs& attrs,
                                     const std::vector<ConstantTensor>& inputs,
                                     const std::vector<TensorType>& out_types) {
  std::vector<TensorType> in_types;
  for (const ConstantTensor& input : inputs) in_types.push_back(input.type);
  const auto kernel =
      op.bind(attrs, {in_types, out_types}, {.threads = 1, .isa = core::Isa::kReference});
  return run_once(*kernel, inputs, out_types, {});
}

std::map<ValueId, ConstantTensor> interpret(const Graph& graph,
                                            std::map<ValueId, ConstantTensor> given,
                                            const core::Machine& machine,
                                            const StepContext& step) {
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId(i));
    if (!value.producer.valid() && is_persistent(value.role) && !given.contains(ValueId(i))) {
      given.emplace(ValueId(i), load_content(value));
    }
  }
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    const std::vector<TensorType> in = graph.types(node.inputs);
    const std::vector<TensorType> out = graph.types(node.outputs);
    std::vector<ConstantTensor> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(given.at(input));
    const auto kernel = node.op->bind(node.attrs, {in, out}, machine);
    std::vector<ConstantTensor> results = run_once(*kernel, inputs, out, step);
    for (std::size_t k = 0; k < results.size(); ++k) {
      given.insert_or_assign(node.outputs[k], std::move(results[k]));
    }
  }
  return given;
}

ConstantTensor load_content(const Value& value) {
  if (value.content.tensor) return *value.content.tensor;
  std::vector<std::byte> bytes(static_cast<std::size_t>(value.type.bytes().count()));
  if (!value.content.file.empty()) {
    std::ifstream file(value.content.file, std::ios::binary);
    file.seekg(value.content.offset);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) {
      throw core::fail(ErrorCode::kIo, "{}: cannot read {} of tensor '{}' at offset {}",
                       value.content.file, value.type.bytes().str(), value.name,
                       value.content.offset);
    }
  }
  if (value.content.draw) core::draw_bytes(*value.content.draw, 0, bytes);
  return {value.type, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

}  // namespace lowtide::graph
