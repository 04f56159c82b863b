#include "train/fit/measured_costs.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "core/machine.h"
#include "core/random.h"
#include "core/text.h"
#include "kernels/dnnl/engine.h"
#include "train/fit/repeated_times.h"

namespace lowtide::train {
namespace {

using core::text;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using Clock = std::chrono::steady_clock;

// The model as the system names it.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

// Two nodes with one key take the same time. Attributes show in the work that the op needs.
std::string key_of(const std::string& scope, const Unit& unit, NodeId id) {
  const Graph& graph = unit.pass.graph;
  const Node& node = graph.node(id);
  const auto in = graph.types(node.inputs);
  const auto out = graph.types(node.outputs);
  const graph::Cost cost = node.op->cost(node.attrs, {in, out});
  std::string types;
  for (const core::TensorType& type : in) types += type.str() + ";";
  types += ">";
  for (const core::TensorType& type : out) types += type.str() + ";";
  return text("{}|{}|{}|{}|{}|{}|{}", scope, node.op->name(), types, unit.kernels.of(id).name(),
              cost.flops, cost.traffic.count(), unit.kernels.of(id).scratch().count());
}

// What costs nothing by the model is a view: it is never run.
bool is_run(const Unit& unit, NodeId id) { return unit.model_costs[id].seconds > 0; }

bool only_floats_out(const Graph& graph, NodeId id) {
  const std::vector<graph::ValueId>& outputs = graph.node(id).outputs;
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](graph::ValueId out) { return core::is_float(graph.type(out).dtype); });
}

// Times a kernel that no step of the plan runs; not where the arena does not hold all operands at
// once. They are harmless numbers: what lies there may be denormal, and slow, as a float.
void time_alone(const Unit& unit, NodeId id, const memory::Arena& arena, RepeatedTimes& times) {
  const Graph& graph = unit.pass.graph;
  const graph::BoundKernel& kernel = unit.kernels.of(id);
  Bytes at;
  const auto take = [&](Bytes bytes) {
    std::byte* const place = arena.data() + at.count();
    at += bytes.rounded_up(plan::kAlignment);
    return place;
  };
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  for (const graph::ValueId value : graph.node(id).inputs) {
    in.push_back(take(graph.type(value).bytes()));
  }
  const Bytes filled = at;
  for (const graph::ValueId value : graph.node(id).outputs) {
    out.push_back(take(graph.type(value).bytes()));
  }
  std::byte* const scratch = take(kernel.scratch());
  if (at > arena.size()) return;
  std::fill_n(reinterpret_cast<float*>(arena.data()),
              filled.count() / static_cast<std::int64_t>(sizeof(float)), 0.5F);
  const graph::StepContext step;
  while (!times.settled()) {
    const Clock::time_point start = Clock::now();
    kernel.run({.in = in,
                .out = out,
                .scratch = {scratch, static_cast<std::size_t>(kernel.scratch().count())},
                .step = &step});
    times.add(std::chrono::duration<double>(Clock::now() - start).count());
  }
}

// Nodes that are alternatives or have any.
core::IdVector<NodeId, char> in_several_ways(const Graph& graph) {
  core::IdVector<NodeId, char> result(graph.node_count(), 0);
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeId other = graph.node(NodeId(i)).alternative_to;
    if (other.valid()) result[NodeId(i)] = result[other] = 1;
  }
  return result;
}

// Times of one unit's kernels. A kernel that has run often enough is passed over, and what it would
// have written keeps what was there before: a network of equal blocks is measured in the time of a
// few. Whole numbers are always computed, as they may be places in other tensors.
class KernelTimes final : public run::Probe {
 public:
  KernelTimes(const Unit& unit, Clock::time_point deadline)
      : graph_(unit.pass.graph), kernels_(unit.kernels), deadline_(deadline) {}

  bool wants(NodeId id) override {
    if (!only_floats_out(graph_, id)) return true;
    if (Clock::now() >= deadline_) return false;
    const auto found = times_.find(&kernels_.of(id));
    return found == times_.end() || !found->second.settled();
  }
  void took(NodeId id, double seconds) override { times_[&kernels_.of(id)].add(seconds); }

  [[nodiscard]] std::optional<double> of(NodeId id) const {
    const auto found = times_.find(&kernels_.of(id));
    return found == times_.end() ? std::nullopt : found->second.seconds();
  }
  // Times what a plan does not run because it runs another way to the same result.
  void time_other_ways(const Unit& unit, const memory::Arena& arena) {
    const core::IdVector<NodeId, char> several = in_several_ways(graph_);
    for (std::size_t i = 0; i < graph_.node_count() && Clock::now() < deadline_; ++i) {
      const NodeId id(i);
      if (several[id] != 0 && !of(id)) time_alone(unit, id, arena, times_[&kernels_.of(id)]);
    }
  }
  [[nodiscard]] bool done() const {
    return std::all_of(times_.begin(), times_.end(),
                       [](const auto& entry) { return entry.second.settled(); });
  }

 private:
  const Graph& graph_;
  const run::Kernels& kernels_;
  Clock::time_point deadline_;
  std::map<const graph::BoundKernel*, RepeatedTimes> times_;
};

// Zeros for whole numbers, which may be places; small numbers for learning rates and normalisers.
void fill(const Unit& unit, graph::ValueId id, core::RandomStream& random) {
  const graph::Value& value = unit.pass.graph.value(id);
  const std::span<std::byte> place = unit.program->bytes(id);
  std::fill(place.begin(), place.end(), std::byte{0});
  if (value.type.dtype != core::DType::kFloat32) return;
  const bool scalar = value.role == graph::Role::kScalar;
  for (std::size_t at = 0; at + sizeof(float) <= place.size(); at += sizeof(float)) {
    const float drawn = static_cast<float>(random.word() >> 8U) * 0x1p-23F - 1.0F;
    const float number = scalar ? 0.01F : drawn;
    std::memcpy(place.data() + at, &number, sizeof(float));
  }
}

void feed(const Unit& unit) {
  core::RandomStream random(1, 0);
  for (const graph::ValueId id : unit.pass.graph.inputs()) fill(unit, id, random);
}

}  // namespace

std::string cost_scope(const core::Machine& machine) {
  const core::Isa isa = machine.isa == core::Isa::kNative ? core::best_isa() : machine.isa;
  return text("{}|{} threads|{}|lowtide {}|onednn {}", processor_name(), machine.threads,
              core::name(isa), LOWTIDE_VERSION, kernels::dnnl_version());
}

std::optional<std::vector<plan::Costs>> cached_costs(const Configuration& configuration,
                                                     const std::string& scope,
                                                     const run::CostCache& cache) {
  std::set<std::string> keys;
  for (const Unit& unit : configuration.units()) {
    for (std::size_t i = 0; i < unit.model_costs.size(); ++i) {
      if (is_run(unit, NodeId(i))) keys.insert(key_of(scope, unit, NodeId(i)));
    }
  }
  const run::KernelSeconds found = cache.find(keys);
  if (found.size() < keys.size()) return std::nullopt;
  std::vector<plan::Costs> all;
  for (const Unit& unit : configuration.units()) {
    plan::Costs costs = unit.model_costs;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (!is_run(unit, NodeId(i))) continue;
      costs[NodeId(i)].seconds = found.at(key_of(scope, unit, NodeId(i)));
    }
    all.push_back(std::move(costs));
  }
  return all;
}

Measurement measure_costs(Configuration& configuration,
                          memory::Arena& arena,
                          memory::SpillStore* file,
                          double seconds,
                          const std::string& scope) {
  const Clock::time_point deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                        std::chrono::duration<double>(seconds));
  // Pages are there before anything is timed.
  std::memset(arena.data(), 0, static_cast<std::size_t>(arena.size().count()));
  configuration.bind(arena.data(), file);
  Measurement result;
  double measured = 0;
  double modelled = 0;
  std::vector<std::vector<NodeId>> missed;
  for (const Unit& unit : configuration.units()) {
    feed(unit);
    KernelTimes times(unit, deadline);
    for (std::size_t walk = 0; walk < RepeatedTimes::kMost; ++walk) {
      if (walk > 0 && times.done()) break;
      if (walk > 0 && Clock::now() >= deadline) break;
      unit.program->measure({}, times);
    }
    times.time_other_ways(unit, arena);
    plan::Costs costs = unit.model_costs;
    missed.emplace_back();
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const NodeId id(i);
      if (!is_run(unit, id)) continue;
      ++result.kernels;
      const std::optional<double> took = times.of(id);
      if (!took) {
        missed.back().push_back(id);
        continue;
      }
      ++result.measured;
      measured += *took;
      modelled += costs[id].seconds;
      costs[id].seconds = *took;
      result.seconds[key_of(scope, unit, id)] = *took;
    }
    result.costs.push_back(std::move(costs));
  }
  const double scale = modelled > 0 ? measured / modelled : 1;
  for (std::size_t i = 0; i < missed.size(); ++i) {
    for (const NodeId id : missed[i]) result.costs[i][id].seconds *= scale;
  }
  return result;
}

}  // namespace lowtide::train
