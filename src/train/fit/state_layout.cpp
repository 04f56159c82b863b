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

// `from`: where in the tensor the bytes begin.
void check_finite(std::string_view name,
                  core::DType dtype,
                  std::int64_t from,
                  std::span<const std::byte> bytes) {
  if (dtype != core::DType::kFloat32) return;
  const auto* const first = reinterpret_cast<const float*>(bytes.data());
  const auto* const last = first + bytes.size() / sizeof(float);
  const auto* const bad = std::find_if(first, last, [](float x) { return !std::isfinite(x); });
  if (bad != last) {
    throw core::fail(ErrorCode::kNumeric, "tensor '{}' holds {} at element {}", name, *bad,
                     from / static_cast<std::int64_t>(sizeof(float)) + (bad - first));
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

Bytes StateLayout::bytes(graph::Role role, const StatePlaces& places) const {
  Bytes sum;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].role != role || places.in_file[i] != 0) continue;
    sum += entries_[i].type.bytes().rounded_up(plan::kAlignment);
  }
  return sum;
}

StatePlaces StateLayout::resident() const { return arrange(std::vector<char>(entries_.size(), 0)); }

StatePlaces StateLayout::arrange(const std::vector<char>& in_file) const {
  StatePlaces places{.in_file = in_file, .offsets = {}, .arena_bytes = {}, .file_bytes = {}};
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Bytes size = entries_[i].type.bytes();
    Bytes& end = in_file[i] != 0 ? places.file_bytes : places.arena_bytes;
    places.offsets.push_back(end);
    end += size.rounded_up(in_file[i] != 0 ? plan::kSlotAlignment : plan::kAlignment);
  }
  return places;
}

// By steps of equal bytes. Moving small values costs more than it frees.
std::vector<StatePlaces> StateLayout::places(const std::vector<double>& leisure) const {
  constexpr Bytes kSmallest{64 * 1024};
  constexpr std::int64_t kSteps = 12;
  std::vector<std::size_t> order;
  Bytes whole;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].type.bytes() < kSmallest) continue;
    order.push_back(i);
    whole += entries_[i].type.bytes();
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return leisure[a] > leisure[b]; });
  std::vector<StatePlaces> result = {resident()};
  std::vector<char> in_file(entries_.size(), 0);
  Bytes sent;
  for (std::size_t i = 0; i < order.size(); ++i) {
    in_file[order[i]] = 1;
    sent += entries_[order[i]].type.bytes();
    const auto done = static_cast<std::int64_t>(result.size());
    if (kSteps * sent < done * whole && i + 1 < order.size()) continue;
    result.push_back(arrange(in_file));
  }
  return result;
}

std::size_t StateLayout::entry(const Value& value) const {
  const Entry* const found = find(value);
  LT_CHECK(found != nullptr, "every graph's state is placed before anything is planned");
  return static_cast<std::size_t>(found - entries_.data());
}

plan::Homes StateLayout::homes(const graph::Graph& graph, const StatePlaces& places) const {
  plan::Homes homes{.offsets = core::IdVector<ValueId, Bytes>(graph.value_count()),
                    .arena_bytes = places.arena_bytes,
                    .file_offsets = plan::FileOffsets(graph.value_count(), plan::kInArena),
                    .file_bytes = places.file_bytes};
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph.value(ValueId(i));
    if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
    const std::size_t index = entry(value);
    (places.in_file[index] != 0 ? homes.file_offsets : homes.offsets)[ValueId(i)] =
        places.offsets[index];
  }
  return homes;
}

bool StateLayout::fill(const Entry& entry,
                       std::int64_t from,
                       std::span<std::byte> bytes,
                       Files& files) {
  const graph::Content& content = entry.content;
  if (content.tensor) {
    std::memcpy(bytes.data(), content.tensor->bytes->data() + from, bytes.size());
  } else if (!content.file.empty()) {
    auto file = files.find(content.file);
    if (file == files.end()) {
      file = files.emplace(content.file, core::File::open(content.file)).first;
    }
    file->second.read_at(Bytes(content.offset + from), bytes);
  } else if (content.draw) {
    core::draw_bytes(*content.draw, from / static_cast<std::int64_t>(sizeof(float)), bytes);
  } else {
    return false;
  }
  if (graph::is_state(entry.role)) check_finite(entry.name, entry.type.dtype, from, bytes);
  return true;
}

void StateLayout::load(std::byte* arena) const {
  Files files;
  for (const Entry& entry : entries_) {
    const auto size = static_cast<std::size_t>(entry.type.bytes().count());
    fill(entry, 0, {arena + entry.offset.count(), size}, files);
  }
}

void StateLayout::load(std::byte* arena,
                       const StatePlaces& places,
                       memory::SpillStore& file) const {
  constexpr std::size_t kPiece = 256 * 1024;
  Files files;
  std::vector<std::byte> piece;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto size = static_cast<std::size_t>(entries_[i].type.bytes().count());
    if (places.in_file[i] == 0) {
      fill(entries_[i], 0, {arena + places.offsets[i].count(), size}, files);
      continue;
    }
    piece.resize(kPiece);
    for (std::size_t from = 0; from < size; from += kPiece) {
      const std::span<std::byte> bytes(piece.data(), std::min(kPiece, size - from));
      const auto offset = static_cast<std::int64_t>(from);
      // The file reads as zeros where nothing was written.
      if (!fill(entries_[i], offset, bytes, files)) break;
      file.write(places.offsets[i] + Bytes(offset), bytes);
    }
  }
}

std::vector<StateLayout::State> StateLayout::states() const {
  std::vector<State> result;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (graph::is_state(entry.role)) result.push_back({entry.name, entry.type, entry.role, i});
  }
  return result;
}

Bytes StateLayout::offset(const std::string& name) const { return entries_[entry(name)].offset; }

std::size_t StateLayout::entry(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    throw core::fail(ErrorCode::kInvalidArgument, "no state named '{}'", name);
  }
  return found->second;
}

}  // namespace lowtide::train
