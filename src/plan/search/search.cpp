#include "plan/search/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plan/search/descent.h"
#include "plan/search/evaluation.h"

namespace lowtide::plan {

namespace {

// Square-root segments (Chen et al. 2016): cuts the forward pass into segments of about equal
// saved bytes and keeps only what crosses a cut. Within a fifth of a segment the cut goes where
// the fewest bytes cross.
class Segments {
 public:
  Segments(const Model& model, const Droppable& droppable)
      : droppable_(droppable), crossing_(model.order.size() + 1), saved_(model.order.size() + 1) {
    for (std::size_t i = 0; i < model.order.size(); ++i) {
      for (const ValueId id : model.graph.node(model.order[i]).outputs) {
        if (!droppable.contains(id)) continue;
        const std::int64_t bytes = model.values[id].bytes.count();
        const auto last = static_cast<std::size_t>(droppable.last_forward_use(id));
        produced_.push_back({id, i, last});
        crossing_[i + 1] += bytes;  // it crosses cuts i+1 .. last; cut c lies before node c
        crossing_[last + 1 > i + 1 ? last + 1 : i + 1] -= bytes;
        saved_[i + 1] += droppable.keep_all()[id] == Fate::kKept ? bytes : 0;
      }
    }
    for (std::size_t i = 1; i < crossing_.size(); ++i) {
      crossing_[i] += crossing_[i - 1];
      saved_[i] += saved_[i - 1];
    }
  }

  [[nodiscard]] std::size_t count() const { return produced_.size(); }

  [[nodiscard]] Fates fates(int segments) const {
    const std::vector<std::size_t> cuts = find_cuts(segments);
    Fates fates = droppable_.keep_all();
    for (const Produced& value : produced_) {
      const auto cut = std::upper_bound(cuts.begin(), cuts.end(), value.at);
      const bool crosses = cut != cuts.end() && *cut <= value.last;
      fates[value.id] = crosses ? Fate::kKept : Fate::kHeld;
    }
    return fates;
  }

 private:
  struct Produced {
    ValueId id;
    std::size_t at = 0;    // positions in the model's order
    std::size_t last = 0;  // last use in the forward pass
  };

  [[nodiscard]] std::size_t position(std::int64_t saved) const {
    return static_cast<std::size_t>(std::lower_bound(saved_.begin(), saved_.end(), saved) -
                                    saved_.begin());
  }

  [[nodiscard]] std::vector<std::size_t> find_cuts(int segments) const {
    std::vector<std::size_t> cuts;
    const std::int64_t total = saved_.back();
    for (int s = 1; s < segments; ++s) {
      const std::int64_t ideal = total / segments * s;
      const std::size_t from = position(ideal - total / segments / 5);
      const std::size_t to = std::min(position(ideal + total / segments / 5) + 1, crossing_.size());
      const auto best = std::min_element(crossing_.begin() + static_cast<std::ptrdiff_t>(from),
                                         crossing_.begin() + static_cast<std::ptrdiff_t>(to));
      cuts.push_back(static_cast<std::size_t>(best - crossing_.begin()));
    }
    std::sort(cuts.begin(), cuts.end());
    return cuts;
  }

  const Droppable& droppable_;
  std::vector<Produced> produced_;
  std::vector<std::int64_t> crossing_;  // by cut: bytes alive on both sides in the forward pass
  std::vector<std::int64_t> saved_;     // by cut: bytes that keep-all saves before it
};

std::vector<Candidate> chen(const Model& model, const Droppable& droppable) {
  const Segments segments(model, droppable);
  std::vector<Candidate> result;
  const double root = std::sqrt(static_cast<double>(segments.count()));
  int previous = 0;
  for (const double factor : {0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8}) {
    const int count = std::max(static_cast<int>(std::lround(factor * root)), 1);
    if (count == previous) continue;
    previous = count;
    result.push_back(Evaluation(model, droppable, segments.fates(count)).candidate());
  }
  return result;
}

// The values that cost least to compute again for their bytes, an eighth of them after another.
std::vector<Candidate> cheapest(const Model& model, const Droppable& droppable) {
  std::vector<ValueId> values;
  for (const ValueId id : droppable.values()) {
    if (droppable.keep_all()[id] == Fate::kKept) values.push_back(id);
  }
  const auto price = [&](ValueId id) {
    const ValueFacts& facts = model.values[id];
    return model.nodes[facts.producer].seconds /
           static_cast<double>(std::max(facts.bytes, kAlignment).count());
  };
  std::stable_sort(values.begin(), values.end(),
                   [&](ValueId a, ValueId b) { return price(a) < price(b); });
  std::vector<Candidate> result;
  Fates fates = droppable.keep_all();
  std::size_t dropped = 0;
  for (std::size_t part = 1; part <= 8; ++part) {
    while (dropped < values.size() * part / 8) fates[values[dropped++]] = Fate::kHeld;
    result.push_back(Evaluation(model, droppable, fates).candidate());
  }
  return result;
}

// Fastest first; drops what is not smaller than something at least as fast.
std::vector<Candidate> pareto(std::vector<Candidate> all) {
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.peak < b.peak;
  });
  std::vector<Candidate> front;
  for (Candidate& candidate : all) {
    if (front.empty() || candidate.peak < front.back().peak) front.push_back(std::move(candidate));
  }
  return front;
}

void append(std::vector<Candidate>& to, std::vector<Candidate> from) {
  for (Candidate& candidate : from) to.push_back(std::move(candidate));
}

// How many schedules may be tried: about a second for a ResNet-50, some seconds for the deepest.
int trials(const Model& model) {
  constexpr std::size_t kSteps = 5'000'000;
  return static_cast<int>(std::clamp<std::size_t>(kSteps / (model.nodes.size() + 1), 240, 4000));
}

std::vector<Candidate> lowtide(const Model& model, const Droppable& droppable) {
  std::vector<Candidate> all = cheapest(model, droppable);
  append(all, chen(model, droppable));
  const auto smallest =
      std::min_element(all.begin(), all.end(),
                       [](const Candidate& a, const Candidate& b) { return a.peak < b.peak; });
  const Fates from_smallest = smallest->fates;
  const int share = trials(model) / 5;
  append(all, descend(model, droppable, droppable.keep_all(), {Price::kAlone, share}));
  append(all, descend(model, droppable, droppable.keep_all(), {Price::kNeighbourhood, share}));
  append(all, descend(model, droppable, from_smallest, {Price::kNeighbourhood, share}));
  all = pareto(std::move(all));
  append(all, restore(model, droppable, all, 2 * share));
  return pareto(std::move(all));
}

}  // namespace

std::vector<Candidate> search(const Model& model, const Droppable& droppable, Policy policy) {
  switch (policy) {
    case Policy::kKeep: return {Evaluation(model, droppable, droppable.keep_all()).candidate()};
    case Policy::kChen: return pareto(chen(model, droppable));
    case Policy::kLowtide: break;
  }
  return lowtide(model, droppable);
}

}  // namespace lowtide::plan
