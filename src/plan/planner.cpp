#include "plan/planner.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/text.h"

namespace lowtide::plan {

namespace {

using graph::Node;
using graph::Phase;

std::vector<Item> items(const Schedule& schedule) {
  std::vector<Item> result;
  result.reserve(schedule.buffers.size());
  for (const TransientBuffer& buffer : schedule.buffers) result.push_back(buffer.item);
  return result;
}

// Forward values computed once and still read after the forward pass.
int count_kept(const Model& model, const Schedule& schedule) {
  std::int32_t end_of_forward = -1;
  for (std::size_t i = 0; i < schedule.sequence.size(); ++i) {
    const Execution& execution = schedule.sequence[i];
    const Phase phase = model.graph.node(execution.node).phase;
    if (!execution.again && (phase == Phase::kForward || phase == Phase::kLoss)) {
      end_of_forward = static_cast<std::int32_t>(i);
    }
  }
  return static_cast<int>(
      std::count_if(schedule.copies.begin(), schedule.copies.end(), [&](const Copy& copy) {
        const ValueFacts& facts = model.values[copy.value];
        return facts.producer.valid() && facts.base == copy.value &&
               copy.written <= end_of_forward && copy.last_read > end_of_forward;
      }));
}

// What lies in a buffer, for people.
std::string resident_name(const Model& model, const Plan& plan, BufferId id) {
  const Buffer& buffer = plan.buffers[id];
  if (buffer.kind != BufferKind::kScratch) return model.graph.value(buffer.value).name;
  const Step& step = plan.steps[static_cast<std::size_t>(buffer.first)];
  return core::text("workspace of {}", model.graph.node(step.node).name);
}

}  // namespace

std::string_view name(Policy policy) {
  switch (policy) {
    case Policy::kLowtide: return "lowtide";
    case Policy::kKeep: return "keep";
    case Policy::kChen: return "chen";
  }
  return "unknown";
}

Policy parse_policy(std::string_view text) {
  for (const Policy policy : {Policy::kLowtide, Policy::kKeep, Policy::kChen}) {
    if (name(policy) == text) return policy;
  }
  throw core::fail(ErrorCode::kInvalidArgument,
                   "'{}' is not a policy; choose lowtide, keep or chen", text);
}

Planner::Planner(const graph::Graph& graph,
                 const Costs& costs,
                 const core::IdVector<ValueId, Bytes>& persistent_offsets,
                 Bytes persistent_bytes,
                 Policy policy)
    : model_(read_model(graph, costs)),
      droppable_(model_),
      persistent_offsets_(persistent_offsets),
      persistent_bytes_(persistent_bytes.rounded_up(kAlignment)),
      policy_(policy),
      candidates_(search(model_, droppable_, policy)),
      arenas_(candidates_.size()) {}

Schedule Planner::schedule(std::size_t candidate) const {
  return make_schedule(model_, make_sequence(model_, droppable_, candidates_[candidate].fates));
}

Bytes Planner::arena(std::size_t candidate) {
  std::optional<Bytes>& known = arenas_[candidate];
  if (!known) known = persistent_bytes_ + pack(items(schedule(candidate))).height;
  return *known;
}

std::size_t Planner::smallest_candidate() {
  std::vector<std::size_t> by_peak(candidates_.size());
  for (std::size_t i = 0; i < by_peak.size(); ++i) by_peak[i] = i;
  std::stable_sort(by_peak.begin(), by_peak.end(), [&](std::size_t a, std::size_t b) {
    return candidates_[a].peak < candidates_[b].peak;
  });
  std::size_t smallest = by_peak.front();
  for (const std::size_t i : by_peak) {
    if (persistent_bytes_ + candidates_[i].peak >= arena(smallest)) break;
    if (arena(i) < arena(smallest)) smallest = i;
  }
  return smallest;
}

Bytes Planner::smallest_arena() { return arena(smallest_candidate()); }

std::variant<Plan, Infeasible> Planner::make(Bytes arena_bytes) {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (persistent_bytes_ + candidates_[i].peak > arena_bytes) continue;
    if (arena(i) <= arena_bytes) return plan(i);
  }
  return infeasible();
}

std::vector<BufferId> Planner::add_buffers(const Schedule& schedule, Plan& plan) const {
  const auto end = std::max(static_cast<std::int32_t>(schedule.sequence.size()) - 1, 0);
  for (const ValueId id : model_.persistent) {
    plan.buffers.push_back({.kind = BufferKind::kPersistent,
                            .value = id,
                            .size = model_.values[id].bytes,
                            .offset = persistent_offsets_[id],
                            .first = 0,
                            .last = end});
  }
  const Packing packing = pack(items(schedule));
  std::vector<BufferId> ids;
  for (std::size_t i = 0; i < schedule.buffers.size(); ++i) {
    const TransientBuffer& buffer = schedule.buffers[i];
    ids.push_back(plan.buffers.push_back(
        {.kind = buffer.value.valid() ? BufferKind::kTransient : BufferKind::kScratch,
         .value = buffer.value,
         .size = buffer.item.size,
         .offset = persistent_bytes_ + packing.offsets[i],
         .first = buffer.item.first,
         .last = buffer.item.last}));
  }
  plan.arena_bytes = persistent_bytes_ + packing.height;
  return ids;
}

void Planner::add_steps(const Schedule& schedule,
                        const std::vector<BufferId>& ids,
                        Plan& plan) const {
  core::IdVector<ValueId, BufferId> home(model_.values.size());
  for (std::size_t i = 0; i < model_.persistent.size(); ++i) {
    home[model_.persistent[i]] = BufferId(i);
  }
  std::size_t operand = 0;
  const auto place = [&](ValueId id) {
    const std::int32_t copy = schedule.operands[operand++];
    if (copy == Schedule::kPersistent) return Place{home[model_.values[id].home], Bytes(0)};
    const auto buffer =
        static_cast<std::size_t>(schedule.copies[static_cast<std::size_t>(copy)].buffer);
    return Place{ids[buffer], Bytes(0)};
  };
  for (std::size_t i = 0; i < schedule.sequence.size(); ++i) {
    const Execution& execution = schedule.sequence[i];
    const Node& node = model_.graph.node(execution.node);
    Step step{.node = execution.node, .again = execution.again, .in = {}, .out = {}, .scratch = {}};
    for (const ValueId id : node.inputs) step.in.push_back(place(id));
    for (const ValueId id : node.outputs) step.out.push_back(place(id));
    if (schedule.scratch[i] != Schedule::kNone) {
      step.scratch = ids[static_cast<std::size_t>(schedule.scratch[i])];
    }
    plan.recomputed += execution.again ? 1 : 0;
    plan.steps.push_back(std::move(step));
  }
}

Plan Planner::plan(std::size_t candidate) {
  const Schedule chosen = schedule(candidate);
  Plan plan;
  plan.policy = policy_;
  add_steps(chosen, add_buffers(chosen, plan), plan);
  const std::vector<Bytes> live = profile(chosen);
  const auto peak = std::max_element(live.begin(), live.end());
  plan.peak_live_bytes = persistent_bytes_ + *peak;
  plan.peak_step = static_cast<std::int32_t>(peak - live.begin());
  plan.predicted_seconds = seconds(model_, chosen.sequence);
  for (const NodeFacts& node : model_.nodes)
    plan.lower_bound_seconds += node.needed ? node.seconds : 0;
  plan.kept = count_kept(model_, chosen);
  return plan;
}

Infeasible Planner::infeasible() {
  const Plan smallest = plan(smallest_candidate());
  Infeasible answer{.smallest_arena_bytes = smallest.arena_bytes, .peak_node = {}, .residents = {}};
  if (!smallest.steps.empty()) {
    const Step& step = smallest.steps[static_cast<std::size_t>(smallest.peak_step)];
    answer.peak_node = model_.graph.node(step.node).name;
  }
  for (std::size_t i = 0; i < smallest.buffers.size(); ++i) {
    const Buffer& buffer = smallest.buffers[BufferId(i)];
    if (buffer.first > smallest.peak_step || buffer.last < smallest.peak_step) continue;
    answer.residents.push_back({resident_name(model_, smallest, BufferId(i)), buffer.size});
  }
  std::stable_sort(answer.residents.begin(), answer.residents.end(),
                   [](const Resident& a, const Resident& b) { return a.bytes > b.bytes; });
  if (answer.residents.size() > 10) answer.residents.resize(10);
  return answer;
}

std::variant<Plan, Infeasible> make(const Request& request) {
  return Planner(request.graph, request.costs, request.persistent_offsets, request.persistent_bytes,
                 request.policy)
      .make(request.arena_bytes);
}

}  // namespace lowtide::plan
