// FiniteGuard: stops a step as soon as its loss or the norm of its gradients is no finite number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "run/watch.h"
#include "train/fit/configuration.h"

namespace lowtide::train {

// Watches one unit's program. Costs a comparison a node.
class FiniteGuard final : public run::Watch {
 public:
  explicit FiniteGuard(const Unit& unit) : pass_(&unit.pass) {}

  bool after(graph::NodeId node, std::span<std::byte* const> out) override;

  // Whether a parameter had got its new value before the program ended or was stopped.
  [[nodiscard]] bool updated() const { return updated_; }
  // What stopped the program, where it was stopped.
  [[nodiscard]] const std::optional<double>& loss() const { return loss_; }
  [[nodiscard]] const std::optional<double>& grad_norm() const { return grad_norm_; }

 private:
  const PassGraph* pass_;
  bool updated_ = false;
  std::optional<double> loss_;
  std::optional<double> grad_norm_;
};

}  // namespace lowtide::train
