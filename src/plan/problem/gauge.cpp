#include "plan/problem/gauge.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lowtide::plan {

Gauge::Gauge(const Problem& problem) : begins_(problem.tasks.size() + 1) {
  for (const Task& task : problem.tasks) {
    first_ways_.push_back(ways_.size());
    for (const Variant& variant : task.variants) add(variant);
  }
  for (const Tensor& tensor : problem.tensors) storage_.push_back({tensor.bytes, tensor.lasting});
}

void Gauge::add(const Variant& variant) {
  const auto here = [&] { return static_cast<std::uint32_t>(operands_.size()); };
  const auto append = [&](TensorId id) {
    operands_.push_back(static_cast<std::uint32_t>(id.index()));
  };
  Way way{variant.seconds, variant.seconds_again, variant.workspace, here()};
  for (const InPlace& pair : variant.in_place) {
    append(pair.output);
    append(pair.input);
  }
  way.writes = here();
  for (const TensorId write : variant.writes) append(write);
  way.reads = here();
  for (const TensorId read : variant.reads) append(read);
  way.end = here();
  ways_.push_back(way);
}

std::int64_t Gauge::peak(const Choices& choices) { return walk(choices, INT64_MAX); }

bool Gauge::fits(const Choices& choices, std::int64_t limit) {
  return walk(choices, limit) <= limit;
}

Candidate Gauge::candidate(Choices choices) {
  double seconds = 0;
  for (std::size_t i = 0; i < choices.variants.size(); ++i) {
    seconds += way(choices, TaskId(i)).seconds;
  }
  for (const Repetition& what : choices.repetitions) {
    seconds += way(choices, what.task).seconds_again;
  }
  const std::int64_t most = peak(choices);
  return {std::move(choices), seconds, most};
}

void Gauge::sort_repetitions(const Choices& choices) {
  std::fill(begins_.begin(), begins_.end(), 0U);
  for (const Repetition& what : choices.repetitions) ++begins_[what.stage];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  again_.resize(choices.repetitions.size());
  for (const Repetition& what : choices.repetitions) again_[--begins_[what.stage]] = what.task;
  for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
    const auto begin = again_.begin() + begins_[TaskId(i)];
    const auto end = again_.begin() + begins_[TaskId(i + 1)];
    if (end - begin > 1) std::sort(begin, end);
  }
}

// The most bytes in use of all steps, or of the last ones as soon as that is more than `stop`.
std::int64_t Gauge::walk(const Choices& choices, std::int64_t stop) {
  sort_repetitions(choices);
  live_ = 0;
  for (Storage& storage : storage_) {
    storage.alive = storage.lasting;
    if (storage.lasting) live_ += storage.bytes;
  }
  std::int64_t most = 0;
  std::size_t next = again_.size();
  for (std::size_t i = choices.variants.size(); i-- > 0 && most <= stop;) {
    most = std::max(most, step(way(choices, TaskId(i))));
    while (next > begins_[TaskId(i)]) most = std::max(most, step(way(choices, again_[--next])));
  }
  return most;
}

// The bytes in use at an execution, given what is alive behind it; then what is before it. What it
// reads for the last time may be taken over; what it writes is there even if nothing reads it.
std::int64_t Gauge::step(const Way& way) {
  std::int64_t bytes = way.workspace;
  std::uint32_t served = UINT32_MAX;  // the output that took over an input last
  for (std::uint32_t i = way.pairs; i < way.writes; i += 2) {
    const Storage& input = storage_[operands_[i + 1]];
    if (operands_[i] == served || input.alive) continue;
    served = operands_[i];
    bytes -= input.bytes;
  }
  for (std::uint32_t i = way.writes; i < way.reads; ++i) {
    Storage& write = storage_[operands_[i]];
    bytes += write.bytes;
    live_ -= write.alive ? write.bytes : 0;
    write.alive = false;
  }
  for (std::uint32_t i = way.reads; i < way.end; ++i) {
    Storage& read = storage_[operands_[i]];
    live_ += read.alive ? 0 : read.bytes;
    read.alive = true;
  }
  return live_ + bytes;
}

}  // namespace lowtide::plan
