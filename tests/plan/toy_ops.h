// Ops on plain bytes that compute hashes: a wrong or overwritten input changes every result.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::plan {

struct Toy {
  std::int64_t tag = 0;           // makes nodes differ
  std::vector<std::int64_t> out;  // bytes of each output, where the op does not take its input's
  std::int64_t scratch = 0;

  bool operator==(const Toy&) const = default;
};

// Each byte of the output from the same byte of the inputs (shorter ones repeat): may overwrite
// inputs 0 and 1.
const graph::OpDef& blend_op();
// Every output byte from all input bytes, like a product of matrices: never in place.
const graph::OpDef& mix_op();
// The same, but must not be repeated.
const graph::OpDef& once_op();
// What a Mix of a Blend's output and others computes, from the Blend's inputs and the others.
struct Through {
  Toy blend;
  Toy mix;
  std::size_t blended = 0;  // inputs of the Blend, which come first

  bool operator==(const Through&) const = default;
};
const graph::OpDef& mix_through_op();
// The input's bytes by another name.
const graph::OpDef& view_op();
// A new version of input 0 from it and the others.
const graph::OpDef& replace_op();

graph::TensorType bytes_type(std::int64_t count);

}  // namespace lowtide::plan
