#include "train/small_checkpoint.h"

#include <algorithm>
#include <stdexcept>

namespace lowtide::train {

void write_small_checkpoint(const std::string& path,
                            float value,
                            std::int64_t step,
                            const KeepRule& rule) {
  const auto constant = [value](std::int64_t /*from*/, std::span<std::byte> into) {
    auto* const first = reinterpret_cast<float*>(into.data());
    std::fill(first, first + into.size() / sizeof(float), value);
  };
  const std::vector<CheckpointTensor> tensors = {
      {"weight", {core::DType::kFloat32, core::Shape{3, 5}}, constant},
      {"bias", {core::DType::kFloat32, core::Shape{5}}, constant}};
  write_checkpoint(path, {{kStepKey, std::to_string(step)}, {"seed", "7"}}, tensors, rule);
}

std::vector<float> read_small_checkpoint(const CheckpointFile& file, const std::string& name) {
  for (const SafeTensor& tensor : file.tensors()) {
    if (tensor.name != name) continue;
    std::vector<float> result(static_cast<std::size_t>(tensor.type.shape.elements()));
    file.read(tensor, 0, std::as_writable_bytes(std::span(result)));
    return result;
  }
  throw std::runtime_error("no tensor " + name);
}

}  // namespace lowtide::train
