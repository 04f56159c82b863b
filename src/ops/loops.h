// The loops over a tensor's elements in memory order, and how operands that are broadcast to it
// move along them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor_type.h"

namespace lowtide::ops {

// One loop: its length, and how many elements each operand moves with a step (0: broadcast).
template <std::size_t kOperands>
struct Loop {
  std::int64_t length = 1;
  std::array<std::int64_t, kOperands> steps{};
};

// Logical axes in memory order, outermost first.
inline std::vector<std::size_t> memory_order(std::size_t rank, core::Layout layout) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (layout == core::Layout::kPlain || axis != 1) axes.push_back(axis);
  }
  if (layout == core::Layout::kChannelsLast) axes.push_back(1);
  return axes;
}

// How far `operand` moves along each logical axis of a tensor of rank `rank` that it is broadcast
// to, as numpy aligns them: from the back.
inline std::vector<std::int64_t> broadcast_strides(const core::TensorType& operand,
                                                   std::size_t rank) {
  std::vector<std::int64_t> result(rank, 0);
  const std::vector<std::int64_t> own = core::strides(operand);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (operand.shape[i] != 1) result[rank - own.size() + i] = own[i];
  }
  return result;
}

// The loops over `out`, outermost first, without those of length 1, and with neighbours merged
// where every operand moves through both as through one. At least one loop; where `out` has one
// element its steps are 1.
template <std::size_t kOperands>
std::vector<Loop<kOperands>> merged_loops(const core::TensorType& out,
                                          const std::array<core::TensorType, kOperands>& operands) {
  const std::size_t rank = out.shape.rank();
  std::array<std::vector<std::int64_t>, kOperands> strides;
  for (std::size_t k = 0; k < kOperands; ++k) strides[k] = broadcast_strides(operands[k], rank);
  std::vector<Loop<kOperands>> loops;
  for (const std::size_t axis : memory_order(rank, out.layout)) {
    if (out.shape[axis] == 1) continue;
    Loop<kOperands> loop{.length = out.shape[axis]};
    bool merges = !loops.empty();
    for (std::size_t k = 0; k < kOperands; ++k) {
      loop.steps[k] = strides[k][axis];
      merges = merges && loops.back().steps[k] == loop.steps[k] * loop.length;
    }
    if (merges) {
      loops.back().length *= loop.length;
      loops.back().steps = loop.steps;
    } else {
      loops.push_back(loop);
    }
  }
  if (loops.empty()) {
    loops.emplace_back();
    loops.back().steps.fill(1);
  }
  return loops;
}

// Calls f(offsets of the operands) for each element of the loops, in order. Allocates nothing.
template <std::size_t kOperands, class F>
void for_each_element(std::span<const Loop<kOperands>> loops,
                      F&& f,
                      std::array<std::int64_t, kOperands> offsets = {}) {
  if (loops.empty()) {
    f(offsets);
    return;
  }
  for (std::int64_t i = 0; i < loops.front().length; ++i) {
    for_each_element<kOperands>(loops.subspan(1), f, offsets);
    for (std::size_t k = 0; k < kOperands; ++k) offsets[k] += loops.front().steps[k];
  }
}

}  // namespace lowtide::ops
