// Sequences: which node runs when, first or again, for a choice of what to drop between the
// forward and the backward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/model.h"

namespace lowtide::plan {

struct Execution {
  NodeId node;
  bool again = false;
};

using Sequence = std::vector<Execution>;

// What happens to a forward value (and the views of it) after its last use in the forward pass.
enum class Fate : std::uint8_t {
  kKept,     // stays until its last use
  kHeld,     // dropped; computed again before the first use in the backward pass, then stays
  kFleeting  // dropped; computed again before a use and soon dropped again
};

// By the value whose storage it is (ValueFacts::base); other entries are not looked at.
using Fates = core::IdVector<ValueId, Fate>;

// What the fates may be chosen for.
class Droppable {
 public:
  explicit Droppable(const Model& model);

  // Whether the value stands for its storage and can be computed again from what is at hand.
  [[nodiscard]] bool contains(ValueId id) const { return allowed_[id] != 0; }
  [[nodiscard]] const std::vector<ValueId>& values() const { return values_; }
  // Values the backward pass reads are kept; others are dropped, and only come back where another
  // value's recomputation needs them.
  [[nodiscard]] const Fates& keep_all() const { return keep_all_; }
  // Position in model.order of the last forward step that uses the value or a view of it.
  [[nodiscard]] std::int32_t last_forward_use(ValueId id) const { return last_forward_use_[id]; }

 private:
  core::IdVector<ValueId, char> allowed_;
  core::IdVector<ValueId, std::int32_t> last_forward_use_;
  std::vector<ValueId> values_;
  Fates keep_all_;
};

// Every needed node once in the graph's order, except that eager nodes run as soon as everything
// they wait for is done, and that dropped values are computed again just before they are read.
// Complexity: linear in the result.
Sequence make_sequence(const Model& model, const Droppable& droppable, const Fates& fates);

double seconds(const Model& model, const Sequence& sequence);

}  // namespace lowtide::plan
