// What the ops share that only move elements: each says which stretches go where, and gets its
// kernels from here.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "graph/op_def.h"

namespace lowtide::ops {

// A tensor, or a part of it, as a strided view: the place of its first element and the distances
// between neighbours along each logical axis, in elements.
struct View {
  std::int64_t first = 0;
  std::vector<std::int64_t> strides;
};

View view_of(const core::TensorType& type);

// Copies a block of `dims` elements from a view of one input (or from one literal element) to a
// view of one output.
struct Movement {
  static constexpr int kLiteral = -1;

  std::vector<std::int64_t> dims;
  int input = 0;
  View from;  // strides of 0 repeat; all 0 for a literal
  int output = 0;
  View to;
  std::array<std::byte, 8> literal{};  // element bytes at the front
};

// `value` as an element of that type, for Movement::literal.
std::array<std::byte, 8> literal_of(core::DType dtype, double value);

// Kernels that carry out the movements: with long copies on all threads, or one element at a time.
// All tensors have elements of one size. Where an output lies on its input (a view) nothing moves.
std::unique_ptr<graph::BoundKernel> bind_copies(std::vector<Movement> movements,
                                                const graph::Signature& types);
std::unique_ptr<graph::BoundKernel> bind_reference(std::vector<Movement> movements,
                                                   const graph::Signature& types);

// Whether the one movement leaves every byte where it is, so that the output may be a view.
bool is_view(const std::vector<Movement>& movements);

template <class A>
using MovementsFn = std::vector<Movement> (*)(const A&, const graph::Signature&);

template <class A, MovementsFn<A> kMovements>
graph::Kernel<A> copies() {
  return {.name = "copies",
          .bind = [](const A& a, const graph::Signature& types, const core::Machine&) {
            return bind_copies(kMovements(a, types), types);
          }};
}

template <class A, MovementsFn<A> kMovements>
graph::Kernel<A> element_by_element() {
  return {.name = "reference",
          .bind = [](const A& a, const graph::Signature& types, const core::Machine&) {
            return bind_reference(kMovements(a, types), types);
          }};
}

// Every output byte is written once; what is read is at most as much.
template <class A>
graph::Cost cost_of_moving(const A&, const graph::Signature& types) {
  Bytes written;
  Bytes read;
  for (const core::TensorType& type : types.out) written += type.bytes();
  for (const core::TensorType& type : types.in) read += type.bytes();
  return {.traffic = written + std::min(read, written)};
}

}  // namespace lowtide::ops
