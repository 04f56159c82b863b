#include "plan/explain/explain.h"

#include <algorithm>

#include "core/text.h"
#include "plan/explain/history.h"
#include "plan/file/names.h"

namespace lowtide::plan {

namespace {

using core::text;
using graph::Node;
using graph::Value;

std::string duration(double seconds) {
  return seconds < 1 ? text("{:.3g} ms", seconds * 1e3) : text("{:.3g} s", seconds);
}

class Explainer {
 public:
  Explainer(const graph::Graph& graph, const Costs& costs, const Plan& plan)
      : graph_(graph), costs_(costs), plan_(plan), history_(graph, costs, plan) {}

  [[nodiscard]] std::vector<IdleTensor> idle() const {
    std::vector<IdleTensor> result;
    if (plan_.steps.empty()) return result;
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[BufferId(i)];
      if (buffer.kind != BufferKind::kPersistent || used_at_peak(BufferId(i))) continue;
      result.push_back({.value = buffer.value, .bytes = buffer.size, .why = why_persistent()});
    }
    for (std::size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueId id(i);
      if (!is_storage(id)) continue;
      const Stay* const stay = history_.at(id, plan_.peak_step);
      if (stay == nullptr || used_at_peak(stay->place.buffer)) continue;
      const std::int32_t reader = next_read(*stay, plan_.peak_step);
      if (reader < 0) continue;
      const History::Again again = history_.again(id, reader);
      result.push_back({.value = id,
                        .bytes = history_.model().values[id].bytes,
                        .repeatable = again.possible,
                        .again_seconds = again.seconds,
                        .why = why_kept(again, reader)});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const IdleTensor& a, const IdleTensor& b) { return a.bytes > b.bytes; });
    return result;
  }

  [[nodiscard]] std::string value_text(ValueId id) const {
    const Value& value = graph_.value(id);
    const ValueFacts& facts = history_.model().values[id];
    std::string result = text("tensor '{}': {}, {}, {}\n", value.name, value.type.str(),
                              value.type.bytes().str(), name(value.role));
    if (facts.base != id) {
      return result +
             text("  a view of '{}', which holds its bytes\n", graph_.value(facts.base).name);
    }
    if (value.producer.valid()) {
      const Node& node = graph_.node(value.producer);
      result += text("  computed by '{}' ({}), {} each time, {}\n", node.name, node.op->name(),
                     duration(costs_[value.producer].seconds), runs_text(value.producer));
    }
    result += stays_text(id) + transfers_text(id) + peak_text(id);
    return result;
  }

  [[nodiscard]] std::string node_text(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string result =
        text("node '{}': {}, {}, {}{}, {}\n", node.name, node.op->name(), name(node.phase),
             duration(costs_[id].seconds),
             costs_[id].scratch > Bytes(0) ? text(" with {} of workspace", costs_[id].scratch.str())
                                           : "",
             runs_text(id));
    const std::vector<std::int32_t>& runs = history_.runs(id);
    for (std::size_t i = 1; i < runs.size(); ++i) {
      result += text("  again at step {}: {}\n", runs[i], purpose(id, runs[i]));
    }
    if (runs.size() == 1) result += text("  once: {}\n", why_once(id));
    return result;
  }

 private:
  // Not a view, and not a version of something that has a fixed place.
  [[nodiscard]] bool is_storage(ValueId id) const {
    const ValueFacts& facts = history_.model().values[id];
    return facts.base == id && !facts.home.valid();
  }

  [[nodiscard]] bool used_at_peak(BufferId id) const {
    const Step& peak = plan_.steps[static_cast<std::size_t>(plan_.peak_step)];
    const auto here = [&](const Place& place) { return place.buffer == id; };
    return std::any_of(peak.in.begin(), peak.in.end(), here) ||
           std::any_of(peak.out.begin(), peak.out.end(), here);
  }

  static std::int32_t next_read(const Stay& stay, std::int32_t step) {
    const auto next = std::upper_bound(stay.reads.begin(), stay.reads.end(), step);
    return next == stay.reads.end() ? -1 : *next;
  }

  [[nodiscard]] const std::string& step_name(std::int32_t step) const {
    return graph_.node(plan_.steps[static_cast<std::size_t>(step)].node).name;
  }

  static std::string why_persistent() {
    return "lasts from step to step; --spill can give it a home on disk";
  }

  [[nodiscard]] std::string why_not_again(ValueId obstacle) const {
    const Value& value = graph_.value(obstacle);
    if (!value.producer.valid()) return text("'{}' is an input", value.name);
    const Node& node = graph_.node(value.producer);
    if (node.phase != graph::Phase::kForward) {
      return text("'{}' is not of the forward pass", value.name);
    }
    return text("'{}' comes from {}, which changes state or reads what is replaced", value.name,
                node.op->name());
  }

  [[nodiscard]] std::string why_kept(const History::Again& again, std::int32_t reader) const {
    if (!again.possible) return "cannot be computed again: " + why_not_again(again.obstacle);
    return text("kept: to compute it again before '{}' would take {} ({} node{})",
                step_name(reader), duration(again.seconds), again.nodes.size(),
                again.nodes.size() == 1 ? "" : "s");
  }

  [[nodiscard]] std::string runs_text(NodeId id) const {
    const std::vector<std::int32_t>& runs = history_.runs(id);
    if (runs.empty()) {
      const NodeId instead = way_taken(id);
      return instead.valid()
                 ? text("not run: '{}' is, to the same result", graph_.node(instead).name)
                 : "never run: nothing needs it";
    }
    std::string list;
    for (const std::int32_t step : runs) list += text("{}{}", list.empty() ? "" : ", ", step);
    return text("at step{} {} of {}", runs.size() == 1 ? "" : "s", list, plan_.steps.size());
  }

  // Of a node and its alternatives the one that runs, if one does.
  [[nodiscard]] NodeId way_taken(NodeId id) const {
    const NodeId original = graph_.original(id);
    if (!history_.runs(original).empty()) return original;
    for (const NodeId way : history_.model().nodes[original].alternatives) {
      if (!history_.runs(way).empty()) return way;
    }
    return {};
  }

  // Who reads what a repetition writes.
  [[nodiscard]] std::string purpose(NodeId id, std::int32_t step) const {
    std::vector<std::string> readers;
    for (const ValueId output : graph_.node(id).outputs) {
      const Stay* const stay = history_.at(output, step);
      if (stay == nullptr || stay->reads.empty()) continue;
      readers.push_back(
          text("'{}' for '{}'", graph_.value(output).name, step_name(stay->reads.front())));
    }
    return readers.empty() ? "nothing reads it" : text("{}", fmt::join(readers, ", "));
  }

  [[nodiscard]] std::string why_once(NodeId id) const {
    if (history_.model().nodes[id].repeatable)
      return "what it computes stays as long as it is read";
    return graph_.node(id).phase == graph::Phase::kForward
               ? "it changes state, or reads what is replaced before it could run again"
               : "only the forward pass is repeated";
  }

  [[nodiscard]] std::string stays_text(ValueId id) const {
    std::string result;
    for (const Stay& stay : history_.stays(id)) {
      const Buffer& buffer = plan_.buffers[stay.place.buffer];
      std::string readers;
      constexpr std::size_t kMost = 6;
      for (std::size_t i = 0; i < stay.reads.size() && i < kMost; ++i) {
        readers += text("{}{} '{}'", i == 0 ? "" : ", ", stay.reads[i], step_name(stay.reads[i]));
      }
      if (stay.reads.size() > kMost) readers += text(" and {} more", stay.reads.size() - kMost);
      result +=
          text("  in memory from step {} to {} at byte {}, read at {}\n", stay.first, stay.last,
               (buffer.offset + stay.place.within).count(), readers.empty() ? "no step" : readers);
    }
    return result;
  }

  [[nodiscard]] std::string transfers_text(ValueId id) const {
    std::string result;
    for (const Transfer& transfer : plan_.transfers) {
      if (transfer.value != id) continue;
      result += text("  {} while steps {} to {} run\n",
                     transfer.direction == Direction::kStore ? "stored to the spill file"
                                                             : "fetched from the spill file",
                     transfer.start, transfer.finish - 1);
    }
    return result;
  }

  [[nodiscard]] std::string peak_text(ValueId id) const {
    if (plan_.steps.empty()) return "";
    const std::string where =
        text("  at the peak (step {}, '{}'): ", plan_.peak_step, step_name(plan_.peak_step));
    const ValueFacts& facts = history_.model().values[id];
    if (facts.home.valid()) return where + why_persistent() + "\n";
    const Stay* const stay = history_.at(id, plan_.peak_step);
    const std::vector<Stay>& stays = history_.stays(id);
    if (stay == nullptr) {
      const bool around = !stays.empty() && stays.front().first < plan_.peak_step &&
                          stays.back().first > plan_.peak_step;
      return where + (around ? text("not in memory, which saves {}\n", facts.bytes.str())
                             : "not in memory and not needed on both sides\n");
    }
    const std::int32_t reader = next_read(*stay, plan_.peak_step);
    if (used_at_peak(stay->place.buffer)) return where + "in use\n";
    if (reader < 0) return where + "stays to the end\n";
    return where + text("idle; without it {} less\n  {}\n", facts.bytes.str(),
                        why_kept(history_.again(id, reader), reader));
  }

  const graph::Graph& graph_;
  const Costs& costs_;
  const Plan& plan_;
  History history_;
};

}  // namespace

std::vector<IdleTensor> idle_at_peak(const graph::Graph& graph,
                                     const Costs& costs,
                                     const Plan& plan,
                                     std::size_t most) {
  std::vector<IdleTensor> all = Explainer(graph, costs, plan).idle();
  if (all.size() > most) all.resize(most);
  return all;
}

std::string explain(const graph::Graph& graph,
                    const Costs& costs,
                    const Plan& plan,
                    std::string_view name) {
  constexpr int kMost = 20;
  const Explainer explainer(graph, costs, plan);
  const auto collect = [&](auto&& matches) {
    std::string result;
    int found = 0;
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      if (!matches(graph.node(NodeId(i)).name) || ++found > kMost) continue;
      result += explainer.node_text(NodeId(i));
    }
    for (std::size_t i = 0; i < graph.value_count(); ++i) {
      if (!matches(graph.value(ValueId(i)).name) || ++found > kMost) continue;
      result += explainer.value_text(ValueId(i));
    }
    if (found > kMost) result += text("and {} more\n", found - kMost);
    return result;
  };
  std::string exact = collect([&](const std::string& other) { return other == name; });
  if (!exact.empty()) return exact;
  return collect([&](const std::string& other) { return other.find(name) != std::string::npos; });
}

}  // namespace lowtide::plan
