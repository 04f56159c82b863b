#include "plan/planner.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "plan/assemble.h"
#include "plan/baseline/baseline.h"
#include "plan/bound/bound.h"

namespace lowtide::plan {

namespace {

// Candidates that are tried with spilling, spread over the front; and the sizes that each is
// squeezed to. The work grows with the product.
constexpr std::size_t kBases = 6;
constexpr std::int64_t kSizes = 20;

constexpr int kCuts = 8;  // steps that the lower bound is tried at

// Of an arena that nothing fits.
constexpr Bytes kNever{std::int64_t{1} << 60U};

// What lies in a buffer, for people.
std::string resident_name(const Model& model, const Plan& plan, BufferId id) {
  const Buffer& buffer = plan.buffers[id];
  if (buffer.kind != BufferKind::kScratch) return model.graph.value(buffer.value).name;
  const Step& step = plan.steps[static_cast<std::size_t>(buffer.first)];
  return core::text("workspace of {}", model.graph.node(step.node).name);
}

// Whether state that this graph uses lies in the spill file; that of its relatives may, too.
bool reads_file(const Homes& homes) {
  return std::any_of(homes.file_offsets.begin(), homes.file_offsets.end(),
                     [](Bytes offset) { return offset != kInArena; });
}

}  // namespace

std::span<const Policy> all_policies() {
  static constexpr std::array kAll = {Policy::kLowtide,      Policy::kKeep,      Policy::kChen,
                                      Policy::kNoBn,         Policy::kResidual1, Policy::kResidual2,
                                      Policy::kSuperNeurons, Policy::kDtr};
  return kAll;
}

std::string_view name(Policy policy) {
  switch (policy) {
    case Policy::kLowtide: return "lowtide";
    case Policy::kKeep: return "keep";
    case Policy::kChen: return "chen";
    case Policy::kNoBn: return "no-bn";
    case Policy::kResidual1: return "residual-1";
    case Policy::kResidual2: return "residual-2";
    case Policy::kSuperNeurons: return "superneurons";
    case Policy::kDtr: return "dtr";
  }
  return "unknown";
}

Policy parse_policy(std::string_view text) {
  std::string names;
  for (const Policy policy : all_policies()) {
    if (name(policy) == text) return policy;
    names += core::text("{}{}", names.empty() ? "" : ", ", name(policy));
  }
  throw core::fail(ErrorCode::kInvalidArgument, "'{}' is not a policy; choose one of {}", text,
                   names);
}

Planner::Planner(const graph::Graph& graph,
                 const Costs& costs,
                 std::vector<Homes> homes,
                 const Planning& planning)
    : model_(read_model(graph, costs)),
      problem_(model_),
      homes_(std::move(homes)),
      policy_(planning.policy),
      tier_(planning.tier),
      choices_(homes_.size()) {
  if (policy_ == Policy::kSuperNeurons) {
    // Its tensor cache holds what the products of the forward pass made.
    victim_ = Victim::kUsedLongestAgo;
    for (std::size_t i = 0; i < model_.values.size(); ++i) {
      const NodeId producer = model_.values[ValueId(i)].producer;
      model_.values[ValueId(i)].movable = producer.valid() && planning.layers.contains(producer) &&
                                          planning.layers[producer] == Layer::kProduct;
    }
  }
  search_all(planning);
}

Planner::Planner(const graph::Graph& graph,
                 const Costs& costs,
                 std::vector<Homes> homes,
                 Policy policy,
                 const std::optional<SpillTier>& tier)
    : Planner(graph, costs, std::move(homes), Planning{.policy = policy, .tier = tier}) {}

Planner::Planner(const graph::Graph& graph,
                 const Costs& costs,
                 const core::IdVector<ValueId, Bytes>& persistent_offsets,
                 Bytes persistent_bytes,
                 Policy policy)
    : Planner(graph,
              costs,
              std::vector<Homes>{{.offsets = persistent_offsets, .arena_bytes = persistent_bytes}},
              policy) {}

namespace {

std::vector<Candidate> candidates(const Model& model,
                                  const GraphProblem& graph_problem,
                                  const Planning& planning) {
  const Problem& problem = graph_problem.problem();
  TaskLayers layers;
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    const NodeId node = graph_problem.node(TaskId(i));
    layers.push_back(planning.layers.contains(node) ? planning.layers[node] : Layer::kOther);
  }
  std::vector<Candidate> found;
  const auto add_baseline = [&](Policy policy) {
    for (Choices& choices : baseline(problem, layers, policy)) {
      const std::int64_t peak = problem.tasks.empty() ? 0 : Timeline(problem, choices).peak();
      found.push_back({std::move(choices), 0, peak});
    }
  };
  if (is_baseline(planning.policy)) {
    add_baseline(planning.policy);
  } else {
    found = search(problem, planning.policy);
  }
  if (planning.policy == Policy::kLowtide) {
    // What another system would do is a candidate like any other: none is ever better.
    for (const Policy policy : all_policies()) {
      if (is_baseline(policy)) add_baseline(policy);
    }
  }
  // Views take time too, if little.
  for (Candidate& candidate : found) {
    candidate.seconds = seconds(model, graph_problem.sequence(candidate.choices));
  }
  return pareto(std::move(found));
}

}  // namespace

// The other's candidates, with what they take here.
bool Planner::adopt(const Planner& other) {
  if (!problem_.same_tasks(other.problem_)) return false;
  candidates_ = other.candidates_;
  steady_ = other.steady_;
  for (Candidate& candidate : candidates_) {
    candidate.seconds = seconds(model_, problem_.sequence(candidate.choices));
    if (candidate.peak > 0) {
      candidate.peak = Timeline(problem_.problem(), candidate.choices).peak();
    }
  }
  return true;
}

void Planner::search_all(const Planning& planning) {
  if (planning.like != nullptr && adopt(*planning.like)) return;
  if (planning.model_costs == nullptr) {
    candidates_ = candidates(model_, problem_, planning);
    steady_ = candidates_.size();
    return;
  }
  const Model model = read_model(model_.graph, *planning.model_costs);
  candidates_ = candidates(model, GraphProblem(model), planning);
  steady_ = candidates_.size();
  for (Candidate& candidate : candidates_) {
    candidate.seconds = seconds(model_, problem_.sequence(candidate.choices));
  }
  for (Candidate& candidate : candidates(model_, problem_, planning)) {
    candidates_.push_back(std::move(candidate));
  }
}

bool Planner::steady(std::size_t candidate) const { return candidate < steady_; }

Schedule Planner::schedule(std::size_t candidate) const {
  return make_schedule(model_, problem_.sequence(candidates_[candidate].choices));
}

Schedule Planner::schedule(const Choice& choice, const Homes& homes) const {
  Schedule kept = schedule(choice.candidate);
  if (!choice.limit) return kept;
  Spiller spiller(model_, kept, homes.file_offsets, *tier_, victim_);
  spiller.fit(*choice.limit, choice.overlap);
  return spiller.schedule();
}

Bytes Planner::base(const Homes& homes) const {
  return homes.arena_bytes.rounded_up(tier_ ? kTransferAlignment : kAlignment);
}

Planner::Choices& Planner::choices(std::size_t homes) {
  std::optional<Choices>& known = choices_[homes];
  if (known) return *known;
  Choices all;
  if (!reads_file(homes_[homes])) {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      all.push_back(
          {.candidate = i, .seconds = candidates_[i].seconds, .peak = Bytes(candidates_[i].peak)});
    }
  }
  if (tier_) add_spilled(homes_[homes], all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; });
  known = std::move(all);
  return *known;
}

// A ladder of sizes for some of the candidates, and the least size of each whatever the rates are.
void Planner::add_spilled(const Homes& homes, Choices& choices) const {
  const std::size_t bases = std::min(kBases, steady_);
  for (std::size_t b = 0; b < bases; ++b) {
    const std::size_t candidate = bases == 1 ? 0 : b * (steady_ - 1) / (bases - 1);
    Spiller spiller(model_, schedule(candidate), homes.file_offsets, *tier_, victim_);
    if (spiller.idle()) continue;
    const auto add = [&](Bytes limit, Overlap overlap) {
      const Spiller::Result result = spiller.fit(limit, overlap);
      choices.push_back({.candidate = candidate,
                         .seconds = result.seconds,
                         .peak = result.peak,
                         .limit = limit,
                         .overlap = overlap});
    };
    add(spiller.least(), Overlap::kNone);
    const Bytes range = spiller.most() - spiller.least();
    for (std::int64_t i = 0; i < kSizes; ++i) {
      add(spiller.least() + Bytes(range.count() / kSizes * i), Overlap::kFull);
    }
  }
}

Bytes Planner::arena(Choice& choice, const Homes& homes) const {
  if (choice.packing) return choice.arena;
  const Schedule chosen = schedule(choice, homes);
  const bool file_fits = !tier_ || homes.file_bytes + packed_slots(chosen) <= tier_->limit;
  choice.packing = pack_buffers(chosen);
  choice.arena = file_fits ? base(homes) + choice.packing->height : kNever;
  return choice.arena;
}

// Of those that depend neither on rates nor on measured costs, which are others in every process.
Planner::Choice& Planner::smallest_choice(std::size_t homes) {
  std::vector<Choice*> by_peak;
  for (Choice& choice : choices(homes)) {
    const bool always = !choice.limit || choice.overlap == Overlap::kNone;
    if (always && steady(choice.candidate)) by_peak.push_back(&choice);
  }
  LT_CHECK(!by_peak.empty(), "there is always a candidate");
  std::stable_sort(by_peak.begin(), by_peak.end(), [](const Choice* a, const Choice* b) {
    return a->peak != b->peak ? a->peak < b->peak : a->candidate < b->candidate;
  });
  Choice* smallest = by_peak.front();
  for (Choice* const choice : by_peak) {
    if (base(homes_[homes]) + choice->peak >= arena(*smallest, homes_[homes])) break;
    if (arena(*choice, homes_[homes]) < arena(*smallest, homes_[homes])) smallest = choice;
  }
  return *smallest;
}

Bytes Planner::smallest_arena(std::size_t homes) {
  return arena(smallest_choice(homes), homes_[homes]);
}

std::variant<Plan, Infeasible> Planner::make(Bytes arena_bytes, std::size_t homes) {
  const Homes& where = homes_[homes];
  const bool varying = tier_ || steady_ < candidates_.size();
  if (varying && arena_bytes < smallest_arena(homes)) {
    return infeasible(smallest_choice(homes), where);
  }
  for (Choice& choice : choices(homes)) {
    if (base(where) + choice.peak > arena_bytes) continue;
    if (arena(choice, where) <= arena_bytes) return plan(choice, where, arena_bytes);
  }
  return infeasible(smallest_choice(homes), where);
}

Plan Planner::plan(const Choice& choice, const Homes& homes, Bytes arena) const {
  LT_CHECK(choice.packing.has_value(), "what is planned was packed");
  Plan plan = assemble(model_, schedule(choice, homes), *choice.packing, homes.offsets,
                       homes.file_offsets, base(homes), homes.file_bytes);
  plan.policy = policy_;
  if (tier_) {
    plan.rates = tier_->rates;
  } else {  // the bound knows of no transfers
    const Bytes limit = arena - base(homes);
    plan.lower_bound_seconds =
        std::max(plan.lower_bound_seconds, lower_bound(problem_.problem(), limit.count(), kCuts));
  }
  return plan;
}

Infeasible Planner::infeasible(const Choice& choice, const Homes& homes) const {
  const Plan smallest = plan(choice, homes, choice.arena);
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
