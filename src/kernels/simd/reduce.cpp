#include "kernels/simd/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/reduce.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// After highway.h: once for each instruction set.
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// x86's minimum and maximum return the second operand where either is NaN.
template <class Vector>
HWY_INLINE Vector nan_of_either(Vector a, Vector b, Vector otherwise) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, otherwise));
}

struct SumOf {
  template <class Vector>
  static HWY_INLINE Vector join(Vector a, Vector b) {
    return hn::Add(a, b);
  }
  template <class Tag>
  static HWY_INLINE double join_lanes(Tag d, hn::Vec<Tag> v) {
    return hn::GetLane(hn::SumOfLanes(d, v));
  }
  static HWY_INLINE double join_scalars(double a, double b) { return a + b; }
};

struct MaxOf {
  template <class Vector>
  static HWY_INLINE Vector join(Vector a, Vector b) {
    return nan_of_either(a, b, hn::Max(a, b));
  }
  template <class Tag>
  static HWY_INLINE double join_lanes(Tag d, hn::Vec<Tag> v) {
    return hn::AllFalse(d, hn::IsNaN(v)) ? hn::GetLane(hn::MaxOfLanes(d, v)) : kNaN;
  }
  static HWY_INLINE double join_scalars(double a, double b) { return a >= b || a != a ? a : b; }
};

struct MinOf {
  template <class Vector>
  static HWY_INLINE Vector join(Vector a, Vector b) {
    return nan_of_either(a, b, hn::Min(a, b));
  }
  template <class Tag>
  static HWY_INLINE double join_lanes(Tag d, hn::Vec<Tag> v) {
    return hn::AllFalse(d, hn::IsNaN(v)) ? hn::GetLane(hn::MinOfLanes(d, v)) : kNaN;
  }
  static HWY_INLINE double join_scalars(double a, double b) { return a <= b || a != a ? a : b; }
};

#if HWY_TARGET == HWY_SCALAR

template <class F>
void join_rows(
    const float* x, std::int64_t rows, std::int64_t step, std::int64_t columns, double* total) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      total[j] = F::join_scalars(total[j], static_cast<double>(x[i * step + j]));
    }
  }
}

template <class F>
void join_line(const float* x, std::int64_t n, double* total) {
  for (std::int64_t i = 0; i < n; ++i) *total = F::join_scalars(*total, static_cast<double>(x[i]));
}

#else

// Totals of one vector's lanes.
using Doubles = hn::ScalableTag<double>;

HWY_INLINE hn::Vec<Doubles> lower(V v) {
  return hn::PromoteTo(Doubles(), hn::LowerHalf(hn::Half<D>(), v));
}

HWY_INLINE hn::Vec<Doubles> upper(V v) {
  return hn::PromoteTo(Doubles(), hn::UpperHalf(hn::Half<D>(), v));
}

// Joins the lanes of v into total[0, lanes).
template <class F>
HWY_INLINE void join_into(V v, double* total) {
  const Doubles d;
  double* const second = total + hn::Lanes(d);
  hn::StoreU(F::join(hn::LoadU(d, total), lower(v)), d, total);
  hn::StoreU(F::join(hn::LoadU(d, second), upper(v)), d, second);
}

// Eight rows of kTile vectors, joined in float as they lie in memory, odd and even rows apart.
template <class F, std::int64_t kTile>
HWY_INLINE void join_eight_rows(const float* x, std::int64_t step, double* total) {
  V even[kTile];
  V odd[kTile];
  for (std::int64_t k = 0; k < kTile; ++k) even[k] = hn::LoadU(D(), x + k * lanes());
  for (std::int64_t k = 0; k < kTile; ++k) odd[k] = hn::LoadU(D(), x + step + k * lanes());
  for (int pair = 0; pair < 3; ++pair) {
    x += 2 * step;
    for (std::int64_t k = 0; k < kTile; ++k) {
      even[k] = F::join(even[k], hn::LoadU(D(), x + k * lanes()));
    }
    for (std::int64_t k = 0; k < kTile; ++k) {
      odd[k] = F::join(odd[k], hn::LoadU(D(), x + step + k * lanes()));
    }
  }
  for (std::int64_t k = 0; k < kTile; ++k) {
    join_into<F>(F::join(even[k], odd[k]), total + k * lanes());
  }
}

// total[j] joined with x[i * step + j] for all rows i and columns j.
template <class F>
void join_rows(
    const float* x, std::int64_t rows, std::int64_t step, std::int64_t columns, double* total) {
  const std::int64_t whole = columns - columns % lanes();
  std::int64_t row = 0;
  for (; row + 8 <= rows; row += 8) {
    const float* const from = x + row * step;
    std::int64_t j = 0;
    for (; j + 4 * lanes() <= whole; j += 4 * lanes()) {
      join_eight_rows<F, 4>(from + j, step, total + j);
    }
    for (; j < whole; j += lanes()) join_eight_rows<F, 1>(from + j, step, total + j);
  }
  for (; row < rows; ++row) {
    for (std::int64_t j = 0; j < whole; j += lanes()) {
      join_into<F>(hn::LoadU(D(), x + row * step + j), total + j);
    }
  }
  for (std::int64_t j = whole; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      total[j] = F::join_scalars(total[j], static_cast<double>(x[i * step + j]));
    }
  }
}

// *total joined with x[0, n): eight vectors at a time are joined in float, as a tree.
template <class F>
void join_line(const float* x, std::int64_t n, double* total) {
  const std::int64_t whole = n - n % lanes();
  std::int64_t i = 0;
  if (whole > 0) {
    const auto at = [&](std::int64_t k) HWY_ATTR { return hn::LoadU(D(), x + i + k * lanes()); };
    auto low = lower(at(0));
    auto high = upper(at(0));
    for (i = lanes(); i + 8 * lanes() <= n; i += 8 * lanes()) {
      const V a = F::join(F::join(at(0), at(1)), F::join(at(2), at(3)));
      const V b = F::join(F::join(at(4), at(5)), F::join(at(6), at(7)));
      const V joined = F::join(a, b);
      low = F::join(low, lower(joined));
      high = F::join(high, upper(joined));
    }
    for (; i < whole; i += lanes()) {
      low = F::join(low, lower(at(0)));
      high = F::join(high, upper(at(0)));
    }
    *total = F::join_scalars(*total, F::join_lanes(Doubles(), F::join(low, high)));
  }
  for (; i < n; ++i) *total = F::join_scalars(*total, static_cast<double>(x[i]));
}

#endif  // HWY_SCALAR

std::int64_t offset_of(std::int64_t index, const std::vector<ReduceLoop>& loops) {
  std::int64_t offset = 0;
  for (std::size_t l = loops.size(); l-- > 1;) {
    offset += index % loops[l].length * loops[l].step;
    index /= loops[l].length;
  }
  return loops.empty() ? 0 : offset + index * loops.front().step;
}

// Reduced elements [begin, end) of `columns` columns from x on.
template <class F>
void join_range(const ReducePlan& plan,
                const float* x,
                std::int64_t columns,
                std::int64_t begin,
                std::int64_t end,
                double* total) {
  const ReduceLoop inner = plan.reduced.back();
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t n = std::min(inner.length - i % inner.length, end - i);
    const float* const from = x + offset_of(i, plan.reduced);
    if (plan.columns == 1) {
      join_line<F>(from, n, total);
    } else {
      join_rows<F>(from, n, inner.step, columns, total);
    }
    i += n;
  }
}

}  // namespace

// Joins reduced elements [begin, end) of `columns` columns into total; `item` counts kept elements.
void RunReduce(const ReducePlan& plan,
               const float* x,
               std::int64_t item,
               std::int64_t column,
               std::int64_t columns,
               std::int64_t begin,
               std::int64_t end,
               double* total) {
  const float* const from = x + offset_of(item, plan.kept) + column;
  switch (plan.function) {
    case ReduceFunction::kSum: return join_range<SumOf>(plan, from, columns, begin, end, total);
    case ReduceFunction::kMax: return join_range<MaxOf>(plan, from, columns, begin, end, total);
    case ReduceFunction::kMin: return join_range<MinOf>(plan, from, columns, begin, end, total);
  }
}

// Joins the totals of another part of the same elements into total.
void RunJoin(ReduceFunction function, const double* part, std::int64_t columns, double* total) {
  for (std::int64_t j = 0; j < columns; ++j) {
    switch (function) {
      case ReduceFunction::kSum: total[j] = SumOf::join_scalars(total[j], part[j]); break;
      case ReduceFunction::kMax: total[j] = MaxOf::join_scalars(total[j], part[j]); break;
      case ReduceFunction::kMin: total[j] = MinOf::join_scalars(total[j], part[j]); break;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(RunReduce);
HWY_EXPORT(RunJoin);

namespace {

constexpr std::int64_t kElementsPerPart = 32768;
constexpr std::int64_t kMostParts = 16;
constexpr std::int64_t kColumnsAtOnce = 1024;

std::int64_t product(const std::vector<ReduceLoop>& loops) {
  std::int64_t count = 1;
  for (const ReduceLoop& loop : loops) count *= loop.length;
  return count;
}

// How the work is cut. An item is a kept element and a block of its columns.
struct Parts {
  explicit Parts(const ReducePlan& plan)
      : reduced(product(plan.reduced)),
        blocks((plan.columns + kColumnsAtOnce - 1) / kColumnsAtOnce),
        items(product(plan.kept) * blocks),
        block_columns(std::min(plan.columns, kColumnsAtOnce)),
        count(std::clamp(
            items * block_columns * reduced / kElementsPerPart, std::int64_t{1}, kMostParts)) {}

  std::int64_t reduced;
  std::int64_t blocks;
  std::int64_t items;
  std::int64_t block_columns;
  std::int64_t count;
};

double nothing(ReduceFunction function) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (function) {
    case ReduceFunction::kSum: return 0;
    case ReduceFunction::kMax: return -kInfinity;
    case ReduceFunction::kMin: return kInfinity;
  }
  return 0;
}

}  // namespace

Bytes reduce_scratch(const ReducePlan& plan) {
  const Parts parts(plan);
  return Bytes(parts.count * parts.block_columns * static_cast<std::int64_t>(sizeof(double)));
}

void reduce(const ReducePlan& plan, const float* x, float* y, double* scratch) {
  const Parts parts(plan);
  const auto columns_of = [&](std::int64_t item) {
    return std::min(kColumnsAtOnce, plan.columns - item % parts.blocks * kColumnsAtOnce);
  };
  const auto join = [&](std::int64_t item, std::int64_t begin, std::int64_t end, double* total) {
    const std::int64_t columns = columns_of(item);
    std::fill_n(total, columns, nothing(plan.function));
    HWY_DYNAMIC_DISPATCH(RunReduce)
    (plan, x, item / parts.blocks, item % parts.blocks * kColumnsAtOnce, columns, begin, end,
     total);
  };
  const auto finish = [&](std::int64_t item, const double* total) {
    float* const to = y + item / parts.blocks * plan.columns + item % parts.blocks * kColumnsAtOnce;
    for (std::int64_t j = 0; j < columns_of(item); ++j) {
      to[j] = static_cast<float>(total[j] * plan.factor);
    }
  };
  const auto run_parts = [&](auto&& run_part) {
    core::parallel_for(parts.count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        run_part(part, scratch + part * parts.block_columns);
      }
    });
  };
  if (parts.items >= parts.count) {
    run_parts([&](std::int64_t part, double* total) {
      const std::int64_t end = parts.items * (part + 1) / parts.count;
      for (std::int64_t item = parts.items * part / parts.count; item < end; ++item) {
        join(item, 0, parts.reduced, total);
        finish(item, total);
      }
    });
    return;
  }
  for (std::int64_t item = 0; item < parts.items; ++item) {
    run_parts([&](std::int64_t part, double* total) {
      join(item, parts.reduced * part / parts.count, parts.reduced * (part + 1) / parts.count,
           total);
    });
    for (std::int64_t part = 1; part < parts.count; ++part) {
      HWY_DYNAMIC_DISPATCH(RunJoin)
      (plan.function, scratch + part * parts.block_columns, columns_of(item), scratch);
    }
    finish(item, scratch);
  }
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
