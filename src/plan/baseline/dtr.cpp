// Dynamic tensor rematerialization, simulated.
#include <algorithm>
#include <limits>

#include "plan/baseline/baseline.h"

namespace lowtide::plan {

namespace {

class Simulation {
 public:
  Simulation(const Problem& problem, std::int64_t limit)
      : problem_(problem),
        line_(problem),
        limit_(limit),
        states_(problem.tensors.size()),
        readers_(problem.tensors.size()) {
    for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
      for (const TensorId read : line_.chosen(TaskId(i)).reads) {
        ++states_[read].readers_left;
        if (problem.tasks[TaskId(i)].repeatable) readers_[read].emplace_back(i);
      }
    }
    small_ = small_bytes();
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
      const bool input = !problem.tensors[TensorId(i)].producer.valid();
      if (input && states_[TensorId(i)].readers_left > 0) place(TensorId(i));
    }
  }

  // Whether everything ran within the limit.
  bool run() {
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
      stage_ = TaskId(i);
      const Variant& variant = line_.chosen(stage_);
      if (!execute(stage_, true)) return false;
      for (const TensorId read : variant.reads) --states_[read].readers_left;
      for (const TensorId read : variant.reads) release(read);
      for (const TensorId write : variant.writes) release(write);
    }
    return true;
  }

  // The same repetitions. A tensor then goes behind its last reader, no later than it did here.
  [[nodiscard]] Choices choices() const { return line_.choices(); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct State {
    bool here = false;
    int pins = 0;          // executions under way that read it
    int readers_left = 0;  // first executions to come
    double last_use = 0;
    std::size_t family = kNone;  // of what was dropped: its class
    std::size_t listed = kNone;  // of what is here and may be dropped: its place among these
  };

  // Runs the task once its inputs are there. `first`: not to compute something again.
  bool execute(TaskId task, bool first) {
    const Variant& variant = line_.chosen(task);
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
      state.last_use = clock_;
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
    if (!producer.valid() || !line_.allowed(what)) return false;
    const Variant& variant = line_.chosen(producer);
    if (!execute(producer, false)) return false;
    if (!line_.contains(what)) line_.add(what);
    for (const TensorId write : variant.writes) {
      if (write != id) release(write);
    }
    return true;
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
    if (problem_.tensors[id].bytes > 0 && may_drop(id)) {
      std::vector<TensorId>& list = alike(id);
      state.listed = list.size();
      list.push_back(id);
    }
    if (state.family == kNone) return;
    // It leaves its class, which does not fall apart, as in the paper's own approximation.
    family_seconds_[root(state.family)] -= own_seconds(id);
    state.family = kNone;
  }

  void drop(TensorId id) {
    State& state = states_[id];
    state.here = false;
    used_ -= problem_.tensors[id].bytes;
    if (state.listed != kNone) {
      std::vector<TensorId>& list = alike(id);
      const TensorId last = list.back();
      list[state.listed] = last;
      states_[last].listed = state.listed;
      list.pop_back();
      state.listed = kNone;
    }
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
      TensorId least = least_worth_keeping(large_here_);
      if (!least.valid()) least = least_worth_keeping(small_here_);
      if (!least.valid()) return false;
      drop(least);
    }
    return true;
  }

  [[nodiscard]] TensorId least_worth_keeping(const std::vector<TensorId>& among) {
    TensorId least;
    double least_worth = std::numeric_limits<double>::infinity();
    for (const TensorId id : among) {
      // The neighbourhood only makes it dearer, and takes longer to look at.
      if (states_[id].pins > 0 || worth(id, own_seconds(id)) > least_worth) continue;
      const double worth_here = worth(id, own_seconds(id) + seconds_around(id));
      if (worth_here > least_worth || (worth_here == least_worth && !(id < least))) continue;
      least = id;
      least_worth = worth_here;
    }
    return least;
  }

  // The paper passes over tensors of less than 1 % of the average size, whose loss helps nothing
  // and whose number makes the search slow; here they go when nothing else is left.
  [[nodiscard]] std::int64_t small_bytes() const {
    std::int64_t sum = 0;
    for (const Tensor& tensor : problem_.tensors) sum += tensor.bytes;
    return sum / (100 * std::max<std::int64_t>(1, std::ssize(problem_.tensors)));
  }

  [[nodiscard]] std::vector<TensorId>& alike(TensorId id) {
    return problem_.tensors[id].bytes <= small_ ? small_here_ : large_here_;
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
    for (const TensorId read : line_.chosen(problem_.tensors[id].producer).reads) visit(read);
    for (const TaskId reader : readers_[id]) {
      for (const TensorId write : line_.chosen(reader).writes) visit(write);
    }
  }

  [[nodiscard]] double own_seconds(TensorId id) const {
    return line_.chosen(problem_.tensors[id].producer).seconds_again;
  }

  std::size_t root(std::size_t family) {
    while (parents_[family] != family) {
      parents_[family] = parents_[parents_[family]];
      family = parents_[family];
    }
    return family;
  }

  const Problem& problem_;
  Timeline line_;
  std::int64_t limit_;
  std::int64_t used_ = 0;
  double clock_ = 0;
  TaskId stage_;  // whose first execution is next
  core::IdVector<TensorId, State> states_;
  core::IdVector<TensorId, std::vector<TaskId>> readers_;  // that may run again
  // Classes of dropped tensors, by union and find.
  std::vector<std::size_t> parents_;
  std::vector<double> family_seconds_;
  // Here, of some bytes, in no order.
  std::int64_t small_ = 0;  // at most
  std::vector<TensorId> large_here_;
  std::vector<TensorId> small_here_;
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
