#include "plan/baseline/chen.h"

#include <algorithm>
#include <cmath>

#include "plan/search/recompute.h"

namespace lowtide::plan {

namespace {

using Time = Timeline::Time;

// The forward pass, as far as a task that may run again, and what of it is saved for later.
class Segments {
 public:
  explicit Segments(const Problem& problem) : problem_(problem), line_(problem) {
    for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
      if (problem.tasks[TaskId(i)].repeatable) end_ = i + 1;
    }
    crossing_.resize(end_ + 1);
    saved_.resize(end_ + 1);
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) note(TensorId(i));
    for (std::size_t i = 1; i <= end_; ++i) {
      crossing_[i] += crossing_[i - 1];
      saved_[i] += saved_[i - 1];
    }
  }

  [[nodiscard]] std::size_t count() const { return tensors_.size(); }

  // Within a fifth of a segment, the cut goes where the fewest bytes cross.
  [[nodiscard]] Choices choices(int segments) const {
    std::vector<std::size_t> cuts;
    const std::int64_t part = saved_.back() / segments;
    for (int s = 1; s < segments; ++s) {
      const std::size_t from = position(part * s - part / 5);
      const std::size_t to = std::min(position(part * s + part / 5) + 1, crossing_.size());
      const auto best = std::min_element(crossing_.begin() + static_cast<std::ptrdiff_t>(from),
                                         crossing_.begin() + static_cast<std::ptrdiff_t>(to));
      cuts.push_back(static_cast<std::size_t>(best - crossing_.begin()));
    }
    std::sort(cuts.begin(), cuts.end());
    core::IdVector<TensorId, char> dropped(problem_.tensors.size(), 0);
    for (const Produced& tensor : tensors_) {
      const auto cut = std::upper_bound(cuts.begin(), cuts.end(), tensor.at);
      dropped[tensor.id] = cut != cuts.end() && *cut <= tensor.last ? 0 : 1;
    }
    return recompute_dropped(problem_, dropped, TaskId(end_));
  }

 private:
  struct Produced {
    TensorId id;
    std::size_t at = 0;    // tasks
    std::size_t last = 0;  // that reads it in the forward pass
  };

  void note(TensorId id) {
    const Tensor& tensor = problem_.tensors[id];
    if (tensor.lasting || !tensor.producer.valid()) return;
    const Task& producer = problem_.tasks[tensor.producer];
    if (!producer.repeatable) return;
    const std::size_t at = tensor.producer.index();
    std::size_t last = at;
    bool saved = false;
    for (const Timeline::Touch& touch : line_.touches(id)) {
      const TaskId reader = line_.stage(touch.time);
      if (producer.deadline.valid() && reader > producer.deadline) return;
      if (reader.index() < end_) last = reader.index();
      saved = saved || reader.index() >= end_;
    }
    tensors_.push_back({id, at, last});
    crossing_[at + 1] += tensor.bytes;  // it crosses cuts at+1 .. last; cut c lies before task c
    crossing_[last + 1] -= tensor.bytes;
    saved_[at + 1] += saved ? tensor.bytes : 0;
  }

  [[nodiscard]] std::size_t position(std::int64_t saved) const {
    return static_cast<std::size_t>(std::lower_bound(saved_.begin(), saved_.end(), saved) -
                                    saved_.begin());
  }

  const Problem& problem_;
  Timeline line_;
  std::size_t end_ = 0;  // tasks of the forward pass
  std::vector<Produced> tensors_;
  std::vector<std::int64_t> crossing_;  // by cut: bytes alive on both sides in the forward pass
  std::vector<std::int64_t> saved_;     // by cut: bytes saved before it
};

}  // namespace

std::vector<Choices> chen(const Problem& problem) {
  const Segments segments(problem);
  std::vector<Choices> result;
  const double root = std::sqrt(static_cast<double>(segments.count()));
  int previous = 0;
  for (const double factor : {0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8}) {
    const int count = std::max(static_cast<int>(std::lround(factor * root)), 1);
    if (count == previous) continue;
    previous = count;
    result.push_back(segments.choices(count));
  }
  return result;
}

}  // namespace lowtide::plan
