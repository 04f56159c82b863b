#include <iterator>

#include "plan/check/subject.h"

namespace lowtide::plan {

void Contents::write(const Range& range, ValueId value) {
  erase(range);
  if (!range.empty()) held_[range.begin] = {range.end, value};
}

void Contents::erase(const Range& range) {
  if (range.empty()) return;
  auto it = held_.lower_bound(range.begin);
  if (it != held_.begin() && std::prev(it)->second.end > range.begin) --it;
  while (it != held_.end() && it->first < range.end) it = held_.erase(it);
}

bool Contents::holds(const Range& range, ValueId value) const {
  if (range.empty()) return true;
  const auto it = held_.find(range.begin);
  return it != held_.end() && it->second.end == range.end && it->second.value == value;
}

}  // namespace lowtide::plan
