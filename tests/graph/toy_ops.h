// A few ops of a line each, to build graphs without the real ones.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"

namespace lowtide::graph {

// y = x0 + x1 of equal float32 or int64 types; may overwrite either input.
const OpDef& add_op();
// (x, factor * x) of a float32 tensor.
const OpDef& fork_op();
// p - rate * g: a new version of the state p. Never repeated.
const OpDef& update_op();

struct Add {
  bool operator==(const Add&) const = default;
};

struct Fork {
  float factor = 2.0F;

  bool operator==(const Fork&) const = default;
};

struct Update {
  bool operator==(const Update&) const = default;
};

ValueId add(GraphBuilder& b, ValueId x0, ValueId x1);
std::vector<ValueId> fork(GraphBuilder& b, ValueId x, float factor);
// Also marks the result as the new version of `parameter`.
ValueId update(GraphBuilder& b, ValueId parameter, ValueId gradient, ValueId rate);

// A float32 vector.
TensorType floats(std::int64_t count);
ConstantTensor tensor(const std::vector<float>& elements);
std::vector<float> elements(const ConstantTensor& tensor);

}  // namespace lowtide::graph
