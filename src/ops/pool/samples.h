// Kernels that go through a batch sample by sample: with kernels of others for one sample, and what
// lies between these in scratch.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "graph/kernel.h"
#include "graph/op_def.h"
#include "ops/pool/pool.h"

namespace lowtide::ops {

// The samples of a tensor, one after another along its first axis.
class Samples {
 public:
  explicit Samples(const core::TensorType& whole)
      : count_(whole.shape[0]),
        one_{whole.dtype, whole.shape.with(0, 1), whole.layout},
        stride_(one_.bytes().count()) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] const core::TensorType& one() const { return one_; }

  // Where sample i begins.
  template <class Byte>
  [[nodiscard]] Byte* at(Byte* first, std::int64_t i) const {
    return first + i * stride_;
  }

 private:
  std::int64_t count_;
  core::TensorType one_;
  std::int64_t stride_;
};

// Scratch of such a kernel: parts of given sizes one after another, then what the kernels that it
// calls (null: none) need.
template <std::size_t kParts>
class SampleScratch {
 public:
  SampleScratch() = default;
  SampleScratch(const std::array<Bytes, kParts>& sizes,
                std::initializer_list<const graph::BoundKernel*> kernels) {
    for (std::size_t i = 0; i < kParts; ++i) {
      ends_[i] = (i == 0 ? Bytes() : ends_[i - 1]) + sizes[i].rounded_up(Bytes(64));
    }
    for (const graph::BoundKernel* const kernel : kernels) {
      if (kernel != nullptr) inner_ = std::max(inner_, kernel->scratch());
    }
  }

  [[nodiscard]] Bytes total() const { return ends_[kParts - 1] + inner_; }
  [[nodiscard]] std::byte* part(const graph::Run& run, std::size_t i) const {
    return run.scratch.data() + (i == 0 ? 0 : ends_[i - 1].count());
  }
  [[nodiscard]] std::span<std::byte> inner(const graph::Run& run) const {
    return run.scratch.subspan(static_cast<std::size_t>(ends_[kParts - 1].count()));
  }

 private:
  std::array<Bytes, kParts> ends_{};
  Bytes inner_;
};

// The kernel that hands a gradient back through a maximum pool to what it read.
std::unique_ptr<graph::BoundKernel> bind_unpool(const Pool& pool,
                                                const core::TensorType& index,
                                                const core::TensorType& dy,
                                                const core::TensorType& read,
                                                const core::Machine& machine);

// The kernel of an op that makes something of input 0 and pools that: to y and its index. `maker`
// makes one sample, of the type `made`; it reads other inputs of `types` as they are for all.
std::unique_ptr<graph::BoundKernel> make_then_pool(std::string_view name,
                                                   std::unique_ptr<graph::BoundKernel> maker,
                                                   const core::TensorType& made,
                                                   const Pool& pool,
                                                   const graph::Signature& types,
                                                   const core::Machine& machine);

// A kernel bound with the best kernels of the machine, and one with those of reference.
template <auto kBind, class A>
std::vector<graph::Kernel<A>> by_samples() {
  return {{.name = "by_samples",
           .bind = [](const A& a, const graph::Signature& types,
                      const core::Machine& machine) -> std::unique_ptr<graph::BoundKernel> {
             return kBind(a, types, machine, "by_samples");
           }},
          {.name = "reference",
           .bind = [](const A& a, const graph::Signature& types,
                      const core::Machine& machine) -> std::unique_ptr<graph::BoundKernel> {
             return kBind(a, types, machine.on_reference(), "reference");
           }}};
}

// As `kBind` above: the kernel of that class.
template <class Bound, class A>
std::unique_ptr<graph::BoundKernel> bind_as(const A& a,
                                            const graph::Signature& types,
                                            const core::Machine& machine,
                                            std::string_view name) {
  return std::make_unique<Bound>(a, types, machine, name);
}

}  // namespace lowtide::ops
