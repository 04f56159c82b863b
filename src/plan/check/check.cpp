// Check: replays a plan on byte ranges and lists what is wrong with it. Written from the contract
// in plan.h alone: it shares no code with the planner.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plan/check/subject.h"
#include "plan/check/transfer_replay.h"

namespace lowtide::plan {

namespace {

using graph::Alias;
using graph::Graph;
using graph::Node;
using graph::Phase;
using graph::Role;
using graph::Sharing;
using graph::Value;

// One replay.
class Replay {
 public:
  explicit Replay(Subject& subject)
      : subject_(subject), graph_(subject.graph), plan_(subject.plan) {
    same_bytes_.resize(graph_.value_count());
    for (std::size_t i = 0; i < graph_.value_count(); ++i) same_bytes_[ValueId(i)] = ValueId(i);
  }

  void run() {
    fill_sources();
    TransferReplay transfers(subject_, contents_, same_bytes_);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      transfers.before(i);
      replay(i);
      transfers.during(i);
    }
    transfers.before(plan_.steps.size());
    check_end();
    transfers.check_homes();
    check_totals();
  }

 private:
  // The bytes before step 0: persistent values at their places, inputs in their buffers. What a
  // fetch fills holds nothing yet.
  void fill_sources() {
    core::IdVector<BufferId, char> fetched(plan_.buffers.size(), 0);
    for (const Transfer& transfer : plan_.transfers) {
      if (transfer.direction == Direction::kFetch) fetched[transfer.place.buffer] = 1;
    }
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[BufferId(i)];
      if (buffer.kind == BufferKind::kScratch || !subject_.source(buffer.value)) continue;
      if (fetched[BufferId(i)] != 0 || in_file(subject_.file_offsets, buffer.value)) continue;
      const Place place{BufferId(i), Bytes(0)};
      if (last_place_.count(buffer.value) != 0)
        subject_.fault("'{}' has two buffers", subject_.name(buffer.value));
      if (buffer.first != 0)
        subject_.fault("input '{}' is not in use from step 0", subject_.name(buffer.value));
      contents_.write(subject_.range(place, buffer.value), buffer.value);
      last_place_[buffer.value] = place;
      homes_[buffer.value] = BufferId(i);
    }
  }

  void replay(std::size_t index) {
    const Step& step = plan_.steps[index];
    const Node& node = graph_.node(step.node);
    const std::vector<graph::TensorType> in = graph_.types(node.inputs);
    const std::vector<graph::TensorType> out = graph_.types(node.outputs);
    const std::vector<Alias> aliases = node.op->aliases(node.attrs, {in, out});
    check_legal(index, aliases);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      check_use(index, step.in[i], node.inputs[i]);
      if (!contents_.holds(subject_.range(step.in[i], node.inputs[i]),
                           same_bytes_[node.inputs[i]])) {
        subject_.fault("{} reads '{}' where it is not", subject_.describe(index),
                       subject_.name(node.inputs[i]));
      }
    }
    check_scratch(index);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      check_use(index, step.out[o], node.outputs[o]);
      check_sharing(index, o, aliases);
      check_state_place(index, o);
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) write_output(index, o, aliases);
    ran_.insert(graph_.original(step.node));
  }

  // First executions happen once, behind what they depend on; others repeat what may be repeated:
  // the forward pass, and views in any, which follow what they are views of.
  void check_legal(std::size_t index, const std::vector<Alias>& aliases) {
    const Step& step = plan_.steps[index];
    const Node& node = graph_.node(step.node);
    const bool ran = ran_.count(graph_.original(step.node)) != 0;
    if (!step.again) {
      if (ran)
        subject_.fault("{} runs a second time but is not marked as again",
                       subject_.describe(index));
      for (const ValueId input : node.inputs) {
        const NodeId producer = graph_.value(input).producer;
        if (producer.valid() && ran_.count(producer) == 0) {
          subject_.fault("{} runs before '{}' is computed", subject_.describe(index),
                         subject_.name(input));
        }
      }
      return;
    }
    if (!ran) subject_.fault("{} is marked as again but never ran", subject_.describe(index));
    const bool view = std::any_of(aliases.begin(), aliases.end(), [](const Alias& alias) {
      return alias.sharing == Sharing::kView;
    });
    if (node.op->repeat() != graph::Repeat::kExact || (node.phase != Phase::kForward && !view)) {
      subject_.fault("{} repeats a node that must not be repeated", subject_.describe(index));
    }
    for (const ValueId output : node.outputs) {
      if (graph_.value(output).previous_version.valid()) {
        subject_.fault("{} changes '{}' twice", subject_.describe(index), subject_.name(output));
      }
    }
  }

  // An operand lies within its buffer, and the buffer is in use at this step.
  void check_use(std::size_t index, const Place& place, ValueId id) {
    const Buffer& buffer = plan_.buffers[place.buffer];
    const auto step = static_cast<std::int32_t>(index);
    if (buffer.kind == BufferKind::kScratch) {
      subject_.fault("{} has '{}' in a scratch buffer", subject_.describe(index),
                     subject_.name(id));
    }
    if (place.within < Bytes(0) || place.within + graph_.type(id).bytes() > buffer.size) {
      subject_.fault("{} has '{}' outside its buffer", subject_.describe(index), subject_.name(id));
    }
    if (place.within.count() % kAlignment.count() != 0) {
      subject_.fault("{} has '{}' at an odd place in its buffer", subject_.describe(index),
                     subject_.name(id));
    }
    if (step < buffer.first || step > buffer.last) {
      subject_.fault("{} uses buffer {} outside its life", subject_.describe(index),
                     place.buffer.index());
    }
  }

  void check_scratch(std::size_t index) {
    const Step& step = plan_.steps[index];
    const Bytes wanted = subject_.costs[step.node].scratch;
    if (!step.scratch.valid()) {
      if (wanted > Bytes(0)) subject_.fault("{} has no scratch", subject_.describe(index));
      return;
    }
    const Buffer& buffer = plan_.buffers[step.scratch];
    const auto at = static_cast<std::int32_t>(index);
    if (buffer.kind != BufferKind::kScratch || buffer.first > at || buffer.last < at) {
      subject_.fault("{} has a scratch buffer that is not one at this step",
                     subject_.describe(index));
    }
    if (buffer.size < wanted) subject_.fault("{} has too little scratch", subject_.describe(index));
    const Node& node = graph_.node(step.node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (subject_.range(step.in[i], node.inputs[i]).overlaps(subject_.extent(step.scratch))) {
        subject_.fault("{} has scratch over its input '{}'", subject_.describe(index),
                       subject_.name(node.inputs[i]));
      }
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (subject_.range(step.out[o], node.outputs[o]).overlaps(subject_.extent(step.scratch))) {
        subject_.fault("{} has scratch over its output '{}'", subject_.describe(index),
                       subject_.name(node.outputs[o]));
      }
    }
    contents_.erase(subject_.extent(step.scratch));
  }

  // An output lies over an input only where the card allows and exactly; over another output only
  // if both are views of one input.
  void check_sharing(std::size_t index, std::size_t output, const std::vector<Alias>& aliases) {
    const Step& step = plan_.steps[index];
    const Node& node = graph_.node(step.node);
    const Range mine = subject_.range(step.out[output], node.outputs[output]);
    const auto shares = [&](std::size_t o, std::size_t input) {
      const auto it = std::find_if(aliases.begin(), aliases.end(), [&](const Alias& alias) {
        return static_cast<std::size_t>(alias.output) == o &&
               static_cast<std::size_t>(alias.input) == input;
      });
      return it != aliases.end();
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Range other = subject_.range(step.in[i], node.inputs[i]);
      if (mine.overlaps(other) && !(mine == other && shares(output, i))) {
        subject_.fault("{} writes '{}' over its input '{}'", subject_.describe(index),
                       subject_.name(node.outputs[output]), subject_.name(node.inputs[i]));
      }
    }
    for (std::size_t o = 0; o < output; ++o) {
      const bool both_views = same_view(aliases, o, output);
      if (!both_views && mine.overlaps(subject_.range(step.out[o], node.outputs[o]))) {
        subject_.fault("{} writes '{}' over '{}'", subject_.describe(index),
                       subject_.name(node.outputs[output]), subject_.name(node.outputs[o]));
      }
    }
  }

  static const Alias* view(const std::vector<Alias>& aliases, std::size_t output) {
    for (const Alias& alias : aliases) {
      if (alias.sharing == Sharing::kView && static_cast<std::size_t>(alias.output) == output) {
        return &alias;
      }
    }
    return nullptr;
  }

  static bool same_view(const std::vector<Alias>& aliases, std::size_t a, std::size_t b) {
    const Alias* first = view(aliases, a);
    const Alias* second = view(aliases, b);
    return first != nullptr && second != nullptr && first->input == second->input;
  }

  // A new version of a state value lands on the old one; nothing else may write there.
  void check_state_place(std::size_t index, std::size_t output) {
    const Step& step = plan_.steps[index];
    const ValueId id = graph_.node(step.node).outputs[output];
    ValueId root = id;
    while (graph_.value(root).previous_version.valid()) root = graph_.value(root).previous_version;
    if (root == id) return;
    if (in_file(subject_.file_offsets, root)) {
      // It passes through memory: the new version lands where the old one was fetched to.
      const ValueId old = graph_.value(id).previous_version;
      const std::vector<ValueId>& inputs = graph_.node(step.node).inputs;
      const auto input = std::find(inputs.begin(), inputs.end(), old);
      if (input == inputs.end() ||
          !(step.out[output] == step.in[static_cast<std::size_t>(input - inputs.begin())])) {
        subject_.fault("{} does not write '{}' over the version it replaces",
                       subject_.describe(index), subject_.name(id));
      }
      return;
    }
    const auto home = homes_.find(root);
    if (home == homes_.end() || !(step.out[output] == Place{home->second, Bytes(0)})) {
      subject_.fault("{} does not write '{}' over the version it replaces",
                     subject_.describe(index), subject_.name(id));
    }
  }

  void write_output(std::size_t index, std::size_t output, const std::vector<Alias>& aliases) {
    const Step& step = plan_.steps[index];
    const Node& node = graph_.node(step.node);
    const ValueId id = node.outputs[output];
    last_place_[id] = step.out[output];
    if (const Alias* alias = view(aliases, output)) {
      const auto input = static_cast<std::size_t>(alias->input);
      if (graph_.type(id).bytes() > Bytes(0) && !(step.out[output] == step.in[input])) {
        subject_.fault("{} does not leave the view '{}' where its input lies",
                       subject_.describe(index), subject_.name(id));
      }
      same_bytes_[id] = same_bytes_[node.inputs[input]];
      return;  // the bytes stay what they are
    }
    contents_.write(subject_.range(step.out[output], id), id);
  }

  void check_end() {
    const core::IdVector<NodeId, char> needed = needed_nodes();
    for (std::size_t i = 0; i < graph_.node_count(); ++i) {
      if (needed[NodeId(i)] != 0 && ran_.count(NodeId(i)) == 0) {
        subject_.fault("node '{}' never runs", graph_.node(NodeId(i)).name);
      }
    }
    for (const ValueId output : graph_.outputs()) expect_intact(output, "output");
    core::IdVector<ValueId, char> replaced(graph_.value_count(), 0);
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueId old = graph_.value(ValueId(i)).previous_version;
      if (old.valid()) replaced[old] = 1;
    }
    for (const auto& [id, place] : last_place_) {
      const Value& value = graph_.value(id);
      if (lives_in_file(id)) continue;
      const bool lasting = subject_.persistent_source(id) || value.previous_version.valid() ||
                           (subject_.source(id) && value.role == Role::kScalar);
      if (lasting && replaced[id] == 0) expect_intact(id, "persistent value");
    }
  }

  [[nodiscard]] bool lives_in_file(ValueId id) const {
    while (graph_.value(id).previous_version.valid()) id = graph_.value(id).previous_version;
    return in_file(subject_.file_offsets, id);
  }

  void expect_intact(ValueId id, std::string_view what) {
    const auto place = last_place_.find(id);
    if (place == last_place_.end()) {
      subject_.fault("{} '{}' is nowhere at the end", what, subject_.name(id));
      return;
    }
    if (!contents_.holds(subject_.range(place->second, id), same_bytes_[id])) {
      subject_.fault("{} '{}' is not intact at the end", what, subject_.name(id));
    }
    const Buffer& buffer = plan_.buffers[place->second.buffer];
    if (buffer.last + 1 < static_cast<std::int32_t>(plan_.steps.size())) {
      subject_.fault("{} '{}' does not stay until the last step", what, subject_.name(id));
    }
  }

  [[nodiscard]] core::IdVector<NodeId, char> needed_nodes() const {
    core::IdVector<NodeId, char> needed(graph_.node_count(), 0);
    std::vector<ValueId> wanted = graph_.outputs();
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      if (graph_.value(ValueId(i)).previous_version.valid()) wanted.emplace_back(i);
    }
    while (!wanted.empty()) {
      const NodeId producer = graph_.value(wanted.back()).producer;
      wanted.pop_back();
      if (!producer.valid() || needed[producer] != 0) continue;
      needed[producer] = 1;
      for (const ValueId input : graph_.node(producer).inputs) wanted.push_back(input);
    }
    return needed;
  }

  void check_totals() {
    double sum = 0;
    int again = 0;
    for (const Step& step : plan_.steps) {
      sum += subject_.costs[step.node].seconds;
      again += step.again ? 1 : 0;
    }
    const double stalled = plan_.predicted_seconds - plan_.stall_seconds;
    if (!(std::abs(sum - stalled) <= 1e-9 * std::max(1.0, sum))) {
      subject_.fault("the steps take {} s, the plan says {} s", sum, stalled);
    }
    if (again != plan_.recomputed) {
      subject_.fault("{} steps are recomputations, the plan says {}", again, plan_.recomputed);
    }
    if (plan_.peak_live_bytes > plan_.arena_bytes) {
      subject_.fault("{} bytes in use do not fit the arena of {}", plan_.peak_live_bytes.count(),
                     plan_.arena_bytes.count());
    }
  }

  Subject& subject_;
  const Graph& graph_;
  const Plan& plan_;
  Contents contents_;
  // Views hold the bytes of another value: whose, by the view.
  core::IdVector<ValueId, ValueId> same_bytes_;
  std::map<ValueId, Place> last_place_;
  std::map<ValueId, BufferId> homes_;  // of sources
  std::set<NodeId> ran_;               // or one of their alternatives
};

}  // namespace

void check_steps(Subject& subject) { Replay(subject).run(); }

std::vector<std::string> check(const Graph& graph,
                               const Costs& costs,
                               const core::IdVector<ValueId, Bytes>& persistent_offsets,
                               const Plan& plan,
                               const FileOffsets& file_offsets) {
  Subject subject{graph, costs, persistent_offsets, plan, file_offsets};
  check_structure(subject);
  if (!subject.faults.empty()) return std::move(subject.faults);
  check_buffers(subject);
  check_overlaps(subject);
  if (!check_transfers(subject)) return std::move(subject.faults);
  check_steps(subject);
  return std::move(subject.faults);
}

}  // namespace lowtide::plan
