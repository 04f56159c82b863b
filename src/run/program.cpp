#include "run/program.h"

#include <algorithm>

namespace lowtide::run {
namespace {

using graph::Graph;
using graph::Node;
using graph::Sharing;
using graph::ValueId;

bool is_view(const Graph& graph, const Node& node) {
  const auto in = graph.types(node.inputs);
  const auto out = graph.types(node.outputs);
  const auto aliases = node.op->aliases(node.attrs, {in, out});
  return node.outputs.size() == 1 &&
         std::any_of(aliases.begin(), aliases.end(),
                     [](const graph::Alias& alias) { return alias.sharing == Sharing::kView; });
}

}  // namespace

Program Program::bind(const Graph& graph,
                      const plan::Plan& plan,
                      const Kernels& kernels,
                      const core::IdVector<ValueId, Bytes>& persistent_offsets,
                      std::byte* arena) {
  Program program;
  const auto at = [&](const plan::Place& place) {
    return arena + (plan.buffers[place.buffer].offset + place.within).count();
  };
  const auto span_of = [&](ValueId value, std::byte* first) {
    return std::span<std::byte>(first, static_cast<std::size_t>(graph.type(value).bytes().count()));
  };
  std::size_t ins = 0;
  std::size_t outs = 0;
  for (const plan::Step& step : plan.steps) {
    ins += step.in.size();
    outs += step.out.size();
  }
  // Reserved to the full size, so that the spans below stay valid while the lists grow.
  program.in_pointers_.reserve(ins);
  program.out_pointers_.reserve(outs);
  program.places_.resize(graph.value_count());
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const graph::Value& value = graph.value(ValueId(i));
    if (graph::is_persistent(value.role) && !value.producer.valid()) {
      program.places_[ValueId(i)] =
          span_of(ValueId(i), arena + persistent_offsets[ValueId(i)].count());
    }
  }
  for (const plan::Step& step : plan.steps) {
    const Node& node = graph.node(step.node);
    const std::size_t first_in = program.in_pointers_.size();
    const std::size_t first_out = program.out_pointers_.size();
    for (std::size_t i = 0; i < step.in.size(); ++i) {
      program.in_pointers_.push_back(at(step.in[i]));
      const graph::Value& input = graph.value(node.inputs[i]);
      if (!input.producer.valid() && !graph::is_persistent(input.role)) {
        program.places_[node.inputs[i]] = span_of(node.inputs[i], at(step.in[i]));
      }
    }
    for (std::size_t k = 0; k < step.out.size(); ++k) {
      program.out_pointers_.push_back(at(step.out[k]));
      program.places_[node.outputs[k]] = span_of(node.outputs[k], at(step.out[k]));
    }
    if (is_view(graph, node)) continue;
    std::span<std::byte> scratch;
    if (step.scratch.valid()) {
      scratch = {arena + plan.buffers[step.scratch].offset.count(),
                 static_cast<std::size_t>(kernels.of(step.node).scratch().count())};
    }
    program.steps_.push_back({step.node,
                              &kernels.of(step.node),
                              {program.in_pointers_.data() + first_in, step.in.size()},
                              {program.out_pointers_.data() + first_out, step.out.size()},
                              scratch});
  }
  return program;
}

void Program::step(const graph::StepContext& context, Timeline* timeline) const {
  if (timeline == nullptr) {
    for (const BoundStep& step : steps_) {
      step.kernel->run({step.in, step.out, step.scratch, &context});
    }
    return;
  }
  Clock::time_point begin = Clock::now();
  for (const BoundStep& step : steps_) {
    step.kernel->run({step.in, step.out, step.scratch, &context});
    const Clock::time_point end = Clock::now();
    timeline->add(step.node, begin, end);
    begin = end;
  }
}

}  // namespace lowtide::run
