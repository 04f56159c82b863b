#include "plan/bound/cut.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "plan/problem/timeline.h"

namespace lowtide::plan {

namespace {

// What every variant of a task reads.
std::vector<TensorId> common_reads(const Task& task) {
  std::vector<TensorId> common = task.variants.front().reads;
  for (std::size_t i = 1; i < task.variants.size(); ++i) {
    std::erase_if(common, [&](TensorId id) { return !reads(task.variants[i], id); });
  }
  return common;
}

double least_again(const Task& task) {
  double least = std::numeric_limits<double>::infinity();
  for (const Variant& variant : task.variants) least = std::min(least, variant.seconds_again);
  return least;
}

}  // namespace

Cut::Cut(const Problem& problem, TaskId at, double seconds)
    : problem_(problem),
      at_(at),
      unit_(std::max(seconds, 1e-9) * 0x1p-40),
      present_(problem.tensors.size(), 0) {
  const Task& task = problem.tasks[at];
  for (const TensorId id : common_reads(task)) present_[id] = 1;
  for (const TensorId id : task.variants.front().writes) present_[id] = 1;
  fixed_ = least_own(task);
  double bytes = 1;
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Tensor& tensor = problem.tensors[TensorId(i)];
    if (tensor.lasting && (!tensor.producer.valid() || tensor.producer < at)) {
      present_[TensorId(i)] = 1;
    }
    if (present_[TensorId(i)] != 0) fixed_ += tensor.bytes;
    bytes += static_cast<double>(tensor.bytes);
  }
  start_price_ = seconds / bytes;
  find_wanted();
}

Cut::Answer Cut::at_price(double price, std::int64_t limit) {
  const Solved& cut = solved(price);
  const auto beyond = static_cast<double>(fixed_ - limit);
  return {.value = cut.value + price * beyond, .slope = beyond + cut.bytes, .kept = cut.kept};
}

const Cut::Solved& Cut::solved(double price) {
  const auto [found, fresh] = solved_.try_emplace(price);
  Solved& result = found->second;
  if (!fresh) return result;
  Flow flow = network(price);
  result.value = static_cast<double>(flow.solve()) * unit_;
  for (std::size_t i = 0; i < keeps_.size(); ++i) {
    const Keep& keep = keeps_[i];
    const bool again = keep.repeat != kNone && flow.on_source_side(2 + keeps_.size() + keep.repeat);
    if (!flow.on_source_side(2 + i) || again) continue;
    result.bytes += static_cast<double>(problem_.tensors[keep.tensor].bytes);
    result.kept.push_back(keep.tensor);
  }
  return result;
}

// The value is concave in the price: the highest point is where the lines on its two sides meet,
// once the meeting point lies on it. The lines begin with those of the nearest prices known.
Cut::Answer Cut::best(std::int64_t limit) {
  constexpr int kSamples = 24;
  Answer low = at_price(0, limit);
  if (low.slope <= 0) return low;
  double left = 0;
  double right = start_price_;
  for (const auto& [price, cut] : solved_) {
    if (static_cast<double>(fixed_ - limit) + cut.bytes > 0) {
      left = price;
      right = std::max(right, 4 * price);
    } else {
      right = price;
      break;
    }
  }
  low = at_price(left, limit);
  Answer high = at_price(right, limit);
  for (int i = 0; high.slope > 0; ++i) {
    if (i == kSamples) return high;
    low = std::move(high);
    left = right;
    right *= 4;
    high = at_price(right, limit);
  }
  double most = std::max(low.value, high.value);
  for (int i = 0; i < kSamples; ++i) {
    const double price =
        (high.value - low.value - high.slope * right + low.slope * left) / (low.slope - high.slope);
    if (!(price > left && price < right)) break;
    Answer answer = at_price(price, limit);
    const double meeting = low.value + low.slope * (price - left);
    most = std::max(most, answer.value);
    const bool met = answer.value >= meeting - 1e-6 * std::abs(meeting);
    (answer.slope > 0 ? left : right) = price;
    (answer.slope > 0 ? low : high) = std::move(answer);
    if (met) break;
  }
  high.value = most;
  return high;
}

// Tasks that run again and tensors that are needed are on the source's side; a tensor there whose
// producer is not is kept.
Flow Cut::network(double price) const {
  Flow flow(2 + keeps_.size() + repeats_.size());
  const std::size_t first_repeat = 2 + keeps_.size();
  for (std::size_t i = 0; i < keeps_.size(); ++i) {
    const Keep& keep = keeps_[i];
    if (keep.wanted) flow.connect(Flow::kSource, 2 + i, Flow::kInfinite);
    const double cost = price * static_cast<double>(problem_.tensors[keep.tensor].bytes);
    flow.connect(2 + i, keep.repeat == kNone ? Flow::kSink : first_repeat + keep.repeat,
                 units(cost));
  }
  for (std::size_t i = 0; i < repeats_.size(); ++i) {
    flow.connect(first_repeat + i, Flow::kSink, units(repeats_[i].seconds));
    for (const std::size_t read : repeats_[i].reads) {
      flow.connect(first_repeat + i, 2 + read, Flow::kInfinite);
    }
  }
  return flow;
}

// Rounded down, so that the cut is no larger than it should be.
std::int64_t Cut::units(double seconds) const {
  return static_cast<std::int64_t>(std::min(seconds / unit_, 0x1p50));
}

// In the variant where that is least.
std::int64_t Cut::least_own(const Task& task) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Variant& variant : task.variants) {
    least = std::min(least, own_bytes(problem_, variant));
  }
  return least;
}

// Everything read behind the step that is not present at it, with what may bring it back.
void Cut::find_wanted() {
  std::map<TensorId, std::size_t> keep_of;
  std::map<TaskId, std::size_t> repeat_of;
  const auto keep = [&](TensorId id) {
    const auto [found, added] = keep_of.emplace(id, keeps_.size());
    if (added) keeps_.push_back({.tensor = id});
    return found->second;
  };
  const auto old = [&](TensorId id) {
    const TaskId producer = problem_.tensors[id].producer;
    return present_[id] == 0 && (!producer.valid() || producer < at_);
  };
  for (std::size_t i = at_.index() + 1; i < problem_.tasks.size(); ++i) {
    for (const TensorId read : common_reads(problem_.tasks[TaskId(i)])) {
      if (old(read)) keeps_[keep(read)].wanted = true;
    }
  }
  for (std::size_t i = 0; i < keeps_.size(); ++i) {
    const TaskId producer = problem_.tensors[keeps_[i].tensor].producer;
    if (!producer.valid()) continue;
    const Task& task = problem_.tasks[producer];
    if (!task.repeatable || (task.deadline.valid() && task.deadline <= at_)) continue;
    const auto [found, added] = repeat_of.emplace(producer, repeats_.size());
    keeps_[i].repeat = found->second;
    if (!added) continue;
    repeats_.push_back({.seconds = least_again(task), .reads = {}});
    for (const TensorId read : common_reads(task)) {
      if (old(read)) repeats_[found->second].reads.push_back(keep(read));
    }
  }
}

std::vector<TaskId> crowded_steps(const Problem& problem, std::int64_t limit, int count) {
  const Timeline line(problem);
  const std::vector<Timeline::Step> steps = line.steps();
  std::vector<Timeline::Step> large;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(large),
               [&](const Timeline::Step& step) { return step.bytes > limit; });
  std::vector<TaskId> chosen;
  const auto parts = static_cast<std::size_t>(count);
  for (std::size_t part = 0; part < parts; ++part) {
    const auto begin = large.begin() + static_cast<std::ptrdiff_t>(large.size() * part / parts);
    const auto end = large.begin() + static_cast<std::ptrdiff_t>(large.size() * (part + 1) / parts);
    if (begin == end) continue;
    const auto most = std::max_element(
        begin, end, [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    chosen.push_back(most->task);
  }
  return chosen;
}

double seconds_of_all_repetitions(const Problem& problem) {
  double seconds = 0;
  for (const Task& task : problem.tasks) seconds += task.repeatable ? least_again(task) : 0;
  return seconds;
}

}  // namespace lowtide::plan
