#include "serve/session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kernels/dnnl/engine.h"
#include "ops/catalog.h"
#include "ops/gather/gather.h"
#include "ops/layout/layout.h"
#include "ops/reshape/reshape.h"
#include "passes/fuse/fuse.h"
#include "plan/planner.h"
#include "run/costs.h"
#include "train/fit/budget.h"
#include "train/fit/plan_report.h"
#include "train/fit/state_layout.h"

namespace lowtide::serve {
namespace {

// What stands for an input that is an output: a node, for only what nodes read has a place.
graph::ValueId pass_on(graph::GraphBuilder& builder, graph::ValueId input) {
  ops::Reshape same{.target = builder.type(input).shape.dims(), .allow_zero = true};
  return builder.add_one(ops::reshape_op(), graph::Attrs::of(std::move(same)), {input});
}

// The model for those inputs, its outputs in the plain layout.
onnx::Model build(const onnx::ModelFile& file, const std::map<std::string, core::Shape>& shapes) {
  onnx::Model model = onnx::build(file, {.shapes = shapes, .catalog = ops::catalog()});
  passes::fuse(model.graph);
  graph::GraphBuilder builder(model.graph);
  for (graph::ValueId& output : model.graph.outputs()) {
    output = ops::to_plain(builder, output);
    if (model.graph.value(output).role == graph::Role::kInput) output = pass_on(builder, output);
  }
  return model;
}

Bytes buffers(const graph::Graph& graph, const Session::Beside& beside) {
  const core::Shape& shape = graph.type(graph.outputs().front()).shape;
  return beside.bytes + (shape.rank() > 0 ? shape[shape.rank() - 1] : 1) * beside.per_place;
}

// A plan within the budget; throws Error(kDoesNotFit).
plan::Plan make_plan(plan::Planner& planner,
                     const train::RuntimeNeeds& needs,
                     const MemorySettings& memory) {
  PlanReport report;
  report.budget = train::settle_budget(memory.budget);
  report.runtime = train::settle_runtime(needs);
  report.smallest_feasible = train::smallest_budget(report.runtime, planner.smallest_arena());
  auto made = planner.make(report.budget - report.runtime);
  if (const auto* const infeasible = std::get_if<plan::Infeasible>(&made)) {
    train::describe_obstacle(*infeasible, report);
    throw train::does_not_fit(report);
  }
  return std::get<plan::Plan>(std::move(made));
}

}  // namespace

Session::Session(const onnx::ModelFile& file,
                 const std::map<std::string, core::Shape>& shapes,
                 const MemorySettings& memory,
                 const core::Machine& machine,
                 const Beside& beside)
    : model_(build(file, shapes)), kernels_(run::Kernels::bind(model_.graph, machine)) {
  const graph::Graph& graph = model_.graph;
  const plan::Costs costs = run::model_costs(graph, kernels_, machine);
  train::StateLayout state;
  const auto offsets = state.place(graph);
  plan::Planner planner(graph, costs, offsets, state.bytes(), plan::Policy::kKeep);
  const plan::Plan plan = make_plan(planner,
                                    {.primitives = kernels::primitive_counts(),
                                     .nodes = graph.node_count(),
                                     .buffers = buffers(graph, beside),
                                     .threads = machine.threads},
                                    memory);
  LT_CHECK(plan::check(graph, costs, offsets, plan).empty(), "a plan must be right");
  arena_.emplace(std::max(plan.arena_bytes, state.bytes()), memory::Pages::kHuge);
  state.load(arena_->data());
  program_.emplace(run::Program::bind(graph, plan, kernels_, arena_->data()));
}

graph::ValueId Session::input_value(const std::string& name) const {
  const auto at = std::find(model_.input_names.begin(), model_.input_names.end(), name);
  LT_CHECK(at != model_.input_names.end(), "an input of the file is in the model");
  return model_.graph.inputs()[static_cast<std::size_t>(at - model_.input_names.begin())];
}

std::span<std::byte> Session::input(const std::string& name) const {
  return program_->bytes(input_value(name));
}

std::optional<std::int64_t> Session::rows_picked_by(const std::string& name) const {
  return ops::rows_picked_by(model_.graph, input_value(name));
}

const core::TensorType& Session::output_type(std::size_t i) const {
  return model_.graph.type(model_.graph.outputs()[i]);
}

std::span<const std::byte> Session::output(std::size_t i) const {
  return program_->bytes(model_.graph.outputs()[i]);
}

}  // namespace lowtide::serve
