#include "plan/sequence.h"

#include <algorithm>
#include <limits>

#include "core/check.h"

namespace lowtide::plan {

namespace {

using graph::Node;
using graph::Phase;

// A fleeting value stays if its next use is at most this many nodes away.
constexpr std::int32_t kNear = 2;

bool in_forward(Phase phase) { return phase == Phase::kForward || phase == Phase::kLoss; }

// Walks the model's order and inserts recomputations.
class Writer {
 public:
  Writer(const Model& model, const Droppable& droppable, const Fates& fates)
      : model_(model),
        fates_(fates),
        present_(model.values.size(), 0),
        expiry_(model.order.size()),
        uses_(model.values.size()),
        next_use_(model.values.size(), 0) {
    for (const ValueId id : model.inputs) present_[id] = 1;
    for (std::size_t i = 0; i < model.values.size(); ++i) {
      if (!model.transient(ValueId(i))) present_[ValueId(i)] = 1;
    }
    views_.resize(model.values.size());
    for (std::size_t i = 0; i < model.values.size(); ++i) {
      const ValueId base = model.values[ValueId(i)].base;
      if (droppable.contains(base)) views_[base].emplace_back(i);
    }
    for (const ValueId id : droppable.values()) {
      if (fates[id] == Fate::kKept) continue;
      expiry_[static_cast<std::size_t>(droppable.last_forward_use(id))].push_back(id);
    }
    note_uses();
  }

  Sequence write() {
    for (std::size_t i = 0; i < model_.order.size(); ++i) {
      const NodeId id = model_.order[i];
      for (const ValueId input : model_.graph.node(id).inputs) bring_back(input);
      run(id, false);
      for (const ValueId dropped : expiry_[i]) drop(dropped);
      drop_fleeting(static_cast<std::int32_t>(i));
    }
    return std::move(sequence_);
  }

 private:
  // Where fleeting values are used, to tell whether the next use is near.
  void note_uses() {
    for (std::size_t i = 0; i < model_.order.size(); ++i) {
      for (const ValueId input : model_.graph.node(model_.order[i]).inputs) {
        const ValueId base = model_.values[input].base;
        if (fates_[base] == Fate::kFleeting) uses_[base].push_back(static_cast<std::int32_t>(i));
      }
    }
  }

  void drop(ValueId base) {
    for (const ValueId view : views_[base]) present_[view] = 0;
  }

  void drop_fleeting(std::int32_t now) {
    std::erase_if(fleeting_, [&](ValueId base) {
      const std::vector<std::int32_t>& uses = uses_[base];
      std::size_t& next = next_use_[base];
      while (next < uses.size() && uses[next] <= now) ++next;
      if (next < uses.size() && uses[next] <= now + kNear) return false;
      drop(base);
      return true;
    });
  }

  void run(NodeId id, bool again) {
    sequence_.push_back({id, again});
    for (const ValueId output : model_.graph.node(id).outputs) {
      present_[output] = 1;
      if (again && model_.values[output].base == output && fates_[output] == Fate::kFleeting) {
        fleeting_.push_back(output);
      }
    }
  }

  // Computes a value again if it was dropped, after what it is made of. An explicit stack: chains
  // may be thousands of nodes long.
  void bring_back(ValueId wanted) {
    if (present_[wanted] != 0) return;
    stack_.push_back(model_.values[wanted].producer);
    while (!stack_.empty()) {
      const NodeId id = stack_.back();
      LT_CHECK(id.valid() && model_.nodes[id].repeatable, "a dropped value can be computed again");
      const std::size_t depth = stack_.size();
      for (const ValueId input : model_.graph.node(id).inputs) {
        if (present_[input] == 0) stack_.push_back(model_.values[input].producer);
      }
      if (stack_.size() > depth) continue;
      stack_.pop_back();
      const std::vector<ValueId>& outputs = model_.graph.node(id).outputs;
      if (std::any_of(outputs.begin(), outputs.end(),
                      [&](ValueId output) { return present_[output] == 0; })) {
        run(id, true);
      }
    }
  }

  const Model& model_;
  const Fates& fates_;
  core::IdVector<ValueId, char> present_;
  std::vector<std::vector<ValueId>> expiry_;  // by position in the order
  core::IdVector<ValueId, std::vector<ValueId>> views_;
  core::IdVector<ValueId, std::vector<std::int32_t>> uses_;
  core::IdVector<ValueId, std::size_t> next_use_;
  std::vector<ValueId> fleeting_;
  std::vector<NodeId> stack_;
  Sequence sequence_;
};

// Puts eager nodes into a sequence of the others: each behind the last execution it waits for,
// which is that of a producer of its inputs or of a reader of the state it replaces.
Sequence insert_eager(const Model& model, const Sequence& others) {
  constexpr std::int32_t kStart = -1;
  core::IdVector<NodeId, std::int32_t> done(model.nodes.size(), kStart);
  core::IdVector<ValueId, std::int32_t> last_read(model.values.size(), kStart);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto at = static_cast<std::int32_t>(i);
    if (!others[i].again) done[others[i].node] = at;
    for (const ValueId input : model.graph.node(others[i].node).inputs) {
      last_read[model.values[input].base] = at;
    }
  }
  std::vector<std::vector<NodeId>> after(others.size() + 1);  // by the position waited for, plus 1
  for (const NodeId id : model.eager) {
    const Node& node = model.graph.node(id);
    std::int32_t at = kStart;
    for (const ValueId input : node.inputs) {
      const NodeId producer = model.values[input].producer;
      if (producer.valid()) at = std::max(at, done[producer]);
    }
    for (const ValueId output : node.outputs) {
      const ValueId old = model.graph.value(output).previous_version;
      if (old.valid()) at = std::max(at, last_read[model.values[old].base]);
    }
    done[id] = at;
    for (const ValueId input : node.inputs) {
      std::int32_t& last = last_read[model.values[input].base];
      last = std::max(last, at);
    }
    after[static_cast<std::size_t>(at + 1)].push_back(id);
  }
  Sequence all;
  all.reserve(others.size() + model.eager.size());
  for (std::size_t i = 0; i <= others.size(); ++i) {
    if (i > 0) all.push_back(others[i - 1]);
    for (const NodeId id : after[i]) all.push_back({id, false});
  }
  return all;
}

}  // namespace

Droppable::Droppable(const Model& model)
    : allowed_(model.values.size(), 0),
      last_forward_use_(model.values.size(), -1),
      keep_all_(model.values.size(), Fate::kKept) {
  core::IdVector<ValueId, char> fixed(model.values.size(), 0);
  core::IdVector<ValueId, char> saved(model.values.size(), 0);
  for (std::size_t i = 0; i < model.values.size(); ++i) {
    if (model.values[ValueId(i)].pinned) fixed[model.values[ValueId(i)].base] = 1;
  }
  for (const NodeId id : model.eager) {
    for (const ValueId input : model.graph.node(id).inputs) fixed[model.values[input].base] = 1;
  }
  for (std::size_t i = 0; i < model.order.size(); ++i) {
    const Node& node = model.graph.node(model.order[i]);
    const bool forward = in_forward(node.phase);
    for (const ValueId input : node.inputs) {
      const ValueId base = model.values[input].base;
      if (forward) last_forward_use_[base] = static_cast<std::int32_t>(i);
      if (!forward) saved[base] = 1;
    }
    for (const ValueId output : node.outputs) {
      const ValueId base = model.values[output].base;
      if (forward) last_forward_use_[base] = static_cast<std::int32_t>(i);
      if (!model.nodes[model.order[i]].repeatable) fixed[base] = 1;
    }
  }
  for (const NodeId id : model.order) {
    for (const ValueId output : model.graph.node(id).outputs) {
      if (model.values[output].base != output || fixed[output] != 0 || !model.transient(output)) {
        continue;
      }
      allowed_[output] = 1;
      values_.push_back(output);
      if (saved[output] == 0) keep_all_[output] = Fate::kHeld;
    }
  }
}

Sequence make_sequence(const Model& model, const Droppable& droppable, const Fates& fates) {
  return insert_eager(model, Writer(model, droppable, fates).write());
}

double seconds(const Model& model, const Sequence& sequence) {
  double sum = 0;
  for (const Execution& execution : sequence) sum += model.nodes[execution.node].seconds;
  return sum;
}

}  // namespace lowtide::plan
