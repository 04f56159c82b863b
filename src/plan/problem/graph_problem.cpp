#include "plan/problem/graph_problem.h"

#include <algorithm>
#include <utility>

namespace lowtide::plan {

namespace {

using graph::Alias;
using graph::Node;
using graph::Sharing;

bool has(const std::vector<TensorId>& all, TensorId id) {
  return std::find(all.begin(), all.end(), id) != all.end();
}

bool is_operand(const Variant& variant, TensorId id) {
  return reads(variant, id) || has(variant.writes, id);
}

void add_once(std::vector<TensorId>& to, TensorId id) {
  if (id.valid() && !has(to, id)) to.push_back(id);
}

// Which views are read after a place in a sequence and before their storage is written again.
class ViewReaders {
 public:
  ViewReaders(const Model& model, const Sequence& tasks)
      : model_(model), reads_(model.values.size()) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      for (const ValueId input : model.graph.node(tasks[i].node).inputs) note(input, i);
    }
  }

  [[nodiscard]] bool between(NodeId view, std::size_t from, std::size_t to) const {
    for (const ValueId output : model_.graph.node(view).outputs) {
      const std::vector<std::size_t>& reads = reads_[output];
      const auto next = std::upper_bound(reads.begin(), reads.end(), from);
      if (next != reads.end() && *next <= to) return true;
    }
    return false;
  }

 private:
  // A read of a view is one of the views it was made from.
  void note(ValueId id, std::size_t at) {
    while (model_.values[id].base != id) {
      reads_[id].push_back(at);
      id = source(id);
    }
  }

  [[nodiscard]] ValueId source(ValueId view) const {
    const NodeId producer = model_.values[view].producer;
    const Node& node = model_.graph.node(producer);
    for (const Alias& alias : model_.nodes[producer].aliases) {
      if (alias.sharing == Sharing::kView &&
          node.outputs[static_cast<std::size_t>(alias.output)] == view) {
        return node.inputs[static_cast<std::size_t>(alias.input)];
      }
    }
    return model_.values[view].base;
  }

  const Model& model_;
  core::IdVector<ValueId, std::vector<std::size_t>> reads_;
};

}  // namespace

GraphProblem::GraphProblem(const Model& model)
    : model_(model), tensors_(model.values.size()), views_(model.values.size()) {
  add_tensors();
  for (const Execution& execution : first_executions(model)) {
    if (only_views(execution.node)) continue;
    if (may_follow(execution.node)) {
      follow(execution.node);
    } else {
      add_task(execution.node);
    }
  }
  set_deadlines();
  add_unread_inputs();
  find_views();
}

bool GraphProblem::same_tasks(const GraphProblem& other) const {
  if (nodes_.size() != other.nodes_.size()) return false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const TaskId id(i);
    const Task& mine = problem_.tasks[id];
    const Task& theirs = other.problem_.tasks[id];
    if (nodes_[id] != other.nodes_[id] || followers_[id] != other.followers_[id] ||
        mine.repeatable != theirs.repeatable || mine.deadline != theirs.deadline ||
        mine.variants.size() != theirs.variants.size()) {
      return false;
    }
  }
  return true;
}

bool GraphProblem::only_views(NodeId id) const {
  const std::vector<ValueId>& outputs = model_.graph.node(id).outputs;
  return !outputs.empty() && std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) {
    return model_.values[output].base != output;
  });
}

void GraphProblem::add_tensors() {
  for (std::size_t i = 0; i < model_.values.size(); ++i) {
    const ValueId id(i);
    const ValueFacts& facts = model_.values[id];
    if (facts.base != id || !model_.transient(id)) continue;
    tensors_[id] = problem_.tensors.push_back({.bytes = facts.bytes.count(), .producer = {}});
  }
  for (std::size_t i = 0; i < model_.values.size(); ++i) {
    const ValueFacts& facts = model_.values[ValueId(i)];
    tensors_[ValueId(i)] = tensors_[facts.base];
    if (facts.pinned && tensors_[facts.base].valid()) {
      problem_.tensors[tensors_[facts.base]].lasting = true;
    }
  }
}

void GraphProblem::add_task(NodeId id) {
  const NodeFacts& facts = model_.nodes[id];
  const TaskId task(problem_.tasks.size());
  std::vector<Variant> variants = {variant(id)};
  for (const NodeId other : facts.alternatives) {
    variants.push_back(variant(other));
    // One is there to save bytes. That it should be faster is what noise in measured costs says.
    double& seconds = variants.back().seconds;
    seconds = variants.back().seconds_again = std::max(seconds, facts.seconds);
  }
  for (const TensorId written : variants.front().writes) problem_.tensors[written].producer = task;
  problem_.tasks.push_back(
      {.variants = std::move(variants), .repeatable = facts.repeatable, .deadline = {}});
  nodes_.push_back(id);
  followers_.push_back({});
}

// What a node writes beside state.
std::vector<TensorId> GraphProblem::written(NodeId id) const {
  std::vector<TensorId> tensors;
  for (const ValueId output : model_.graph.node(id).outputs) {
    if (model_.values[output].base == output && tensors_[output].valid()) {
      tensors.push_back(tensors_[output]);
    }
  }
  return tensors;
}

// Whether it takes no bytes worth counting that the last task does not take as well: what it reads
// is there, or comes to be; it writes state or scalars. In the forward pass only where nothing is
// added to the task, as one that reads or writes more may not run again. Sizes have no say: the
// same nodes follow for any batch.
bool GraphProblem::may_follow(NodeId id) const {
  if (nodes_.empty() || !model_.nodes[id].alternatives.empty()) return false;
  const bool runs_once = model_.graph.node(nodes_[last_task()]).phase != graph::Phase::kForward;
  const Node& node = model_.graph.node(id);
  const auto adds_little = [&](ValueId output) {
    return !tensors_[output].valid() || (runs_once && model_.graph.type(output).shape.rank() == 0);
  };
  const auto finds = [&](ValueId input) { return last_leaves(tensors_[input], runs_once); };
  return std::all_of(node.outputs.begin(), node.outputs.end(), adds_little) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), finds);
}

// Whether the tensor is there after the last task: no output took it over, and the task has it
// anyway or may come to read more.
bool GraphProblem::last_leaves(TensorId read, bool may_read_more) const {
  const std::vector<Variant>& variants = problem_.tasks[last_task()].variants;
  return std::all_of(variants.begin(), variants.end(), [&](const Variant& variant) {
    const bool stays = std::none_of(variant.in_place.begin(), variant.in_place.end(),
                                    [&](const InPlace& pair) { return pair.input == read; });
    return stays && (may_read_more || !read.valid() || is_operand(variant, read));
  });
}

// A task that reads or writes more for its followers runs only once, as a repetition would not: in
// the backward pass little is lost.
void GraphProblem::follow(NodeId id) {
  const TaskId last = last_task();
  Task& task = problem_.tasks[last];
  const std::int64_t scratch = model_.nodes[id].scratch.count();
  const std::vector<TensorId> outputs = written(id);
  std::int64_t more = 0;
  for (const TensorId output : outputs) {
    problem_.tensors[output].producer = last;
    more += problem_.tensors[output].bytes;
  }
  for (Variant& variant : task.variants) {
    variant.seconds += model_.nodes[id].seconds;
    variant.writes.insert(variant.writes.end(), outputs.begin(), outputs.end());
    // What it writes is among the task's outputs from now on.
    variant.workspace = std::max(variant.workspace - more, scratch);
    for (const ValueId input : model_.graph.node(id).inputs) {
      const TensorId read = tensors_[input];
      if (!read.valid() || is_operand(variant, read)) continue;
      variant.reads.push_back(read);
      task.repeatable = false;
    }
  }
  if (!outputs.empty()) task.repeatable = false;
  followers_[last].push_back(id);
}

Variant GraphProblem::variant(NodeId id) const {
  const Node& node = model_.graph.node(id);
  const NodeFacts& facts = model_.nodes[id];
  Variant variant{.seconds = facts.seconds,
                  .seconds_again = facts.seconds,
                  .workspace = facts.scratch.count(),
                  .reads = {},
                  .writes = written(id),
                  .in_place = in_place(id)};
  for (const ValueId input : node.inputs) add_once(variant.reads, tensors_[input]);
  return variant;
}

// The pairs in which the output may lie over everything the node reads from the input's storage.
std::vector<InPlace> GraphProblem::in_place(NodeId id) const {
  const Node& node = model_.graph.node(id);
  const std::vector<Alias>& aliases = model_.nodes[id].aliases;
  const auto allowed = [&](int output, std::size_t input) {
    return std::any_of(aliases.begin(), aliases.end(), [&](const Alias& alias) {
      return alias.sharing == Sharing::kInPlace && alias.output == output &&
             static_cast<std::size_t>(alias.input) == input;
    });
  };
  std::vector<InPlace> pairs;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const TensorId output = tensors_[node.outputs[o]];
    for (const Alias& alias : aliases) {
      if (alias.sharing != Sharing::kInPlace || static_cast<std::size_t>(alias.output) != o)
        continue;
      const TensorId input = tensors_[node.inputs[static_cast<std::size_t>(alias.input)]];
      if (!output.valid() || !input.valid()) continue;
      bool free = std::none_of(pairs.begin(), pairs.end(), [&](const InPlace& pair) {
        return pair.input == input && pair.output != output;
      });
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (tensors_[node.inputs[i]] == input) free = free && allowed(alias.output, i);
      }
      if (free) pairs.push_back({output, input});
    }
  }
  return pairs;
}

// What reads a state value may run again until a node overwrites that.
void GraphProblem::set_deadlines() {
  core::IdVector<ValueId, TaskId> overwritten(model_.values.size());
  const auto note = [&](NodeId node, TaskId task) {
    for (const ValueId output : model_.graph.node(node).outputs) {
      const ValueId old = model_.graph.value(output).previous_version;
      if (old.valid()) overwritten[model_.values[old].base] = task;
    }
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    note(nodes_[TaskId(i)], TaskId(i));
    for (const NodeId follower : followers_[TaskId(i)]) note(follower, TaskId(i));
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    TaskId& deadline = problem_.tasks[TaskId(i)].deadline;
    for (const ValueId input : read_in_any_way(model_, nodes_[TaskId(i)])) {
      const TaskId at = overwritten[model_.values[input].base];
      if (at.valid() && (!deadline.valid() || at < deadline)) deadline = at;
    }
  }
}

// An input that nothing reads takes its place all the same, to be filled, until the first step.
void GraphProblem::add_unread_inputs() {
  if (nodes_.empty()) return;
  core::IdVector<TensorId, char> read(problem_.tensors.size(), 0);
  for (const Task& task : problem_.tasks) {
    for (const TensorId id : task.variants.front().reads) read[id] = 1;
  }
  for (const ValueId input : model_.inputs) {
    const Tensor& tensor = problem_.tensors[tensors_[input]];
    if (read[tensors_[input]] != 0 || tensor.lasting) continue;
    problem_.tasks[TaskId(0)].variants.front().workspace += tensor.bytes;
  }
}

void GraphProblem::find_views() {
  for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
    const NodeId id(i);
    if (!model_.nodes[id].needed || !only_views(id)) continue;
    views_[model_.values[model_.graph.node(id).outputs.front()].base].push_back(id);
  }
}

Sequence GraphProblem::sequence(const Choices& choices) const {
  Sequence tasks;
  core::IdVector<NodeId, char> ran(model_.nodes.size(), 0);
  std::vector<NodeId> originals;  // of the alternatives
  const auto run = [&](NodeId node, NodeId original) {
    tasks.push_back({node, ran[original] != 0});
    ran[original] = 1;
    originals.push_back(original);
  };
  for (const TaskId task : executions(choices)) {
    const NodeId node = nodes_[task];
    const std::uint8_t variant = choices.variants[task];
    const bool again = ran[node] != 0;
    run(variant == 0 ? node : model_.nodes[node].alternatives[variant - 1U], node);
    if (again) continue;
    for (const NodeId follower : followers_[task]) run(follower, follower);
  }
  // By step: when the same runs next.
  std::vector<std::size_t> next(tasks.size());
  core::IdVector<NodeId, std::size_t> later(model_.nodes.size(), tasks.size());
  for (std::size_t step = tasks.size(); step-- > 0;) {
    next[step] = std::exchange(later[originals[step]], step);
  }
  const ViewReaders readers(model_, tasks);
  Sequence all;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (model_.values[ValueId(i)].producer.valid()) continue;
    for (const NodeId view : views_[ValueId(i)]) all.push_back({view, false});
  }
  for (std::size_t step = 0; step < tasks.size(); ++step) {
    all.push_back(tasks[step]);
    for (const ValueId output : model_.graph.node(tasks[step].node).outputs) {
      for (const NodeId view : views_[output]) {
        if (!tasks[step].again || readers.between(view, step, next[step])) {
          all.push_back({view, tasks[step].again});
        }
      }
    }
  }
  return all;
}

}  // namespace lowtide::plan
