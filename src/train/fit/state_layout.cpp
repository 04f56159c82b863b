#include "train/fit/state_layout.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/file.h"
#include "core/text.h"
#include "plan/plan.h"

namespace lowtide::train {
namespace {

using graph::Value;
using graph::ValueId;

bool same_content(const graph::Content& a, const graph::Content& b) {
  if (a.tensor.has_value() != b.tensor.has_value()) return false;
  if (a.tensor) return *a.tensor->bytes == *b.tensor->bytes;
  return a.file == b.file && a.offset == b.offset && a.draw == b.draw;
}

void check_finite(std::string_view name, const core::TensorType& type, const std::byte* data) {
  if (type.dtype != core::DType::kFloat32) return;
  const auto* const first = reinterpret_cast<const float*>(data);
  const auto* const last = first + type.shape.elements();
  const auto* const bad = std::find_if(first, last, [](float x) { return !std::isfinite(x); });
  if (bad != last) {
    throw core::fail(ErrorCode::kNumeric, "tensor '{}' holds {} at element {}", name, *bad,
                     bad - first);
  }
}

}  // namespace

const StateLayout::Entry* StateLayout::find(const Value& value) const {
  const auto [first, last] = by_name_.equal_range(value.name);
  for (auto it = first; it != last; ++it) {
    const Entry& entry = entries_[it->second];
    const bool state = graph::is_state(value.role) && graph::is_state(entry.role);
    if (state) {
      LT_CHECK(entry.type == value.type, "one state, one type");
      return &entry;
    }
    if (entry.role == value.role && entry.type == value.type &&
        same_content(entry.content, value.content)) {
      return &entry;
    }
  }
  return nullptr;
}

core::IdVector<ValueId, Bytes> StateLayout::place(const graph::Graph& graph) {
  core::IdVector<ValueId, Bytes> offsets(graph.value_count());
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId(i));
    if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
    const Entry* entry = find(value);
    if (entry == nullptr) {
      entries_.push_back({value.name, value.type, value.role, value.content, bytes_});
      by_name_.emplace(value.name, entries_.size() - 1);
      bytes_ += value.type.bytes().rounded_up(plan::kAlignment);
      entry = &entries_.back();
    }
    offsets[ValueId(i)] = entry->offset;
  }
  return offsets;
}

Bytes StateLayout::bytes(graph::Role role) const {
  Bytes sum;
  for (const Entry& entry : entries_) {
    if (entry.role == role) sum += entry.type.bytes().rounded_up(plan::kAlignment);
  }
  return sum;
}

void StateLayout::load(std::byte* arena) const {
  std::map<std::string, core::File> files;
  for (const Entry& entry : entries_) {
    std::byte* const place = arena + entry.offset.count();
    const auto size = static_cast<std::size_t>(entry.type.bytes().count());
    if (entry.content.tensor) {
      std::memcpy(place, entry.content.tensor->bytes->data(), size);
    } else if (!entry.content.file.empty()) {
      auto file = files.find(entry.content.file);
      if (file == files.end()) {
        file = files.emplace(entry.content.file, core::File::open(entry.content.file)).first;
      }
      file->second.read_at(Bytes(entry.content.offset), {place, size});
    } else if (entry.content.draw) {
      core::draw_bytes(*entry.content.draw, 0, {place, size});
    } else {
      continue;
    }
    if (graph::is_state(entry.role)) check_finite(entry.name, entry.type, place);
  }
}

Bytes StateLayout::offset(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    throw core::fail(ErrorCode::kInvalidArgument, "no state named '{}'", name);
  }
  return entries_[found->second].offset;
}

}  // namespace lowtide::train
