#include "plan/spill/range_max.h"

#include <algorithm>
#include <limits>

namespace lowtide::plan {

namespace {

constexpr Bytes kLeast{std::numeric_limits<std::int64_t>::min() / 2};

}  // namespace

RangeMax::RangeMax(const std::vector<Bytes>& values) {
  while (leaves_ < values.size()) leaves_ *= 2;
  nodes_.assign(2 * leaves_, {kLeast, Bytes()});
  for (std::size_t i = 0; i < values.size(); ++i) nodes_[leaves_ + i].most = values[i];
  for (std::size_t i = leaves_; i-- > 1;) {
    nodes_[i].most = std::max(nodes_[2 * i].most, nodes_[2 * i + 1].most);
  }
}

Bytes RangeMax::max(std::size_t first, std::size_t last) const {
  return max(1, 0, leaves_, first, last);
}

void RangeMax::add(std::size_t first, std::size_t last, Bytes amount) {
  add(1, 0, leaves_, first, last, amount);
}

Bytes RangeMax::max(
    std::size_t node, std::size_t from, std::size_t to, std::size_t first, std::size_t last) const {
  if (first <= from && to <= last) return nodes_[node].most;
  const std::size_t middle = from + (to - from) / 2;
  Bytes most = kLeast;
  if (first < middle) most = max(2 * node, from, middle, first, last);
  if (last > middle) most = std::max(most, max(2 * node + 1, middle, to, first, last));
  return most + nodes_[node].added;
}

void RangeMax::add(std::size_t node,
                   std::size_t from,
                   std::size_t to,
                   std::size_t first,
                   std::size_t last,
                   Bytes amount) {
  if (first <= from && to <= last) {
    nodes_[node].most += amount;
    nodes_[node].added += amount;
    return;
  }
  const std::size_t middle = from + (to - from) / 2;
  if (first < middle) add(2 * node, from, middle, first, last, amount);
  if (last > middle) add(2 * node + 1, middle, to, first, last, amount);
  nodes_[node].most =
      std::max(nodes_[2 * node].most, nodes_[2 * node + 1].most) + nodes_[node].added;
}

}  // namespace lowtide::plan
