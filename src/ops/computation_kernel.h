// A kernel that oneDNN computes, as ops bind it.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "graph/kernel.h"
#include "kernels/dnnl/computation.h"

namespace lowtide::ops {

class ComputationKernel final : public graph::BoundKernel {
 public:
  ComputationKernel(std::string_view name, std::unique_ptr<kernels::Computation> computation)
      : name_(name), computation_(std::move(computation)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Bytes scratch() const override { return computation_->scratch(); }

  void run(const graph::Run& run) const override {
    computation_->run(run.in, run.out[0], run.scratch.data());
  }

 private:
  std::string_view name_;
  std::unique_ptr<kernels::Computation> computation_;
};

// The kernel around a computation; null where there is none.
inline std::unique_ptr<graph::BoundKernel> bind_computation(
    std::string_view name, std::unique_ptr<kernels::Computation> computation) {
  if (computation == nullptr) return nullptr;
  return std::make_unique<ComputationKernel>(name, std::move(computation));
}

}  // namespace lowtide::ops
