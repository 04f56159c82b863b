#include "serve/inference.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "data/format/npy.h"
#include "data/format/npz_writer.h"
#include "memory/arena.h"
#include "onnx/input_shapes.h"
#include "onnx/read.h"
#include "ops/catalog.h"
#include "ops/layout/layout.h"
#include "passes/fuse/fuse.h"
#include "plan/planner.h"
#include "run/costs.h"
#include "run/program.h"
#include "train/fit/budget.h"
#include "train/fit/plan_report.h"
#include "train/fit/state_layout.h"
#include "train/prepare/recipe.h"

namespace lowtide::serve {
namespace {

using core::fail;
using graph::ValueId;

struct Input {
  std::string name;
  data::StoredArray array;
};

std::vector<Input> open_inputs(const onnx::ModelFile& file, const RunSettings& settings) {
  std::vector<Input> result;
  for (const onnx::ValueInfo& info : onnx::data_inputs(file)) {
    const auto given = settings.inputs.find(info.name);
    if (given == settings.inputs.end()) {
      throw fail(ErrorCode::kInvalidArgument, "input '{}' is missing; give --input {}=FILE.npy",
                 info.name, info.name);
    }
    const std::string path = given->second.string();
    data::StoredArray array = [&] {
      try {
        return data::open_npy(data::ByteSource::open(path));
      } catch (const Error& error) {
        throw error.within(path);
      }
    }();
    if (info.dtype != array.dtype) {
      throw fail(ErrorCode::kInvalidArgument, "{}: input '{}' takes {}, the file holds {}", path,
                 info.name, info.dtype ? core::name(*info.dtype) : info.type_name,
                 core::name(array.dtype));
    }
    result.push_back({info.name, std::move(array)});
  }
  for (const auto& given : settings.inputs) {
    if (std::none_of(result.begin(), result.end(),
                     [&](const Input& input) { return input.name == given.first; })) {
      throw fail(ErrorCode::kInvalidArgument, "{}: the model has no input '{}'",
                 settings.model.path.string(), given.first);
    }
  }
  return result;
}

// The model for those inputs, its outputs in the plain layout, and where each is.
onnx::Model build(const onnx::ModelFile& file, const std::vector<Input>& inputs) {
  onnx::ReadOptions options{.catalog = ops::catalog()};
  for (const Input& input : inputs) options.shapes[input.name] = input.array.shape;
  onnx::Model model = onnx::build(file, options);
  passes::fuse(model.graph);
  graph::GraphBuilder builder(model.graph);
  for (ValueId& output : model.graph.outputs()) output = ops::to_plain(builder, output);
  return model;
}

OutputSummary summarize(const std::string& name,
                        const core::TensorType& type,
                        std::span<const std::byte> bytes) {
  OutputSummary summary{.name = name, .type = type.str(), .min = INFINITY, .max = -INFINITY};
  core::visit(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* const first = reinterpret_cast<const T*>(bytes.data());
    for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
      const auto x = static_cast<double>(first[i]);
      summary.min = std::min(summary.min, x);
      summary.max = std::max(summary.max, x);
      summary.mean += x / static_cast<double>(type.shape.elements());
    }
  });
  return summary;
}

}  // namespace

std::vector<OutputSummary> run(const RunSettings& settings) {
  const core::Machine machine = train::settle_machine(settings.machine);
  const onnx::ModelFile file = onnx::parse_file(settings.model.path);
  const std::vector<Input> inputs = open_inputs(file, settings);
  const onnx::Model model = build(file, inputs);
  const graph::Graph& graph = model.graph;
  const run::Kernels kernels = run::Kernels::bind(graph, machine);
  const plan::Costs costs = run::model_costs(graph, kernels, machine);
  train::StateLayout state;
  const auto offsets = state.place(graph);
  plan::Planner planner(graph, costs, offsets, state.bytes(), plan::Policy::kKeep);

  PlanReport report;
  report.budget = train::settle_budget(settings.memory.budget);
  report.runtime = train::settle_runtime(
      {.kernels = kernels.distinct(), .nodes = graph.node_count(), .threads = machine.threads});
  report.smallest_feasible = train::smallest_budget(report.runtime, planner.smallest_arena());
  auto made = planner.make(report.budget - report.runtime);
  if (const auto* const infeasible = std::get_if<plan::Infeasible>(&made)) {
    train::describe_obstacle(*infeasible, report);
    throw train::does_not_fit(report);
  }
  const plan::Plan& plan = std::get<plan::Plan>(made);
  LT_CHECK(plan::check(graph, costs, offsets, plan).empty(), "a plan must be right");
  memory::Arena arena(std::max(plan.arena_bytes, state.bytes()));
  state.load(arena.data());
  const run::Program program = run::Program::bind(graph, plan, kernels, arena.data());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto at = std::find(model.input_names.begin(), model.input_names.end(), inputs[i].name);
    LT_CHECK(at != model.input_names.end(), "an input of the file is in the model");
    const ValueId value = graph.inputs()[static_cast<std::size_t>(at - model.input_names.begin())];
    if (!program.bytes(value).empty()) inputs[i].array.read(0, program.bytes(value));
  }
  program.step({});

  std::vector<OutputSummary> result;
  std::optional<data::NpzWriter> writer;
  if (!settings.output.empty()) writer.emplace(settings.output);
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId value = graph.outputs()[i];
    const core::TensorType& type = graph.type(value);
    result.push_back(summarize(model.output_names[i], type, program.bytes(value)));
    if (writer) writer->add(model.output_names[i], type.dtype, type.shape, program.bytes(value));
  }
  if (writer) writer->finish();
  return result;
}

}  // namespace lowtide::serve
