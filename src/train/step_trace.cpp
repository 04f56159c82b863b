#include "train/step_trace.h"

#include <map>
#include <utility>

namespace lowtide::train {
namespace {

const char* phase_name(graph::Phase phase) {
  switch (phase) {
    case graph::Phase::kForward: return "forward";
    case graph::Phase::kLoss: return "loss";
    case graph::Phase::kBackward: return "backward";
    case graph::Phase::kUpdate: return "update";
  }
  return "";
}

// Room for every node twice: plans that recompute repeat fewer.
std::size_t entries_of(const Configuration& configuration) {
  return 2 * configuration.nodes_per_batch();
}

}  // namespace

StepTrace::StepTrace(const Configuration& configuration)
    : configuration_(&configuration),
      fastest_(entries_of(configuration)),
      current_(entries_of(configuration)) {}

Bytes StepTrace::bytes(const Configuration& configuration) {
  constexpr std::int64_t kTextPerEvent = 128;  // names that outgrow a string's own storage
  constexpr auto kPerEvent = Bytes(sizeof(TraceEvent)) + Bytes(kTextPerEvent);
  const std::size_t entries = entries_of(configuration);
  return 2 * run::Timeline::bytes(entries) + static_cast<std::int64_t>(entries) * kPerEvent;
}

void StepTrace::begin_step() { current_.clear(); }

run::Timeline* StepTrace::enter(const Unit& unit) {
  current_.enter(static_cast<std::uint32_t>(&unit - configuration_->units().data()));
  return &current_;
}

void StepTrace::end_step() {
  if (fastest_.entries().empty() || current_.seconds() < fastest_.seconds()) {
    std::swap(fastest_, current_);
  }
}

TraceReport StepTrace::report() const {
  TraceReport report;
  report.seconds = fastest_.seconds();
  report.events.reserve(fastest_.entries().size());
  std::map<std::pair<std::uint32_t, graph::NodeId>, int> executions;
  for (const run::TimelineEntry& entry : fastest_.entries()) {
    const Unit& unit = configuration_->units()[entry.program];
    const graph::Node& node = unit.pass.graph.node(entry.node);
    const auto in = unit.pass.graph.types(node.inputs);
    const auto out = unit.pass.graph.types(node.outputs);
    const graph::Cost cost = node.op->cost(node.attrs, {in, out});
    report.events.push_back(
        {.name = node.name,
         .op = std::string(node.op->name()),
         .phase = phase_name(node.phase),
         .kernel = std::string(unit.kernels.of(entry.node).name()),
         .begin = std::chrono::duration<double>(entry.begin - fastest_.entries()[0].begin).count(),
         .seconds = std::chrono::duration<double>(entry.end - entry.begin).count(),
         .flops = cost.flops,
         .traffic = cost.traffic,
         .repetition = executions[{entry.pass, entry.node}]++});
  }
  return report;
}

}  // namespace lowtide::train
