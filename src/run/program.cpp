#include "run/program.h"

#include <algorithm>

#include "core/check.h"
#include "memory/spill/store.h"

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
                      std::byte* arena,
                      memory::SpillStore* spill) {
  Program program;
  if (!plan.transfers.empty()) {
    LT_CHECK(spill != nullptr, "a plan with transfers needs a spill store");
    program.transfers_ = std::make_unique<Transfers>(graph, plan, arena, *spill);
  }
  const auto at = [&](const plan::Place& place) {
    return arena + (plan.buffers[place.buffer].offset + place.within).count();
  };
  const auto span_of = [&](ValueId value, std::byte* first) {
    return std::span<std::byte>(first, static_cast<std::size_t>(graph.type(value).bytes().count()));
  };
  program.reserve(plan);
  program.places_.resize(graph.value_count());
  for (const plan::Buffer& buffer : plan.buffers) {
    if (buffer.kind != plan::BufferKind::kPersistent) continue;
    program.places_[buffer.value] = span_of(buffer.value, arena + buffer.offset.count());
  }
  for (const plan::Step& step : plan.steps) {
    const Node& node = graph.node(step.node);
    const std::size_t first_in = program.in_pointers_.size();
    const std::size_t first_out = program.out_pointers_.size();
    for (std::size_t i = 0; i < step.in.size(); ++i) {
      program.in_pointers_.push_back(at(step.in[i]));
      const graph::Value& input = graph.value(node.inputs[i]);
      // An input is written where it is read first: it may be spilled and come back elsewhere.
      if (!input.producer.valid() && !graph::is_persistent(input.role) &&
          program.places_[node.inputs[i]].data() == nullptr) {
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
                              scratch,
                              static_cast<std::int32_t>(&step - plan.steps.data())});
  }
  return program;
}

// Reserves the lists of operands to the full size, so that spans into them stay valid.
void Program::reserve(const plan::Plan& plan) {
  std::size_t ins = 0;
  std::size_t outs = 0;
  for (const plan::Step& step : plan.steps) {
    ins += step.in.size();
    outs += step.out.size();
  }
  in_pointers_.reserve(ins);
  out_pointers_.reserve(outs);
}

void Program::run(const BoundStep& step, const graph::StepContext& context) {
  step.kernel->run({step.in, step.out, step.scratch, &context});
}

bool Program::step(const graph::StepContext& context, Timeline* timeline, Watch* watch) const {
  if (transfers_) transfers_->begin();
  Clock::time_point begin;
  if (timeline != nullptr) begin = Clock::now();
  for (const BoundStep& step : steps_) {
    if (transfers_) {
      transfers_->before(step.position);
      if (timeline != nullptr) begin = Clock::now();  // waiting is not the node's
    }
    if (watch != nullptr) watch->before(step.node, step.in);
    run(step, context);
    if (watch != nullptr && !watch->after(step.node, step.out)) {
      if (transfers_) transfers_->stop();
      return false;
    }
    if (timeline == nullptr) continue;
    const Clock::time_point end = Clock::now();
    timeline->add(step.node, begin, end);
    begin = end;
  }
  if (transfers_) transfers_->end();
  return true;
}

void Program::measure(const graph::StepContext& context, Probe& probe) const {
  if (transfers_) transfers_->begin();
  for (const BoundStep& step : steps_) {
    if (transfers_) transfers_->before(step.position);
    if (!probe.wants(step.node)) continue;
    const Clock::time_point begin = Clock::now();
    run(step, context);
    probe.took(step.node, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  if (transfers_) transfers_->end();
}

}  // namespace lowtide::run
