#include "train/numbers/finite_guard.h"

#include <cmath>
#include <cstring>

namespace lowtide::train {
namespace {

template <class T>
double scalar_at(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

bool FiniteGuard::after(graph::NodeId id, std::span<std::byte* const> out) {
  const graph::Node& node = pass_->graph.node(id);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const graph::ValueId value = node.outputs[i];
    if (value == pass_->loss) {
      const double loss = scalar_at<double>(out[i]);
      if (!std::isfinite(loss)) loss_ = loss;
    } else if (value == pass_->grad_norm) {
      const double norm = scalar_at<float>(out[i]);
      if (!std::isfinite(norm)) grad_norm_ = norm;
    } else if (const graph::ValueId before = pass_->graph.value(value).previous_version;
               before.valid()) {
      updated_ = updated_ || pass_->graph.value(before).role == graph::Role::kParameter;
    }
  }
  return !loss_ && !grad_norm_;
}

}  // namespace lowtide::train
