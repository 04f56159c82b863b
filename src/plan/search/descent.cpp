#include "plan/search/descent.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "plan/search/evaluation.h"

namespace lowtide::plan {

namespace {

// A value in memory at the peak that could be dropped there (or, if it was already dropped once,
// dropped again until its next use).
struct Option {
  ValueId id;
  Bytes bytes;
  double price = 0;  // seconds a byte
};

// Which droppable values each is computed from, views followed back.
core::IdVector<ValueId, std::vector<ValueId>> sources(const Model& model,
                                                      const Droppable& droppable) {
  core::IdVector<ValueId, std::vector<ValueId>> result(model.values.size());
  for (const ValueId id : droppable.values()) {
    for (const ValueId input : model.graph.node(model.values[id].producer).inputs) {
      const ValueId base = model.values[input].base;
      if (droppable.contains(base)) result[id].push_back(base);
    }
  }
  return result;
}

// Groups of dropped values that hang together, with the seconds it takes to compute each group.
class Neighbourhoods {
 public:
  Neighbourhoods(const Model& model,
                 const Droppable& droppable,
                 const core::IdVector<ValueId, std::vector<ValueId>>& sources,
                 const Fates& fates)
      : parent_(model.values.size()), seconds_(model.values.size(), 0.0) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (const ValueId id : droppable.values()) {
      if (fates[id] == Fate::kKept) continue;
      seconds_[find(id.index())] += model.nodes[model.values[id].producer].seconds;
      for (const ValueId source : sources[id]) {
        if (fates[source] != Fate::kKept) unite(id.index(), source.index());
      }
    }
  }

  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  [[nodiscard]] double seconds(std::size_t group) const { return seconds_[group]; }

 private:
  void unite(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    parent_[b] = a;
    seconds_[a] += seconds_[b];
  }

  std::vector<std::size_t> parent_;
  std::vector<double> seconds_;
};

class Walker {
 public:
  Walker(const Model& model, const Droppable& droppable, Price price)
      : model_(model),
        droppable_(droppable),
        price_(price),
        sources_(sources(model, droppable)),
        users_(model.values.size()) {
    for (const ValueId id : droppable.values()) {
      for (const ValueId source : sources_[id]) users_[source].push_back(id);
    }
  }

  // What may be dropped at the peak, cheapest first.
  std::vector<Option> options(const Evaluation& now) {
    std::vector<Option> result;
    if (now.schedule.sequence.empty()) return result;
    core::IdVector<ValueId, char> seen(model_.values.size(), 0);
    for (const ValueId id : used_at_peak(now)) seen[id] = 1;
    const std::vector<std::size_t> steps = steps_of_order(now);
    Neighbourhoods groups(model_, droppable_, sources_, now.fates);
    note_repeated(now);
    const auto peak = static_cast<std::int32_t>(now.peak_step);
    for (const Copy& copy : now.schedule.copies) {
      if (copy.written >= peak || copy.last_read <= peak) continue;
      const ValueId id = model_.values[copy.value].base;
      if (seen[id] != 0 || !droppable_.contains(id)) continue;
      if (!may_drop(now, copy, steps)) continue;
      seen[id] = 1;
      const Bytes bytes = model_.values[id].bytes;
      if (bytes == Bytes(0)) continue;
      result.push_back({id, bytes, price(now, id, groups) / static_cast<double>(bytes.count())});
    }
    std::stable_sort(result.begin(), result.end(), [](const Option& a, const Option& b) {
      return a.price != b.price ? a.price < b.price : a.id < b.id;
    });
    return result;
  }

  static void drop(Fates& fates, const Option& option) {
    Fate& fate = fates[option.id];
    fate = fate == Fate::kKept ? Fate::kHeld : Fate::kFleeting;
  }

 private:
  [[nodiscard]] std::vector<ValueId> used_at_peak(const Evaluation& now) const {
    const graph::Node& node = model_.graph.node(now.schedule.sequence[now.peak_step].node);
    std::vector<ValueId> used;
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *ids) used.push_back(model_.values[id].base);
    }
    return used;
  }

  // The step of each node of the model's order.
  [[nodiscard]] std::vector<std::size_t> steps_of_order(const Evaluation& now) const {
    std::vector<std::size_t> steps;
    steps.reserve(model_.order.size());
    for (std::size_t i = 0; i < now.schedule.sequence.size(); ++i) {
      const Execution& execution = now.schedule.sequence[i];
      if (!execution.again && !model_.nodes[execution.node].eager) steps.push_back(i);
    }
    return steps;
  }

  // A kept value may go if the forward pass is done with it; a held one if it is back already.
  [[nodiscard]] bool may_drop(const Evaluation& now,
                              const Copy& copy,
                              const std::vector<std::size_t>& steps) const {
    const ValueId id = model_.values[copy.value].base;
    switch (now.fates[id]) {
      case Fate::kKept: {
        const auto last = static_cast<std::size_t>(droppable_.last_forward_use(id));
        return steps[last] < now.peak_step;
      }
      case Fate::kHeld: return now.schedule.sequence[static_cast<std::size_t>(copy.written)].again;
      case Fate::kFleeting: break;
    }
    return false;
  }

  void note_repeated(const Evaluation& now) {
    repeated_ = core::IdVector<NodeId, char>(model_.nodes.size(), 0);
    for (const Execution& execution : now.schedule.sequence) {
      if (execution.again) repeated_[execution.node] = 1;
    }
  }

  double price(const Evaluation& now, ValueId id, Neighbourhoods& groups) {
    double sum = renewal(now, id);
    if (price_ == Price::kAlone) return sum;
    std::vector<std::size_t> around;
    for (const auto* neighbours : {&sources_[id], &users_[id]}) {
      for (const ValueId other : *neighbours) {
        if (now.fates[other] != Fate::kKept) around.push_back(groups.find(other.index()));
      }
    }
    std::sort(around.begin(), around.end());
    around.erase(std::unique(around.begin(), around.end()), around.end());
    for (const std::size_t group : around) sum += groups.seconds(group);
    return sum;
  }

  // Seconds to compute the value and those of its dropped ancestors that are not computed again in
  // any case. (All dropped ones where it is to come and go.)
  double renewal(const Evaluation& now, ValueId id) {
    constexpr std::size_t kFarEnough = 64;
    const bool all = now.fates[id] != Fate::kKept;
    std::vector<ValueId> todo = {id};
    double sum = 0;
    for (std::size_t i = 0; i < todo.size() && i < kFarEnough; ++i) {
      sum += model_.nodes[model_.values[todo[i]].producer].seconds;
      for (const ValueId source : sources_[todo[i]]) {
        if (now.fates[source] == Fate::kKept) continue;
        if (!all && repeated_[model_.values[source].producer] != 0) continue;
        if (std::find(todo.begin(), todo.end(), source) == todo.end()) todo.push_back(source);
      }
    }
    return sum;
  }

  const Model& model_;
  const Droppable& droppable_;
  Price price_;
  core::IdVector<ValueId, std::vector<ValueId>> sources_;
  core::IdVector<ValueId, std::vector<ValueId>> users_;
  core::IdVector<NodeId, char> repeated_;
};

// How many of the options, taken in order, bring the peak down by `bytes`.
std::size_t enough(const std::vector<Option>& options, Bytes bytes) {
  std::size_t count = 0;
  for (Bytes freed; count < options.size() && freed < bytes; ++count) {
    freed += options[count].bytes;
  }
  return std::max<std::size_t>(count, 1);
}

}  // namespace

std::vector<Candidate> descend(const Model& model,
                               const Droppable& droppable,
                               const Fates& start,
                               const Descent& settings) {
  constexpr std::size_t kPatience = 12;  // options tried alone before giving up
  Walker walker(model, droppable, settings.price);
  Evaluation now(model, droppable, start);
  std::vector<Candidate> met = {now.candidate()};
  const Bytes stride(std::max<std::int64_t>(2 * now.peak.count() / (settings.trials + 1), 1));
  int trials = settings.trials;
  for (bool lower = true; lower && trials > 0;) {
    const std::vector<Option> options = walker.options(now);
    lower = false;
    // First as many as the stride asks for, then half of them, then one after another alone.
    std::size_t first = 0;
    std::size_t count = options.empty() ? 0 : enough(options, stride);
    while (!lower && trials > 0 && first < std::min(options.size(), kPatience)) {
      Fates fates = now.fates;
      for (std::size_t i = first; i < first + count; ++i) Walker::drop(fates, options[i]);
      Evaluation next(model, droppable, std::move(fates));
      --trials;
      lower = next.lower_than(now);
      if (lower) {
        now = std::move(next);
        met.push_back(now.candidate());
      } else if (count > 1) {
        count /= 2;
      } else {
        ++first;
      }
    }
  }
  return met;
}

namespace {

// Keeps dropped values again, those that save most time for their bytes first, as long as the peak
// stays within the limit. Tries whole stretches of the list and halves what does not fit.
Evaluation refill(
    const Model& model, const Droppable& droppable, Evaluation now, Bytes limit, int trials) {
  std::vector<ValueId> dropped;
  for (const ValueId id : droppable.values()) {
    if (now.fates[id] != droppable.keep_all()[id]) dropped.push_back(id);
  }
  const auto worth = [&](ValueId id) {
    const ValueFacts& facts = model.values[id];
    return model.nodes[facts.producer].seconds /
           static_cast<double>(std::max(facts.bytes, kAlignment).count());
  };
  std::stable_sort(dropped.begin(), dropped.end(),
                   [&](ValueId a, ValueId b) { return worth(a) > worth(b); });
  std::vector<std::pair<std::size_t, std::size_t>> todo;  // stretches, the next one last
  const std::size_t stretch = std::max<std::size_t>(dropped.size() / 8, 1);
  for (std::size_t end = dropped.size(); end > 0; end -= std::min(end, stretch)) {
    todo.emplace_back(end - std::min(end, stretch), end);
  }
  for (; !todo.empty() && trials > 0; --trials) {
    const auto [begin, end] = todo.back();
    todo.pop_back();
    Fates fates = now.fates;
    for (std::size_t i = begin; i < end; ++i) fates[dropped[i]] = droppable.keep_all()[dropped[i]];
    Evaluation next(model, droppable, std::move(fates));
    if (next.peak <= limit && next.seconds <= now.seconds) {
      now = std::move(next);
    } else if (end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      todo.emplace_back(middle, end);
      todo.emplace_back(begin, middle);
    }
  }
  return now;
}

}  // namespace

std::vector<Candidate> restore(const Model& model,
                               const Droppable& droppable,
                               const std::vector<Candidate>& front,
                               int trials) {
  constexpr int kSizes = 24;
  const std::int64_t largest = front.front().peak.count();
  const std::int64_t smallest = front.back().peak.count();
  std::vector<Candidate> restored;
  for (int i = 0; i < kSizes; ++i) {
    const Bytes limit(smallest + (largest - smallest) / kSizes * i);
    const auto fits = std::find_if(front.begin(), front.end(), [&](const Candidate& candidate) {
      return candidate.peak <= limit;
    });
    Evaluation start(model, droppable, fits->fates);
    restored.push_back(
        refill(model, droppable, std::move(start), limit, trials / kSizes).candidate());
  }
  return restored;
}

}  // namespace lowtide::plan
