#include "train/plans/saved_plan.h"

#include <algorithm>
#include <charconv>

#include "core/text.h"
#include "plan/file/names.h"
#include "train/prepare/settings/names.h"

namespace lowtide::train {
namespace {

using core::fail;
using core::text;
using graph::Graph;
using plan::FileProgram;
using plan::NodeId;
using plan::PlanFile;
using plan::ValueId;
using train::name;

constexpr const char* kMicroBatch = "micro-batch";

const char* name(Unit::Purpose purpose) {
  switch (purpose) {
    case Unit::Purpose::kTrain: return "train";
    case Unit::Purpose::kAccumulate: return "accumulate";
    case Unit::Purpose::kUpdate: return "update";
    case Unit::Purpose::kEvaluate: return "evaluate";
  }
  return "";
}

// The options that shape plans, in the words of the command line. What else does, the graphs'
// digests show.
std::vector<std::pair<std::string, std::string>> options_of(const Recipe& recipe,
                                                            const TrainSettings& settings,
                                                            std::int64_t micro_batch) {
  const core::Isa isa =
      recipe.machine.isa == core::Isa::kNative ? core::best_isa() : recipe.machine.isa;
  return {{"batch", text("{}", recipe.batch)},
          {kMicroBatch, text("{}", micro_batch)},
          {"loss", std::string(name(recipe.loss.kind))},
          {"optimizer", std::string(name(settings.optimizer.kind))},
          {"clip-norm", settings.optimizer.clip_norm ? "on" : "off"},
          {"running-stats",
           settings.running_statistics == RunningStatistics::kPyTorch ? "pytorch" : "onnx"},
          {"threads", text("{}", recipe.machine.threads)},
          {"isa", std::string(core::name(isa))}};
}

void check_options(const PlanFile& file,
                   const std::string& name,
                   const std::vector<std::pair<std::string, std::string>>& options) {
  for (const auto& mine : options) {
    const auto found = std::find_if(file.settings.begin(), file.settings.end(),
                                    [&](const auto& entry) { return entry.first == mine.first; });
    const std::string theirs = found == file.settings.end() ? "nothing" : found->second;
    if (theirs == mine.second) continue;
    throw fail(ErrorCode::kInvalidArgument,
               "{}: is a plan for another run: --{} was {} there and is {} here", name, mine.first,
               theirs, mine.second);
  }
}

FileProgram program_of(const Unit& unit) {
  const Graph& graph = unit.pass.graph;
  FileProgram program{.purpose = name(unit.purpose),
                      .samples = unit.pass.samples,
                      .digest = plan::digest(graph, unit.costs),
                      .values = {},
                      .nodes = {},
                      .plan = *unit.plan};
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(ValueId(i));
    program.values.push_back(
        {value.name, value.type.str(), std::string(plan::name(value.role)), value.type.bytes()});
  }
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::Node& node = graph.node(NodeId(i));
    program.nodes.push_back({.name = node.name,
                             .op = std::string(node.op->name()),
                             .phase = std::string(plan::name(node.phase)),
                             .kernel = std::string(unit.kernels.of(NodeId(i)).name()),
                             .seconds = unit.costs[NodeId(i)].seconds,
                             .in = node.inputs,
                             .out = node.outputs});
  }
  return program;
}

// The first thing in which the graphs differ, for a message.
std::string difference(const Unit& unit, const FileProgram& program) {
  const Graph& graph = unit.pass.graph;
  const std::size_t nodes = std::min(graph.node_count(), program.nodes.size());
  for (std::size_t i = 0; i < nodes; ++i) {
    const graph::Node& node = graph.node(NodeId(i));
    const plan::FileNode& theirs = program.nodes[i];
    if (theirs.name != node.name || theirs.op != node.op->name()) {
      return text("node {} was '{}' ({}) there and is '{}' ({}) here", i, theirs.name, theirs.op,
                  node.name, node.op->name());
    }
  }
  const std::size_t values = std::min(graph.value_count(), program.values.size());
  for (std::size_t i = 0; i < values; ++i) {
    const graph::Value& value = graph.value(ValueId(i));
    const plan::FileValue& theirs = program.values[i];
    if (theirs.name != value.name || theirs.type != value.type.str()) {
      return text("value {} was '{}' ({}) there and is '{}' ({}) here", i, theirs.name, theirs.type,
                  value.name, value.type.str());
    }
  }
  if (graph.node_count() != program.nodes.size()) {
    return text("the program had {} nodes there and has {} here", program.nodes.size(),
                graph.node_count());
  }
  return "the digests of the graphs or of what their kernels need differ";
}

const FileProgram& program_for(const Unit& unit, const PlanFile& file, const std::string& path) {
  const auto found =
      std::find_if(file.programs.begin(), file.programs.end(), [&](const FileProgram& program) {
        return program.purpose == name(unit.purpose) && program.samples == unit.pass.samples;
      });
  if (found == file.programs.end()) {
    throw fail(ErrorCode::kInvalidArgument,
               "{}: has no program to {} with passes of {} samples, as this data needs; plan with "
               "the same --data",
               path, name(unit.purpose), unit.pass.samples);
  }
  if (found->digest != plan::digest(unit.pass.graph, unit.costs)) {
    throw fail(ErrorCode::kInvalidArgument, "{}: is a plan for another model or other settings: {}",
               path, difference(unit, *found));
  }
  if (found->nodes.size() != unit.pass.graph.node_count()) {
    throw fail(ErrorCode::kInvalidFile, "{}: lists {} of the program's {} nodes", path,
               found->nodes.size(), unit.pass.graph.node_count());
  }
  return *found;
}

StatePlaces places_of(const PlanFile& file, const std::string& path, const StateLayout& state) {
  if (file.state.size() != state.count()) {
    throw fail(ErrorCode::kInvalidArgument,
               "{}: is a plan for another model or other settings: {} values lasted from step to "
               "step there and {} here",
               path, file.state.size(), state.count());
  }
  std::vector<char> in_file;
  for (std::size_t i = 0; i < state.count(); ++i) {
    const plan::FileState& theirs = file.state[i];
    if (theirs.name != state.name(i) || theirs.bytes != state.size(i)) {
      throw fail(ErrorCode::kInvalidArgument,
                 "{}: is a plan for another model or other settings: '{}' ({} bytes) stood there "
                 "where '{}' ({} bytes) stands here",
                 path, theirs.name, theirs.bytes.count(), state.name(i), state.size(i).count());
    }
    in_file.push_back(theirs.in_file ? 1 : 0);
  }
  return state.arrange(in_file);
}

}  // namespace

PlanFile plan_file(const Recipe& recipe,
                   const TrainSettings& settings,
                   const Configuration& configuration,
                   const std::string& costs,
                   Bytes budget,
                   Bytes runtime) {
  PlanFile file{.settings = options_of(recipe, settings, configuration.micro_batch()),
                .costs = costs,
                .budget = budget,
                .runtime = runtime,
                .state = {},
                .programs = {}};
  const StateLayout& state = configuration.state();
  const StatePlaces& places = configuration.places();
  for (std::size_t i = 0; i < state.count(); ++i) {
    file.state.push_back({state.name(i), state.size(i), places.in_file[i] != 0, places.offsets[i]});
  }
  for (const Unit& unit : configuration.units()) file.programs.push_back(program_of(unit));
  return file;
}

Bytes report_bytes(const Configuration& configuration) {
  constexpr Bytes kPerNode{2048};  // what compares the policies is the larger part
  return static_cast<std::int64_t>(configuration.node_count()) * kPerNode;
}

std::int64_t micro_batch_of(const PlanFile& file,
                            const std::string& name,
                            const Recipe& recipe,
                            const TrainSettings& settings) {
  std::int64_t size = 0;
  for (const auto& [option, value] : file.settings) {
    if (option == kMicroBatch) std::from_chars(value.data(), value.data() + value.size(), size);
  }
  const std::int64_t asked = settings.memory.micro_batch;
  check_options(file, name, options_of(recipe, settings, asked > 0 ? asked : size));
  if (size < 1 || size > recipe.batch) {
    throw fail(ErrorCode::kInvalidFile, "{}: a micro-batch of {} does not fit a batch of {}", name,
               size, recipe.batch);
  }
  return size;
}

void obey(const PlanFile& file, const std::string& name, Configuration& configuration) {
  std::vector<plan::Plan> plans;
  std::vector<core::IdVector<NodeId, double>> seconds;
  for (const Unit& unit : configuration.units()) {
    const FileProgram& program = program_for(unit, file, name);
    plans.push_back(program.plan);
    seconds.emplace_back();
    for (const plan::FileNode& node : program.nodes) seconds.back().push_back(node.seconds);
  }
  const std::vector<std::string> faults =
      configuration.adopt(std::move(plans), seconds, places_of(file, name, configuration.state()));
  if (!faults.empty()) {
    throw fail(ErrorCode::kInvalidFile, "{}: the plan is wrong: {}{}", name, faults.front(),
               faults.size() > 1 ? text(" (and {} more)", faults.size() - 1) : "");
  }
}

}  // namespace lowtide::train
