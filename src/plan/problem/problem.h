// Problem: what the search for plans works on, whoever fills it (a graph, an instance file): tasks
// in the order of their first executions, the tensors they read and write, what each may cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"

namespace lowtide::plan {

struct TaskTag;
using TaskId = core::Id<TaskTag>;
struct TensorTag;
using TensorId = core::Id<TensorTag>;

struct Tensor {
  std::int64_t bytes = 0;
  TaskId producer;       // invalid: exists before the first task (if anything reads it)
  bool lasting = false;  // stays until the last task, and nothing may take over its bytes
};

// An output that may take over the bytes of an input nothing reads later. Equal sizes.
struct InPlace {
  TensorId output;
  TensorId input;
};

// One of several ways to run a task, all with the same results.
struct Variant {
  double seconds = 0;
  double seconds_again = 0;  // of a second or later execution
  std::int64_t workspace = 0;
  std::vector<TensorId> reads;  // no tensor twice
  std::vector<TensorId> writes;
  std::vector<InPlace> in_place;  // in order of preference: an output takes over one input only
};

bool reads(const Variant& variant, TensorId tensor);

struct Task {
  std::vector<Variant> variants;  // at least one; all write the same tensors
  bool repeatable = false;
  // A repetition comes before the first execution of this task: what it reads is overwritten then.
  // Invalid: no limit.
  TaskId deadline;
};

// Tensors that always are in memory do not appear: their bytes are the caller's business.
struct Problem {
  core::IdVector<TensorId, Tensor> tensors;
  core::IdVector<TaskId, Task> tasks;

  // Every task once, in its fastest variant: the least time when memory is no matter.
  [[nodiscard]] double fastest_seconds() const;
};

// Workspace, less what outputs take over where they may.
std::int64_t own_bytes(const Problem& problem, const Variant& variant);

// The fastest variant; the first of several that are.
std::size_t fastest_variant(const Task& task);

}  // namespace lowtide::plan
