#include "plan/search/variants.h"

#include <algorithm>
#include <span>
#include <vector>

namespace lowtide::plan {

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
