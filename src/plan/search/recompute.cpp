#include "plan/search/recompute.h"

#include <algorithm>
#include <span>
#include <vector>

namespace lowtide::plan {

Choices recompute_dropped(const Problem& problem,
                          const core::IdVector<TensorId, char>& dropped,
                          TaskId from) {
  Choices result = fastest_choices(problem);
  core::IdVector<TensorId, char> absent = dropped;
  core::IdVector<TaskId, TaskId> latest(problem.tasks.size());  // stage that each ran again in
  std::vector<TaskId> todo;
  const auto chosen = [&](TaskId task) -> const Variant& {
    return problem.tasks[task].variants[result.variants[task]];
  };
  // Rather than to compute again what a task reads, it runs in a variant that reads what is there.
  const auto reads_absent = [&](const Variant& variant) {
    return std::any_of(variant.reads.begin(), variant.reads.end(),
                       [&](TensorId read) { return absent[read] != 0; });
  };
  const auto choose = [&](TaskId task) {
    const std::vector<Variant>& variants = problem.tasks[task].variants;
    if (!reads_absent(chosen(task))) return;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (!reads_absent(variants[i])) {
        result.variants[task] = static_cast<std::uint8_t>(i);
        return;
      }
    }
  };
  const auto want = [&](TaskId reader) {
    for (const TensorId read : chosen(reader).reads) {
      if (absent[read] != 0) todo.push_back(problem.tensors[read].producer);
    }
  };
  for (std::size_t i = from.index(); i < problem.tasks.size(); ++i) {
    const TaskId stage(i);
    choose(stage);
    want(stage);
    while (!todo.empty()) {
      const TaskId task = todo.back();
      todo.pop_back();
      if (!allowed(problem, {stage, task}) || latest[task] == stage) continue;
      latest[task] = stage;
      result.repetitions.push_back({stage, task});
      for (const TensorId write : chosen(task).writes) absent[write] = 0;
      want(task);
    }
  }
  return result;
}

Choices relaxed(const Problem& problem, TaskId at, const Cut::Answer& answer) {
  core::IdVector<TensorId, char> dropped(problem.tensors.size(), 0);
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Tensor& tensor = problem.tensors[TensorId(i)];
    const bool old = tensor.producer.valid() && tensor.producer < at;
    if (old && !tensor.lasting && problem.tasks[tensor.producer].repeatable) {
      dropped[TensorId(i)] = 1;
    }
  }
  for (const TensorId kept : answer.kept) dropped[kept] = 0;
  for (const Variant& variant : problem.tasks[at].variants) {
    for (const TensorId read : variant.reads) dropped[read] = 0;
  }
  return recompute_dropped(problem, dropped, TaskId(at.index() + 1));
}

namespace {

constexpr std::size_t kParts = 128;  // that large problems are tried in at least

void choose_all(Timeline& line, std::span<const TaskId> tasks, std::span<const std::uint8_t> how) {
  for (std::size_t i = 0; i < tasks.size(); ++i) line.choose(tasks[i], how[i]);
}

void take(Timeline& line,
          std::int64_t limit,
          std::span<const TaskId> tasks,
          std::span<const std::uint8_t> now,
          std::span<const std::uint8_t> fastest,
          std::size_t fewest) {
  if (tasks.empty()) return;
  choose_all(line, tasks, fastest);
  if (line.excess(limit) == 0) return;
  choose_all(line, tasks, now);
  if (tasks.size() <= fewest) return;
  const std::size_t half = tasks.size() / 2;
  take(line, limit, tasks.first(half), now.first(half), fastest.first(half), fewest);
  take(line, limit, tasks.subspan(half), now.subspan(half), fastest.subspan(half), fewest);
}

}  // namespace

void take_fastest_variants(Timeline& line, std::int64_t limit) {
  std::vector<TaskId> tasks;
  std::vector<std::uint8_t> now;
  std::vector<std::uint8_t> fastest;
  for (std::size_t i = 0; i < line.problem().tasks.size(); ++i) {
    const TaskId id(i);
    const auto best = static_cast<std::uint8_t>(fastest_variant(line.problem().tasks[id]));
    if (line.variant(id) == best) continue;
    tasks.push_back(id);
    now.push_back(line.variant(id));
    fastest.push_back(best);
  }
  take(line, limit, tasks, now, fastest, std::max<std::size_t>(tasks.size() / kParts, 1));
}

}  // namespace lowtide::plan
