#include "plan/problem/choices.h"

#include <algorithm>

namespace lowtide::plan {

Choices fastest_choices(const Problem& problem) {
  Choices result{.repetitions = {},
                 .variants = core::IdVector<TaskId, std::uint8_t>(problem.tasks.size())};
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    result.variants[TaskId(i)] =
        static_cast<std::uint8_t>(fastest_variant(problem.tasks[TaskId(i)]));
  }
  return result;
}

bool allowed(const Problem& problem, Repetition what) {
  const Task& task = problem.tasks[what.task];
  return task.repeatable && what.task < what.stage &&
         (!task.deadline.valid() || what.stage <= task.deadline);
}

std::vector<TaskId> executions(const Choices& choices) {
  std::vector<Repetition> again = choices.repetitions;
  std::sort(again.begin(), again.end(), [](const Repetition& a, const Repetition& b) {
    return a.stage != b.stage ? a.stage < b.stage : a.task < b.task;
  });
  std::vector<TaskId> all;
  all.reserve(again.size() + choices.variants.size());
  auto next = again.begin();
  for (std::size_t i = 0; i < choices.variants.size(); ++i) {
    for (; next != again.end() && next->stage == TaskId(i); ++next) all.push_back(next->task);
    all.emplace_back(i);
  }
  return all;
}

}  // namespace lowtide::plan
