#include "plan/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "plan/assemble.h"
#include "plan/baseline/baseline.h"
#include "plan/bound/bound.h"
#include "plan/problem/gauge.h"
#include "plan/spill/relief.h"

namespace lowtide::plan {

namespace {

// What spilling is tried with. The work grows with all of it: problems of very many tasks get less.
struct Effort {
  std::size_t candidates = 0;  // of each front, spread over it
  double ratio = 0;            // of the sizes that each is squeezed to
  // Of what the spill file can take: as much is taken from recomputation before it is searched.
  std::vector<double> shares;
};

Effort effort_for(std::size_t tasks) {
  constexpr std::size_t kMany = 10'000;
  if (tasks >= kMany) return {.candidates = 6, .ratio = 1.02, .shares = {}};
  return {.candidates = 12, .ratio = 1.01, .shares = {0.5, 1}};
}

constexpr int kCuts = 8;                         // steps that the lower bound is tried at
constexpr Bytes kNever{std::int64_t{1} << 60U};  // an arena that nothing fits

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

Planner::Planner(const graph::Graph& graph,
                 const Costs& costs,
                 std::vector<Homes> homes,
                 const Planning& planning)
    : model_(read_model(graph, costs)),
      problem_(model_),
      homes_(std::move(homes)),
      policy_(planning.policy),
      tier_(planning.tier),
      known_(homes_.size()) {
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
  if (tier_) choose_spillable();
}

// Some of each front.
void Planner::choose_spillable() {
  const std::size_t most = effort_for(problem_.problem().tasks.size()).candidates;
  for (std::size_t front = 0; front + 1 < fronts_.size(); ++front) {
    const std::size_t all = fronts_[front + 1] - fronts_[front];
    const std::size_t some = std::min(most, all);
    for (std::size_t i = 0; i < some; ++i) {
      spillable_.push_back(fronts_[front] + (some == 1 ? 0 : i * (all - 1) / (some - 1)));
    }
  }
  std::stable_sort(spillable_.begin(), spillable_.end(), [&](std::size_t a, std::size_t b) {
    return candidates_[a].seconds < candidates_[b].seconds;
  });
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
  Gauge gauge(problem);
  // What another system would do is a candidate like any other: none is ever better.
  std::vector<Candidate> found;
  for (const Policy policy : all_policies()) {
    const bool wanted = planning.policy == policy || planning.policy == Policy::kLowtide;
    if (!is_baseline(policy) || !wanted) continue;
    for (Choices& choices : baseline(problem, layers, policy)) {
      found.push_back(gauge.candidate(std::move(choices)));
    }
  }
  if (!is_baseline(planning.policy)) found = search(problem, planning.policy, std::move(found));
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
  fronts_ = other.fronts_;
  for (Candidate& candidate : candidates_) {
    candidate.seconds = seconds(model_, problem_.sequence(candidate.choices));
  }
  find_peaks(problem_.problem(), candidates_);
  return true;
}

void Planner::search_all(const Planning& planning) {
  if (planning.like != nullptr && adopt(*planning.like)) return;
  if (planning.model_costs == nullptr) {
    candidates_ = candidates(model_, problem_, planning);
    steady_ = candidates_.size();
  } else {
    const Model model = read_model(model_.graph, *planning.model_costs);
    add(candidates(model, GraphProblem(model), planning));
    steady_ = candidates_.size();
    add(candidates(model_, problem_, planning));
  }
  fronts_ = {0, steady_, candidates_.size()};
  if (tier_ && policy_ == Policy::kLowtide) search_relieved();
}

void Planner::add(std::vector<Candidate> found) {
  for (Candidate& candidate : found) {
    candidate.seconds = seconds(model_, problem_.sequence(candidate.choices));
    candidates_.push_back(std::move(candidate));
  }
}

// What recomputation does best when transfers take over some of its work, or all that they can.
void Planner::search_relieved() {
  for (const double share : effort_for(problem_.problem().tasks.size()).shares) {
    std::vector<Candidate> found = search(relieved(problem_.problem(), *tier_, share), policy_);
    find_peaks(problem_.problem(), found);
    add(std::move(found));
    fronts_.push_back(candidates_.size());
  }
}

bool Planner::steady(std::size_t candidate) const { return candidate < steady_; }

Schedule Planner::schedule(std::size_t candidate) const {
  return make_schedule(model_, problem_.sequence(candidates_[candidate].choices));
}

Schedule Planner::schedule(const Choice& choice, const Homes& homes) const {
  if (!choice.limit) return schedule(choice.candidate);
  const std::unique_ptr<Spiller> spiller = make_spiller(choice.candidate, homes);
  spiller->fit(*choice.limit, choice.overlap);
  return spiller->schedule();
}

Bytes Planner::base(const Homes& homes) const {
  return homes.arena_bytes.rounded_up(tier_ ? kTransferAlignment : kAlignment);
}

// What depends on no rates: the candidates as they are, and the least size of some with transfers.
Planner::Known& Planner::known(std::size_t homes) {
  std::optional<Known>& result = known_[homes];
  if (result) return *result;
  const Homes& where = homes_[homes];
  Choices all;
  if (!reads_file(where)) {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      all.push_back(
          {.candidate = i, .seconds = candidates_[i].seconds, .peak = Bytes(candidates_[i].peak)});
    }
  }
  for (const std::size_t candidate : spillable_) {
    if (!steady(candidate)) continue;
    const std::unique_ptr<Spiller> spiller = make_spiller(candidate, where);
    if (spiller->idle()) continue;
    const Spiller::Result least = spiller->fit(spiller->least(), Overlap::kNone);
    all.push_back({.candidate = candidate,
                   .seconds = least.seconds,
                   .peak = least.peak,
                   .limit = spiller->least(),
                   .overlap = Overlap::kNone});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; });
  result.emplace(Known{.listed = std::move(all), .spilled = {}});
  return *result;
}

// The fastest that may fit the arena and takes less than `bound`: what was packed in vain is passed
// over. Candidates are squeezed to every size of a ladder that the arena has room for; as the
// ladder does not depend on the arena, more memory never gives a slower plan.
Planner::Choice* Planner::most_promising(Bytes arena,
                                         std::size_t homes,
                                         double bound,
                                         Spillers& spillers) {
  const Bytes room = arena - base(homes_[homes]);
  Choice* best = nullptr;
  const auto consider = [&](Choice& choice) {
    if (choice.seconds >= bound || choice.peak > room) return;
    if (choice.packing && choice.arena > arena) return;
    best = &choice;
    bound = choice.seconds;
  };
  for (Choice& choice : known(homes).listed) consider(choice);
  if (!tier_) return best;
  const double ratio = effort_for(problem_.problem().tasks.size()).ratio;
  const double rungs = std::log(static_cast<double>(arena.count()) + 1) / std::log(ratio);
  bool any = true;
  for (auto rung = static_cast<std::int64_t>(rungs); any && rung >= 0; --rung) {
    const Bytes size(static_cast<std::int64_t>(std::pow(ratio, static_cast<double>(rung))));
    if (size > arena) continue;
    any = false;
    for (const std::size_t candidate : spillable_) {
      if (candidates_[candidate].seconds >= bound) break;
      std::unique_ptr<Spiller>& spiller = spillers[candidate];
      if (!spiller) spiller = make_spiller(candidate, homes_[homes]);
      const Bytes limit = std::min(size - base(homes_[homes]), spiller->most());
      if (spiller->idle() || limit < spiller->least()) continue;
      any = true;
      if (candidates_[candidate].seconds + spiller->least_wait(limit) >= bound) continue;
      consider(spilled(candidate, homes, limit, *spiller));
    }
  }
  return best;
}

Planner::Choice& Planner::spilled(std::size_t candidate,
                                  std::size_t homes,
                                  Bytes limit,
                                  Spiller& spiller) {
  const auto [found, fresh] = known(homes).spilled.try_emplace({candidate, limit});
  if (fresh) {
    const Spiller::Result result = spiller.fit(limit, Overlap::kFull);
    found->second = {
        .candidate = candidate, .seconds = result.seconds, .peak = result.peak, .limit = limit};
  }
  return found->second;
}

std::unique_ptr<Spiller> Planner::make_spiller(std::size_t candidate, const Homes& homes) const {
  return std::make_unique<Spiller>(model_, schedule(candidate), homes.file_offsets, *tier_,
                                   victim_);
}

// Of all that fit the arena and take less than `bound`.
Planner::Choice* Planner::fastest(Bytes arena_bytes, std::size_t homes, double bound) {
  Spillers spillers;
  for (;;) {
    Choice* const best = most_promising(arena_bytes, homes, bound, spillers);
    if (best == nullptr || arena(*best, homes_[homes]) <= arena_bytes) return best;
  }
}

Bytes Planner::arena(Choice& choice, const Homes& homes, Bytes enough) const {
  if (choice.packing) return choice.arena;
  const Schedule chosen = schedule(choice, homes);
  const bool file_fits = !tier_ || homes.file_bytes + packed_slots(chosen) <= tier_->limit;
  choice.packing = pack_buffers(chosen, choice.limit.value_or(enough - base(homes)));
  choice.arena = file_fits ? base(homes) + choice.packing->height : kNever;
  return choice.arena;
}

// Those that depend neither on rates nor on measured costs, which are others in every process:
// least first.
std::vector<Planner::Choice*> Planner::lasting(std::size_t homes) {
  std::vector<Choice*> result;
  for (Choice& choice : known(homes).listed) {
    if (steady(choice.candidate)) result.push_back(&choice);
  }
  LT_CHECK(!result.empty(), "there is always a candidate");
  std::stable_sort(result.begin(), result.end(), [](const Choice* a, const Choice* b) {
    return a->peak != b->peak ? a->peak < b->peak : a->candidate < b->candidate;
  });
  return result;
}

Planner::Choice& Planner::smallest_choice(std::size_t homes, Bytes enough) {
  const Homes& where = homes_[homes];
  const std::vector<Choice*> by_peak = lasting(homes);
  Choice* smallest = by_peak.front();
  for (Choice* const choice : by_peak) {
    const Bytes least = arena(*smallest, where, enough);
    if (least <= enough || base(where) + choice->peak >= least) break;
    if (arena(*choice, where, enough) < least) smallest = choice;
  }
  return *smallest;
}

Bytes Planner::smallest_arena(std::size_t homes, Bytes enough) {
  return arena(smallest_choice(homes, enough), homes_[homes]);
}

bool Planner::fits(Bytes arena_bytes, std::size_t homes) {
  for (Choice* const choice : lasting(homes)) {
    if (base(homes_[homes]) + choice->peak > arena_bytes) return false;
    if (arena(*choice, homes_[homes]) <= arena_bytes) return true;
  }
  return false;
}

std::variant<Plan, Infeasible> Planner::make(Bytes arena_bytes, std::size_t homes) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const bool varying = tier_ || steady_ < candidates_.size();
  const Choice* const choice =
      varying && !fits(arena_bytes, homes) ? nullptr : fastest(arena_bytes, homes, kAny);
  if (choice == nullptr) return infeasible(smallest_choice(homes), homes_[homes]);
  return plan(*choice, homes_[homes], arena_bytes);
}

std::optional<double> Planner::fastest_seconds(Bytes arena, std::size_t homes, double bound) {
  const Choice* const choice = fastest(arena, homes, bound);
  return choice == nullptr ? std::nullopt : std::optional(choice->seconds);
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
