// How many labels are among the largest few logits: a metric, without a gradient.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/builder.h"

namespace lowtide::ops {

struct TopHits {
  std::size_t class_axis = 1;
  std::optional<std::int64_t> ignore_index;  // this label counts for nothing
  std::int64_t among = 5;                    // of so many largest; of equal ones the first count

  bool operator==(const TopHits&) const = default;
};

// An int64 scalar. Logits and int64 labels as cross_entropy() takes them.
graph::ValueId top_hits(graph::GraphBuilder& b,
                        graph::ValueId logits,
                        graph::ValueId labels,
                        const TopHits& attributes);

const graph::OpDef& top_hits_op();

}  // namespace lowtide::ops
