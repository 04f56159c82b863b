#include "plan/packing/sections.h"

#include <algorithm>

namespace lowtide::plan {

namespace {

// The section of each time.
std::vector<std::size_t> sections(std::span<const Item> items) {
  std::int32_t horizon = 0;
  for (const Item& item : items) horizon = std::max(horizon, item.last);
  const auto times = static_cast<std::size_t>(horizon) + 1;
  std::vector<bool> begins(times);
  std::vector<bool> ends(times);
  for (const Item& item : items) {
    begins[static_cast<std::size_t>(item.first)] = true;
    ends[static_cast<std::size_t>(item.last)] = true;
  }
  std::vector<std::size_t> result(times);
  std::size_t section = 0;
  bool one_ended = false;
  for (std::size_t t = 0; t < times; ++t) {
    if (begins[t] && one_ended) {
      ++section;
      one_ended = false;
    }
    result[t] = section;
    one_ended = one_ended || ends[t];
  }
  return result;
}

}  // namespace

Sections::Sections(std::span<const Item> items) {
  const std::vector<std::size_t> section = sections(items);
  live.assign(items.empty() ? 1 : section.back() + 1, 0);
  for (const Item& item : items) {
    const Span& span = spans.emplace_back(Span{section[static_cast<std::size_t>(item.first)],
                                               section[static_cast<std::size_t>(item.last)]});
    for (std::size_t s = span.first; s <= span.last; ++s) live[s] += item.size.count();
  }
}

}  // namespace lowtide::plan
