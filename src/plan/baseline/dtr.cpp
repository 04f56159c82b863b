// Dynamic tensor rematerialization, simulated.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "plan/baseline/baseline.h"

namespace lowtide::plan {

namespace {

class Simulation {
 public:
  Simulation(const Problem& problem, std::int64_t limit)
      : problem_(problem),
        choices_(fastest_choices(problem)),
        limit_(limit),
        stages_(problem.tasks.size()),
        states_(problem.tensors.size()),
        readers_(problem.tensors.size()) {
    for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
      for (const TensorId read : chosen(TaskId(i)).reads) {
        ++states_[read].readers_left;
        if (problem.tasks[TaskId(i)].repeatable) readers_[read].emplace_back(i);
      }
    }
    sort_into_kinds();
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
      const bool input = !problem.tensors[TensorId(i)].producer.valid();
      if (input && states_[TensorId(i)].readers_left > 0) place(TensorId(i));
    }
  }

  // Whether everything ran within the limit.
  bool run() {
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
      stage_ = TaskId(i);
      const Variant& variant = chosen(stage_);
      if (!execute(stage_, true)) return false;
      for (const TensorId read : variant.reads) --states_[read].readers_left;
      for (const TensorId read : variant.reads) release(read);
      for (const TensorId write : variant.writes) release(write);
    }
    return true;
  }

  // The same repetitions. A tensor then goes behind its last reader, no later than it did here.
  [[nodiscard]] const Choices& choices() const { return choices_; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct State {
    bool here = false;
    int pins = 0;          // executions under way that read it
    int readers_left = 0;  // first executions to come
    double last_use = 0;
    std::size_t family = kNone;  // of what was dropped: its class
    std::uint32_t kind = 0;      // of what may be dropped
    bool listed = false;         // here, and may be dropped
    TensorId before;             // of what is listed: its neighbours in its kind's list
    TensorId behind;
  };

  // Tensors of the same bytes that take the same time to be computed again: those that are listed,
  // in the order of their last use. The first one is worth the least, but for its neighbourhood.
  struct Kind {
    bool small = false;
    std::size_t open = kNone;  // its place among those that have any
    TensorId first;
    TensorId last;
  };

  // Runs the task once its inputs are there. `first`: not to compute something again.
  bool execute(TaskId task, bool first) {
    const Variant& variant = chosen(task);
    std::size_t pinned = 0;
    for (const TensorId read : variant.reads) {
      if (!states_[read].here && !compute_again(read)) break;
      ++states_[read].pins;
      ++pinned;
    }
    bool done = pinned == variant.reads.size();
    if (done) {
      std::int64_t wanted = variant.workspace;
      for (const TensorId write : variant.writes) {
        if (!states_[write].here) wanted += problem_.tensors[write].bytes;
      }
      if (first) wanted -= taken_over(variant);
      done = make_room(wanted);
    }
    if (done) {
      clock_ += first ? variant.seconds : variant.seconds_again;
      for (const TensorId write : variant.writes) {
        if (!states_[write].here) place(write);
      }
    }
    for (std::size_t i = 0; i < pinned; ++i) {
      State& state = states_[variant.reads[i]];
      --state.pins;
      use(variant.reads[i]);
    }
    return done;
  }

  // Bytes of inputs that the outputs may take over, as nobody reads them afterwards.
  [[nodiscard]] std::int64_t taken_over(const Variant& variant) {
    std::int64_t bytes = 0;
    taken_.clear();
    for (const InPlace& pair : variant.in_place) {
      const State& input = states_[pair.input];
      const bool goes = input.readers_left == 1 && input.pins == 1 &&
                        !problem_.tensors[pair.input].lasting &&
                        (may_drop(pair.input) || readers_[pair.input].empty());
      const bool again = std::any_of(taken_.begin(), taken_.end(), [&](const InPlace& other) {
        return other.input == pair.input || other.output == pair.output;
      });
      if (!goes || again || states_[pair.output].here) continue;
      taken_.push_back(pair);
      bytes += problem_.tensors[pair.output].bytes;
    }
    return bytes;
  }

  bool compute_again(TensorId id) {
    const TaskId producer = problem_.tensors[id].producer;
    const Repetition what{stage_, producer};
    if (!producer.valid() || !allowed(problem_, what)) return false;
    const Variant& variant = chosen(producer);
    if (!execute(producer, false)) return false;
    if (stages_[producer] != stage_) choices_.repetitions.push_back(what);
    stages_[producer] = stage_;
    for (const TensorId write : variant.writes) {
      if (write != id) release(write);
    }
    return true;
  }

  [[nodiscard]] const Variant& chosen(TaskId task) const {
    return problem_.tasks[task].variants[choices_.variants[task]];
  }

  [[nodiscard]] bool may_drop(TensorId id) const {
    const Tensor& tensor = problem_.tensors[id];
    return !tensor.lasting && tensor.producer.valid() && problem_.tasks[tensor.producer].repeatable;
  }

  void place(TensorId id) {
    State& state = states_[id];
    state.here = true;
    state.last_use = clock_;
    used_ += problem_.tensors[id].bytes;
    if (problem_.tensors[id].bytes > 0 && may_drop(id)) list(id);
    if (state.family == kNone) return;
    // It leaves its class, which does not fall apart, as in the paper's own approximation.
    family_seconds_[root(state.family)] -= own_seconds(id);
    state.family = kNone;
  }

  void drop(TensorId id) {
    State& state = states_[id];
    state.here = false;
    used_ -= problem_.tensors[id].bytes;
    if (state.listed) unlist(id);
    state.family = parents_.size();
    parents_.push_back(state.family);
    family_seconds_.push_back(own_seconds(id));
    each_dropped_neighbour(id, [&](const State& neighbour) {
      const std::size_t mine = root(state.family);
      const std::size_t theirs = root(neighbour.family);
      if (mine == theirs) return;
      parents_[theirs] = mine;
      family_seconds_[mine] += family_seconds_[theirs];
    });
  }

  // No first execution reads it any more. What cannot be computed again stays as long as
  // something that may run again reads it.
  void release(TensorId id) {
    State& state = states_[id];
    if (!state.here || state.readers_left > 0 || state.pins > 0) return;
    if (may_drop(id)) {
      drop(id);
    } else if (!problem_.tensors[id].lasting && readers_[id].empty()) {
      state.here = false;
      used_ -= problem_.tensors[id].bytes;
    }
  }

  bool make_room(std::int64_t bytes) {
    while (used_ + bytes > limit_) {
      TensorId least = least_worth_keeping(false);
      if (!least.valid()) least = least_worth_keeping(true);
      if (!least.valid()) return false;
      drop(least);
    }
    return true;
  }

  [[nodiscard]] TensorId least_worth_keeping(bool small) {
    TensorId least;
    double least_worth = std::numeric_limits<double>::infinity();
    for (const std::uint32_t kind : open_) {
      if (kinds_[kind].small != small) continue;
      for (TensorId id = kinds_[kind].first; id.valid(); id = states_[id].behind) {
        // The neighbourhood only makes it dearer, as a later use does.
        if (worth(id, own_seconds(id)) > least_worth) break;
        if (states_[id].pins > 0) continue;
        const double worth_here = worth(id, own_seconds(id) + seconds_around(id));
        if (worth_here > least_worth || (worth_here == least_worth && !(id < least))) continue;
        least = id;
        least_worth = worth_here;
      }
    }
    return least;
  }

  // To its kind's end, as what was used last.
  void list(TensorId id) {
    State& state = states_[id];
    Kind& kind = kinds_[state.kind];
    if (!kind.first.valid()) {
      kind.open = open_.size();
      open_.push_back(state.kind);
    }
    state.listed = true;
    state.before = kind.last;
    state.behind = TensorId();
    (kind.last.valid() ? states_[kind.last].behind : kind.first) = id;
    kind.last = id;
  }

  void unlist(TensorId id) {
    State& state = states_[id];
    Kind& kind = kinds_[state.kind];
    state.listed = false;
    (state.before.valid() ? states_[state.before].behind : kind.first) = state.behind;
    (state.behind.valid() ? states_[state.behind].before : kind.last) = state.before;
    if (kind.first.valid()) return;
    open_[kind.open] = open_.back();
    kinds_[open_.back()].open = kind.open;
    open_.pop_back();
  }

  void use(TensorId id) {
    State& state = states_[id];
    state.last_use = clock_;
    if (!state.listed || !state.behind.valid()) return;
    unlist(id);
    list(id);
  }

  void sort_into_kinds() {
    const std::int64_t small = small_bytes();
    std::map<std::pair<std::int64_t, double>, std::uint32_t> known;
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
      const TensorId id(i);
      if (!may_drop(id)) continue;
      const std::int64_t bytes = problem_.tensors[id].bytes;
      const auto kind = static_cast<std::uint32_t>(kinds_.size());
      const auto [found, fresh] = known.try_emplace({bytes, own_seconds(id)}, kind);
      states_[id].kind = found->second;
      if (fresh) kinds_.push_back({.small = bytes <= small});
    }
  }

  // The paper passes over tensors of less than 1 % of the average size, whose loss helps nothing
  // and whose number makes the search slow; here they go when nothing else is left.
  [[nodiscard]] std::int64_t small_bytes() const {
    std::int64_t sum = 0;
    for (const Tensor& tensor : problem_.tensors) sum += tensor.bytes;
    return sum / (100 * std::max<std::int64_t>(1, std::ssize(problem_.tensors)));
  }

  // What keeping a tensor is worth that takes so long to compute again.
  [[nodiscard]] double worth(TensorId id, double seconds) const {
    constexpr double kTick = 1e-9;  // what was used just now is not infinitely dear
    const double stale = clock_ - states_[id].last_use + kTick;
    return seconds / (static_cast<double>(problem_.tensors[id].bytes) * stale);
  }

  // Of its dropped neighbourhood.
  [[nodiscard]] double seconds_around(TensorId id) {
    double seconds = 0;
    families_.clear();
    each_dropped_neighbour(id, [&](const State& neighbour) {
      const std::size_t family = root(neighbour.family);
      if (std::find(families_.begin(), families_.end(), family) != families_.end()) return;
      families_.push_back(family);
      seconds += family_seconds_[family];
    });
    return seconds;
  }

  // What it was made from and what was made from it, one step away.
  template <class F>
  void each_dropped_neighbour(TensorId id, F&& f) const {
    const auto visit = [&](TensorId other) {
      if (other != id && states_[other].family != kNone) f(states_[other]);
    };
    for (const TensorId read : chosen(problem_.tensors[id].producer).reads) visit(read);
    for (const TaskId reader : readers_[id]) {
      for (const TensorId write : chosen(reader).writes) visit(write);
    }
  }

  [[nodiscard]] double own_seconds(TensorId id) const {
    return chosen(problem_.tensors[id].producer).seconds_again;
  }

  std::size_t root(std::size_t family) {
    while (parents_[family] != family) {
      parents_[family] = parents_[parents_[family]];
      family = parents_[family];
    }
    return family;
  }

  const Problem& problem_;
  Choices choices_;
  std::int64_t limit_;
  std::int64_t used_ = 0;
  double clock_ = 0;
  TaskId stage_;                           // whose first execution is next
  core::IdVector<TaskId, TaskId> stages_;  // before which each ran again last
  core::IdVector<TensorId, State> states_;
  core::IdVector<TensorId, std::vector<TaskId>> readers_;  // that may run again
  // Classes of dropped tensors, by union and find.
  std::vector<std::size_t> parents_;
  std::vector<double> family_seconds_;
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> open_;  // the kinds of which any are listed, in no order
  // Reused.
  std::vector<std::size_t> families_;
  std::vector<InPlace> taken_;
};

}  // namespace

std::vector<Choices> dtr(const Problem& problem, std::int64_t limit) {
  Simulation simulation(problem, limit);
  if (!simulation.run()) return {};
  return {simulation.choices()};
}

}  // namespace lowtide::plan
