#include "ops/indexing/indexing_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/parallel.h"
#include "graph/graph.h"
#include "kernels/rows.h"
#include "ops/gather/gather.h"
#include "ops/loops.h"
#include "ops/planned_kernel.h"

namespace lowtide::ops {
namespace {

using core::DType;
using core::TensorType;
using graph::Run;
using graph::Signature;

// Where the entries of an index tensor (indices, or tuples of them) lead in the data.
struct Places {
  // The entries' axes, and how far a step along them moves in the data by itself.
  std::vector<Loop<1>> shared;  // threads may share these out
  std::vector<Loop<1>> own;     // the remaining ones, inside of them
  // What each coordinate of an entry counts along, and moves.
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> steps;
  std::int64_t slice = 1;  // elements that an entry names
  DType index_type = DType::kInt64;
};

std::int64_t count(const std::vector<Loop<1>>& loops) {
  std::int64_t product = 1;
  for (const Loop<1>& loop : loops) product *= loop.length;
  return product;
}

std::size_t first_coordinate(const Indexing& at) {
  return at.by == Addressing::kElements ? at.axis : at.batch_dims;
}

std::vector<Loop<1>> entry_loops(const Indexing& at,
                                 const core::Shape& indices,
                                 const std::vector<std::int64_t>& strides) {
  const bool tuples = at.by == Addressing::kTuples;
  std::vector<Loop<1>> loops;
  for (std::size_t axis = 0; axis < indices.rank() - (tuples ? 1 : 0); ++axis) {
    const bool moves = tuples ? axis < at.batch_dims : axis != at.axis;
    const Loop<1> loop{.length = indices[axis], .steps = {moves ? strides[axis] : 0}};
    if (!loops.empty() && loops.back().steps[0] == loop.steps[0] * loop.length) {
      loops.back().length *= loop.length;
      loops.back().steps = loop.steps;
    } else {
      loops.push_back(loop);
    }
  }
  return loops;
}

// Where entries write (`disjoint`), threads share out only the leading axes along which no two
// meet.
Places places(const Indexing& at,
              const TensorType& data,
              const TensorType& indices,
              bool disjoint) {
  const std::vector<std::int64_t> strides = core::strides(data);
  Places result{.lengths = indexed_lengths(at, data.shape, indices.shape),
                .index_type = indices.dtype};
  const auto first = strides.begin() + static_cast<std::ptrdiff_t>(first_coordinate(at));
  result.steps.assign(first, first + static_cast<std::ptrdiff_t>(result.lengths.size()));
  if (at.by == Addressing::kTuples) result.slice = result.steps.back();
  std::vector<Loop<1>> loops = entry_loops(at, indices.shape, strides);
  const auto meets = [](const Loop<1>& loop) { return loop.steps[0] == 0; };
  const auto middle = disjoint ? std::find_if(loops.begin(), loops.end(), meets) : loops.end();
  result.own.assign(middle, loops.end());
  loops.erase(middle, loops.end());
  result.shared = std::move(loops);
  return result;
}

std::int64_t offset_of(std::int64_t unit, const std::vector<Loop<1>>& loops) {
  std::int64_t offset = 0;
  for (std::size_t i = loops.size(); i-- > 0;) {
    offset += unit % loops[i].length * loops[i].steps[0];
    unit /= loops[i].length;
  }
  return offset;
}

// The place of an entry's slice in the data; -1 if it lies outside.
template <class Index>
std::int64_t place_of(const Places& at, const Index* entry, std::int64_t offset) {
  for (std::size_t k = 0; k < at.lengths.size(); ++k) {
    const std::int64_t row = kernels::row_of(entry[k], at.lengths[k]);
    if (row < 0) return -1;
    offset += row * at.steps[k];
  }
  return offset;
}

// Calls f(number of the entry, its place) for each; on one thread in order for those that may meet.
template <class F>
void for_each_entry(const Places& at, const std::byte* indices, F&& f) {
  constexpr std::int64_t kElementsPerThread = 16384;
  const std::int64_t each = count(at.own);
  const std::int64_t grain = kElementsPerThread / std::max<std::int64_t>(each * at.slice, 1) + 1;
  const auto depth = static_cast<std::int64_t>(at.lengths.size());
  with_index_type(at.index_type, [&](auto zero) {
    const auto* const first = reinterpret_cast<const decltype(zero)*>(indices);
    core::parallel_for(count(at.shared), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        std::int64_t entry = unit * each;
        const auto visit = [&](const std::array<std::int64_t, 1>& offset) {
          f(entry, place_of(at, first + entry * depth, offset[0]));
          ++entry;
        };
        for_each_element<1>(at.own, visit, {offset_of(unit, at.shared)});
      }
    });
  });
}

// Calls f with a zero of an unsigned type as wide as the elements: for moving them.
template <class F>
void with_width(DType dtype, F&& f) {
  switch (core::element_bytes(dtype).count()) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
  }
}

struct GatherPlan {
  Places at;
  DType dtype = DType::kFloat32;
  bool zero_outside = false;
};

void run_gather(const GatherPlan& plan, const Run& run) {
  const std::int64_t slice = plan.at.slice;
  with_width(plan.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto outside = plan.zero_outside ? T{0} : static_cast<T>(-1);
    for_each_entry(plan.at, run.in[1], [&](std::int64_t entry, std::int64_t place) {
      T* const to = run.output<T>(0) + entry * slice;
      if (place < 0) {
        std::fill_n(to, slice, outside);
      } else {
        std::copy_n(run.input<T>(0) + place, slice, to);
      }
    });
  });
}

// Integers wrap around; NaN is both the largest and the smallest number.
template <class T>
T combined(ScatterReduction reduction, T a, T c) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
  switch (reduction) {
    case ScatterReduction::kNone: return c;
    case ScatterReduction::kAdd: return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(c));
    case ScatterReduction::kMul: return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(c));
    case ScatterReduction::kMax: return c > a || c != c ? c : a;
    case ScatterReduction::kMin: break;
  }
  return c < a || c != c ? c : a;
}

struct ScatterPlan {
  Places at;
  DType dtype = DType::kFloat32;
  std::int64_t bytes = 0;  // of the data
  ScatterReduction reduction = ScatterReduction::kNone;
};

void copy_data(const std::byte* from, std::byte* to, std::int64_t bytes) {
  constexpr std::int64_t kBytesPerThread = 64 * 1024;
  if (from == to) return;
  core::parallel_for(bytes, kBytesPerThread, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

void run_scatter(const ScatterPlan& plan, const Run& run) {
  copy_data(run.in[0], run.out[0], plan.bytes);
  const std::int64_t slice = plan.at.slice;
  core::visit(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_entry(plan.at, run.in[1], [&](std::int64_t entry, std::int64_t place) {
      if (place < 0) return;
      const T* const from = run.input<T>(2) + entry * slice;
      T* const to = run.output<T>(0) + place;
      for (std::int64_t i = 0; i < slice; ++i) to[i] = combined(plan.reduction, to[i], from[i]);
    });
  });
}

}  // namespace

std::vector<std::int64_t> indexed_lengths(const Indexing& at,
                                          const core::Shape& data,
                                          const core::Shape& indices) {
  if (at.by == Addressing::kElements) return {data[at.axis]};
  const auto first = data.dims().begin() + static_cast<std::ptrdiff_t>(at.batch_dims);
  return {first, first + indices[indices.rank() - 1]};
}

std::vector<std::int64_t> entry_places(const Indexing& at,
                                       const TensorType& data,
                                       const graph::ConstantTensor& indices) {
  const Places where = places(at, data, indices.type, false);
  const std::int64_t depth = at.by == Addressing::kElements ? 1 : std::ssize(where.lengths);
  std::vector<std::int64_t> result(static_cast<std::size_t>(indices.type.shape.elements() / depth));
  for_each_entry(where, indices.bytes->data(), [&](std::int64_t entry, std::int64_t place) {
    result[static_cast<std::size_t>(entry)] = place;
  });
  return result;
}

std::unique_ptr<graph::BoundKernel> bind_gather(const Indexing& at,
                                                const Signature& types,
                                                const core::Machine&) {
  return std::make_unique<PlannedKernel<GatherPlan>>(
      "entries", run_gather,
      GatherPlan{.at = places(at, types.in[0], types.in[1], false),
                 .dtype = types.in[0].dtype,
                 .zero_outside = at.zero_outside});
}

std::unique_ptr<graph::BoundKernel> bind_scatter(const Scatter& a,
                                                 const Signature& types,
                                                 const core::Machine&) {
  return std::make_unique<PlannedKernel<ScatterPlan>>(
      "entries", run_scatter,
      ScatterPlan{.at = places(a.at, types.in[0], types.in[1], true),
                  .dtype = types.in[0].dtype,
                  .bytes = types.in[0].bytes().count(),
                  .reduction = a.reduction});
}

}  // namespace lowtide::ops
