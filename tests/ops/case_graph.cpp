#include "ops/case_graph.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "autodiff/differentiate.h"
#include "core/random.h"

namespace lowtide::ops {
namespace {

using graph::ConstantTensor;
using graph::GraphBuilder;
using graph::ValueId;

template <class T>
ConstantTensor pack(const core::TensorType& type, const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T element = static_cast<T>(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return {type, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

ConstantTensor tensor_of(const core::TensorType& type, const std::vector<double>& numbers) {
  return core::visit(type.dtype,
                     [&](auto tag) { return pack<typename decltype(tag)::type>(type, numbers); });
}

std::vector<double> draw(const CaseInput& input, core::RandomStream& random) {
  const auto count = static_cast<std::size_t>(input.shape.elements());
  std::vector<double> numbers(count);
  if (input.apart > 0) {
    // A shuffled ladder with rungs `apart` from each other that misses 0 by half a rung.
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] =
          (static_cast<double>(i) - std::floor(static_cast<double>(count) / 2) + 0.5) * input.apart;
    }
    for (std::size_t i = count; i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
    return numbers;
  }
  for (double& number : numbers) {
    number = input.low + (input.high - input.low) * random.uniform();
    if (!core::is_float(input.dtype)) {
      number = std::min(std::floor(input.low + (input.high - input.low + 1) * random.uniform()),
                        input.high);
    }
  }
  return numbers;
}

}  // namespace

CaseGraph build_case(const OpCase& op_case, core::DType float_type) {
  CaseGraph built;
  GraphBuilder builder(built.graph);
  std::vector<ValueId> wrt;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const CaseInput& input = op_case.inputs[i];
    const core::DType dtype = core::is_float(input.dtype) ? float_type : input.dtype;
    built.inputs.push_back(
        builder.input("x" + std::to_string(i), {dtype, input.shape, core::Layout::kPlain}));
    if (input.differentiable && core::is_float(dtype)) wrt.push_back(built.inputs.back());
  }
  built.outputs = op_case.build(builder, built.inputs);
  std::vector<autodiff::Seed> seeds;
  for (std::size_t i = 0; i < built.outputs.size(); ++i) {
    const core::TensorType type = builder.type(built.outputs[i]);
    const bool is_loss = op_case.loss && i == 0;
    const bool seeded = core::is_float(type.dtype) && !op_case.loss;
    built.seeds.push_back(seeded ? builder.input("seed" + std::to_string(i), type) : ValueId());
    if (seeded || is_loss) seeds.push_back({built.outputs[i], built.seeds.back()});
  }
  const std::vector<ValueId> found = autodiff::differentiate(builder, seeds, wrt);
  built.gradients.resize(built.inputs.size());
  for (std::size_t i = 0, k = 0; i < built.inputs.size(); ++i) {
    if (k < wrt.size() && built.inputs[i] == wrt[k]) built.gradients[i] = found[k++];
  }
  built.graph.outputs() = built.outputs;
  for (const ValueId id : built.gradients) {
    if (id.valid()) built.graph.outputs().push_back(id);
  }
  return built;
}

std::map<ValueId, ConstantTensor> draw_inputs(const OpCase& op_case, const CaseGraph& built) {
  std::map<ValueId, ConstantTensor> given;
  core::RandomStream random(0x10771DE, std::hash<std::string>{}(op_case.name));
  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    given.emplace(built.inputs[i],
                  tensor_of(built.graph.type(built.inputs[i]), draw(op_case.inputs[i], random)));
  }
  for (const ValueId seed : built.seeds) {
    if (!seed.valid()) continue;
    const core::TensorType type = built.graph.type(seed);
    given.emplace(seed, tensor_of(type, draw({.shape = type.shape}, random)));
  }
  return given;
}

std::string case_test_name(const OpCase& op_case) {
  std::string name = op_case.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace lowtide::ops
