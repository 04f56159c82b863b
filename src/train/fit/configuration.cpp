#include "train/fit/configuration.h"

#include <algorithm>
#include <set>

#include "core/text.h"
#include "plan/bound/least.h"
#include "plan/spill/leisure.h"
#include "run/costs.h"
#include "train/prepare/layers.h"

namespace lowtide::train {
namespace {

// The sizes of the batches that validation goes through: at most `batch` samples each.
std::vector<std::int64_t> validation_sizes(const Recipe& recipe, std::int64_t batch) {
  const std::int64_t samples = recipe.validation->samples();
  std::vector<std::int64_t> sizes = {std::min(batch, samples)};
  if (samples > batch && samples % batch != 0) sizes.push_back(samples % batch);
  return sizes;
}

}  // namespace

Configuration Configuration::for_training(const Recipe& recipe,
                                          const TrainSettings& settings,
                                          std::span<const std::int64_t> batch_sizes,
                                          std::int64_t micro_batch,
                                          const std::optional<plan::SpillTier>& tier) {
  Configuration result;
  result.batch_ = batch_sizes.front();
  result.micro_batch_ = micro_batch;
  const bool accumulates = micro_batch < result.batch_;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t batch : batch_sizes) {
    if (!accumulates) {
      sizes.push_back(batch);
      continue;
    }
    if (batch >= micro_batch) sizes.push_back(micro_batch);
    if (batch % micro_batch != 0) sizes.push_back(batch % micro_batch);
  }
  std::set<std::int64_t> done;
  const Gradients gradients = accumulates ? Gradients::kAccumulate : Gradients::kUpdate;
  for (const std::int64_t size : sizes) {
    if (!done.insert(size).second) continue;
    result.add_unit(accumulates ? Unit::Purpose::kAccumulate : Unit::Purpose::kTrain,
                    build_training_pass(recipe, settings, size, gradients), recipe.machine);
  }
  if (accumulates) {
    result.update_ = result.units_.size();
    result.add_unit(Unit::Purpose::kUpdate, build_update(result.units_.front().pass, settings),
                    recipe.machine);
  }
  if (recipe.validation) {
    for (const std::int64_t size : validation_sizes(recipe, micro_batch)) {
      result.add_unit(Unit::Purpose::kEvaluate, build_validation_pass(recipe, settings, size),
                      recipe.machine);
    }
  }
  for (const std::int64_t batch : batch_sizes) result.portions_.emplace(batch, result.cut(batch));
  result.start_planning(plan::parse_policy(settings.memory.policy), tier);
  return result;
}

Configuration Configuration::for_evaluation(const Recipe& recipe,
                                            std::span<const std::int64_t> batch_sizes,
                                            plan::Policy policy) {
  Configuration result;
  result.batch_ = batch_sizes.front();
  result.micro_batch_ = result.batch_;
  for (const std::int64_t size : batch_sizes) {
    result.add_unit(Unit::Purpose::kEvaluate, build_evaluation_pass(recipe, size), recipe.machine);
  }
  for (const std::int64_t batch : batch_sizes) result.portions_.emplace(batch, result.cut(batch));
  result.start_planning(policy, std::nullopt);
  return result;
}

void Configuration::add_unit(Unit::Purpose purpose, PassGraph pass, const core::Machine& machine) {
  Unit unit;
  unit.purpose = purpose;
  unit.pass = std::move(pass);
  LT_CHECK(graph::verify(unit.pass.graph).empty(), "a pass's graph must be sound");
  const kernels::PrimitiveCounts before = kernels::primitive_counts();
  unit.kernels = run::Kernels::bind(unit.pass.graph, machine);
  unit.primitives = kernels::primitive_counts();
  unit.primitives -= before;
  unit.layers = layers_of(unit.pass.graph);
  unit.model_costs = run::model_costs(unit.pass.graph, unit.kernels, machine);
  unit.costs = unit.model_costs;
  state_.place(unit.pass.graph);
  units_.push_back(std::move(unit));
}

// What the main pass does not touch goes first. Of the rest, weights free less than optimizer state
// does for the same transfers, as the backward pass reads them again.
std::vector<double> Configuration::leisure() const {
  std::vector<double> result(state_.count(), 1);
  const graph::Graph& graph = main().pass.graph;
  const core::IdVector<graph::ValueId, double> shares = plan::leisure(graph, main().model_costs);
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(graph::ValueId(i));
    if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
    const double weight = value.role == graph::Role::kOptimizer ? 1.0 : 0.5;
    result[state_.entry(value)] = weight * shares[graph::ValueId(i)];
  }
  return result;
}

// Planning starts when all state is known: it lies below everything else in every program.
void Configuration::start_planning(plan::Policy policy,
                                   const std::optional<plan::SpillTier>& tier) {
  policy_ = policy;
  tier_ = tier;
  places_ = tier ? state_.places(leisure()) : std::vector<StatePlaces>{state_.resident()};
  passes_.assign(units_.size(), 0);
  if (accumulates()) passes_[*update_] = 1;
  for (const Portion& portion : portions(batch_)) {
    passes_[portion.unit] += static_cast<double>(portion.count);
  }
}

std::shared_ptr<Planners> Configuration::planners(plan::Policy policy) {
  if (policy == policy_ && planners_) return planners_;
  // SuperNeurons has its tensor cache for activations, and the state in memory.
  const std::size_t places = policy == plan::Policy::kSuperNeurons ? 1 : places_.size();
  auto made = std::make_shared<Planners>(
      units_, passes_, state_, std::span<const StatePlaces>(places_).first(places), policy, tier_);
  if (policy == policy_) planners_ = made;
  return made;
}

const std::vector<Portion>& Configuration::portions(std::int64_t samples) const {
  const auto found = portions_.find(samples);
  LT_CHECK(found != portions_.end(), "no program for a batch of this size");
  return found->second;
}

std::vector<Portion> Configuration::cut(std::int64_t samples) const {
  const auto unit_for = [&](std::int64_t size) {
    const auto found = std::find_if(units_.begin(), units_.end(),
                                    [&](const Unit& unit) { return unit.pass.samples == size; });
    LT_CHECK(found != units_.end(), "no program for a batch of this size");
    return static_cast<std::size_t>(found - units_.begin());
  };
  if (!accumulates()) return {{unit_for(samples), 1}};
  std::vector<Portion> result;
  if (samples >= micro_batch_) result.push_back({unit_for(micro_batch_), samples / micro_batch_});
  if (samples % micro_batch_ != 0) result.push_back({unit_for(samples % micro_batch_), 1});
  return result;
}

const Unit& Configuration::evaluation(std::int64_t samples) const {
  const auto found = std::find_if(units_.begin(), units_.end(), [&](const Unit& unit) {
    return unit.purpose == Unit::Purpose::kEvaluate && unit.pass.samples == samples;
  });
  LT_CHECK(found != units_.end(), "no evaluation program for a batch of this size");
  return *found;
}

std::size_t Configuration::nodes_per_batch() const {
  std::size_t most = 0;
  for (const auto& [samples, portions] : portions_) {
    std::size_t nodes = accumulates() ? update().pass.graph.node_count() : 0;
    for (const Portion& portion : portions) {
      nodes +=
          static_cast<std::size_t>(portion.count) * units_[portion.unit].pass.graph.node_count();
    }
    most = std::max(most, nodes);
  }
  return most;
}

std::size_t Configuration::node_count() const {
  std::size_t sum = 0;
  for (const Unit& unit : units_) sum += unit.pass.graph.node_count();
  return sum;
}

kernels::PrimitiveCounts Configuration::primitives() const {
  kernels::PrimitiveCounts sum;
  for (const Unit& unit : units_) sum += unit.primitives;
  return sum;
}

// Of one batch, from that of each unit's pass.
template <class OfUnit>
double Configuration::total(OfUnit of_unit) const {
  double sum = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) sum += passes_[i] * of_unit(i);
  return sum;
}

Configuration::Least Configuration::least() const {
  Least all;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const plan::Least one = plan::least(units_[i].pass.graph, units_[i].costs);
    all.arena = std::max(all.arena, places_.front().arena_bytes + one.transient);
    all.seconds += passes_[i] * one.seconds;
  }
  return all;
}

Bytes Configuration::smallest_arena() { return planners(policy_)->smallest_arena(); }

std::optional<plan::Infeasible> Configuration::fit(Bytes arena) {
  std::variant<Fitted, plan::Infeasible> answer = planners(policy_)->fit(arena);
  if (auto* const infeasible = std::get_if<plan::Infeasible>(&answer)) return *infeasible;
  Fitted& fitted = std::get<Fitted>(answer);
  chosen_ = fitted.places;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    unit.plan = std::move(fitted.plans[i]);
    unit.homes = state_.homes(unit.pass.graph, places());
    const std::vector<std::string> violations = plan::check(
        unit.pass.graph, unit.costs, unit.homes.offsets, *unit.plan, unit.homes.file_offsets);
    LT_CHECK(violations.empty(), violations.empty() ? "" : violations.front().c_str());
  }
  return std::nullopt;
}

bool Configuration::use_costs(std::vector<plan::Costs> costs) {
  LT_CHECK(costs.size() == units_.size(), "costs for every unit");
  planners_.reset();
  bool fastest = true;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    units_[i].costs = std::move(costs[i]);
    units_[i].measured = true;
    // But for alternatives that turn out to be faster: too little to search for them again.
    const plan::Plan& plan = *units_[i].plan;
    fastest = fastest && plan.recomputed == 0 && plan.transfers.empty();
  }
  if (!fastest) return false;
  for (Unit& unit : units_) {
    double seconds = 0;
    for (const plan::Step& step : unit.plan->steps) seconds += unit.costs[step.node].seconds;
    unit.plan->predicted_seconds = seconds;
    unit.plan->lower_bound_seconds = plan::least(unit.pass.graph, unit.costs).seconds;
  }
  return true;
}

std::vector<std::string> Configuration::adopt(
    std::vector<plan::Plan> plans,
    const std::vector<core::IdVector<plan::NodeId, double>>& seconds,
    StatePlaces places) {
  LT_CHECK(plans.size() == units_.size() && seconds.size() == units_.size(), "a plan a unit");
  std::vector<plan::Costs> costs;
  std::vector<plan::Homes> homes;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const graph::Graph& graph = units_[i].pass.graph;
    costs.push_back(units_[i].costs);
    for (std::size_t node = 0; node < graph.node_count(); ++node) {
      costs[i][plan::NodeId(node)].seconds = seconds[i][plan::NodeId(node)];
    }
    homes.push_back(state_.homes(graph, places));
    std::vector<std::string> faults =
        plan::check(graph, costs[i], homes[i].offsets, plans[i], homes[i].file_offsets);
    if (!faults.empty()) return faults;
  }
  for (std::size_t i = 0; i < units_.size(); ++i) {
    units_[i].plan = std::move(plans[i]);
    units_[i].costs = std::move(costs[i]);
    units_[i].homes = std::move(homes[i]);
  }
  planners_.reset();
  places_ = {std::move(places)};
  chosen_ = 0;
  return {};
}

double Configuration::predicted_seconds() const {
  return total([&](std::size_t unit) { return units_[unit].plan->predicted_seconds; });
}

double Configuration::lower_bound_seconds() const {
  return total([&](std::size_t unit) { return units_[unit].plan->lower_bound_seconds; });
}

Bytes Configuration::arena_bytes() const {
  Bytes most = places().arena_bytes;
  for (const Unit& unit : units_) most = std::max(most, unit.plan->arena_bytes);
  return most;
}

Bytes Configuration::spill_bytes() const {
  Bytes most = places().file_bytes;
  for (const Unit& unit : units_) most = std::max(most, unit.plan->spill_bytes);
  return most;
}

std::size_t Configuration::transfers() const {
  std::size_t most = 0;
  for (const Unit& unit : units_) most = std::max(most, unit.plan->transfers.size());
  return most;
}

void Configuration::bind(std::byte* arena, memory::SpillStore* file) {
  if (places().file_bytes > Bytes(0)) {
    LT_CHECK(file != nullptr, "state in the spill file needs a spill file");
    state_.load(arena, places(), *file);
  } else {
    state_.load(arena);
  }
  for (Unit& unit : units_) {
    unit.program = run::Program::bind(unit.pass.graph, *unit.plan, unit.kernels, arena, file);
  }
}

}  // namespace lowtide::train
