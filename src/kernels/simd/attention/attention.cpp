#include "kernels/simd/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/attention/attention.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/simd/attention/products-inl.h"
#include "kernels/simd/philox-inl.h"
#include "kernels/simd/product/tiles.h"
#include "kernels/simd/vectors-inl.h"

// Scores are computed in tiles that stay in the first caches. A tile lies transposed, a row of
// queries for each key, so that the softmax of many queries runs in the lanes of vectors and no
// operand of a product but the queries needs transposing.
#ifndef LOWTIDE_KERNELS_SIMD_ATTENTION_ONCE
#define LOWTIDE_KERNELS_SIMD_ATTENTION_ONCE
namespace lowtide::kernels {
namespace {

constexpr std::int64_t kQueries = 64;  // of a tile; a multiple of every vector's lanes
constexpr std::int64_t kKeys = 128;
constexpr std::int64_t kTile = kQueries * kKeys;

// A thread's scratch. Rows that products read again and again are copied side by side: where they
// come from they may lie a power of two apart, which the first cache cannot hold.
struct AttentionScratch {
  static std::int64_t bytes(const AttentionSizes& sizes) {
    const std::int64_t depths = sizes.depth + sizes.value_depth;
    const std::int64_t floats = depths * (2 * kQueries + kKeys) + 2 * kTile + 3 * kQueries;
    return floats * static_cast<std::int64_t>(sizeof(float));
  }

  AttentionScratch(const AttentionSizes& sizes, std::byte* scratch)
      : packed(reinterpret_cast<float*>(scratch)),
        packed_dy(packed + sizes.depth * kQueries),
        queries(packed_dy + sizes.value_depth * kQueries),
        dy(queries + sizes.depth * kQueries),
        keys(dy + sizes.value_depth * kQueries),
        values(keys + sizes.depth * kKeys),
        weights(values + sizes.value_depth * kKeys),
        other(weights + kTile),
        high(other + kTile),
        sum(high + kQueries),
        correction(sum + kQueries) {}

  float* packed;     // scaled queries, a row for each place along the depth
  float* packed_dy;  // gradients of the result, likewise
  float* queries;    // rows of the tile
  float* dy;
  float* keys;
  float* values;
  float* weights;
  float* other;
  float* high;        // per query: the largest score so far, or at all
  float* sum;         // per query: of exponentials, or of dy y
  float* correction;  // per query: of sums so far, or one over the sum
};

// One tile: queries [i, i + rows) and keys [j, j + columns) of head h of sample n.
struct AttentionTile {
  std::int64_t n = 0;
  std::int64_t h = 0;
  std::int64_t i = 0;
  std::int64_t rows = 0;
  std::int64_t j = 0;
  std::int64_t columns = 0;
};

// How many keys the queries of a tile see, leaving masks aside.
inline std::int64_t visible_keys(const AttentionProblem& p, const AttentionTile& t) {
  if (!p.causal) return p.sizes.columns;
  return std::clamp<std::int64_t>(t.i + t.rows + p.causal_offset, 0, p.sizes.columns);
}

inline std::int64_t kv_head(const AttentionSizes& sizes, std::int64_t h) {
  return h / (sizes.heads / sizes.kv_heads);
}

}  // namespace
}  // namespace lowtide::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

// The queries of a tile, filled up to whole vectors: what the tile computes.
HWY_INLINE std::int64_t WholeQueries(const AttentionTile& t) { return rounded_up(t.rows, lanes()); }

// Rows of `depth` elements become columns of kQueries; missing rows are zeros.
HWY_ATTR void PackRows(const float* x,
                       std::int64_t row,
                       std::int64_t rows,
                       std::int64_t depth,
                       float factor,
                       float* packed) {
  if (rows < kQueries) std::fill_n(packed, depth * kQueries, 0.0F);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t e = 0; e < depth; ++e) packed[e * kQueries + i] = x[i * row + e] * factor;
  }
}

void CopyRows(const float* x, std::int64_t row, std::int64_t rows, std::int64_t depth, float* to) {
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(x + i * row, depth, to + i * depth);
}

// The keys and values of a tile.
void CopyKeys(const AttentionProblem& p, const AttentionTile& t, const AttentionScratch& s) {
  const std::int64_t kv = kv_head(p.sizes, t.h);
  CopyRows(p.k + p.k_at.at(t.n, kv, t.j), p.k_at.row, t.columns, p.sizes.depth, s.keys);
  CopyRows(p.v + p.v_at.at(t.n, kv, t.j), p.v_at.row, t.columns, p.sizes.value_depth, s.values);
}

// Sets what a boolean mask hides to `value`.
HWY_ATTR void HideUnkept(const AttentionMask& mask,
                         const AttentionTile& t,
                         float value,
                         float* tile) {
  const bool* const choice = mask.choice + mask.at.at(t.n, t.h, t.i) + t.j * mask.column;
  for (std::int64_t i = 0; i < t.rows; ++i) {
    for (std::int64_t j = 0; j < t.columns; ++j) {
      const bool kept = choice[i * mask.at.row + j * mask.column] == mask.kept;
      if (!kept) tile[j * kQueries + i] = value;
    }
  }
}

HWY_ATTR void AddMask(const AttentionMask& mask, const AttentionTile& t, float* tile) {
  const float* const added = mask.added + mask.at.at(t.n, t.h, t.i) + t.j * mask.column;
  if (mask.at.row == 0) {
    for (std::int64_t j = 0; j < t.columns; ++j) {
      for (std::int64_t i = 0; i < t.rows; ++i) tile[j * kQueries + i] += added[j * mask.column];
    }
    return;
  }
  for (std::int64_t i = 0; i < t.rows; ++i) {
    for (std::int64_t j = 0; j < t.columns; ++j) {
      tile[j * kQueries + i] += added[i * mask.at.row + j * mask.column];
    }
  }
}

// The masked scores of a tile, from queries that were packed with the scale on them.
HWY_ATTR void Scores(const AttentionProblem& p, const AttentionTile& t, const AttentionScratch& s) {
  float* const tile = s.weights;
  multiply({.a = s.keys,
            .a_row = p.sizes.depth,
            .a_step = 1,
            .b = s.packed,
            .b_row = kQueries,
            .y = tile,
            .y_row = kQueries,
            .rows = t.columns,
            .columns = WholeQueries(t),
            .depth = p.sizes.depth});
  if (p.mask.added != nullptr) AddMask(p.mask, t, tile);
  if (p.mask.choice != nullptr) HideUnkept(p.mask, t, p.mask.fill, tile);
  if (!p.causal) return;
  for (std::int64_t j = 0; j < t.columns; ++j) {
    const std::int64_t first = t.j + j - p.causal_offset - t.i;
    std::fill_n(tile + j * kQueries, std::clamp<std::int64_t>(first, 0, kQueries), -INFINITY);
  }
}

// Scores become exponentials of their distance from the largest one so far of each query;
// `correction` is what earlier exponentials must be multiplied by.
HWY_ATTR void Exponentials(const AttentionTile& t, const AttentionScratch& s) {
  const D d;
  const V lowest = hn::Set(d, -INFINITY);
  for (std::int64_t i = 0; i < t.rows; i += lanes()) {
    const V before = hn::LoadU(d, s.high + i);
    V high = before;
    for (std::int64_t j = 0; j < t.columns; ++j) {
      high = hn::Max(high, hn::LoadU(d, s.weights + j * kQueries + i));
    }
    const V base = hn::IfThenZeroElse(hn::Eq(high, lowest), high);
    V total = hn::Zero(d);
    for (std::int64_t j = 0; j < t.columns; ++j) {
      float* const x = s.weights + j * kQueries + i;
      const V e = exp_of(hn::Sub(hn::LoadU(d, x), base));
      total = hn::Add(total, e);
      hn::StoreU(e, d, x);
    }
    const V correction = exp_of(hn::Sub(before, base));
    hn::StoreU(high, d, s.high + i);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, s.sum + i), correction, total), d, s.sum + i);
    hn::StoreU(correction, d, s.correction + i);
  }
}

HWY_ATTR void ScaleRow(float* x, std::int64_t n, float factor) {
  const D d;
  for_each_vector(x, n, 0, [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
    store(hn::Mul(v, hn::Set(d, factor)), x + i, count);
  });
}

// Multiplies a tile by 0 where dropout drops and by its factor elsewhere.
HWY_ATTR void Drop(const AttentionProblem& p, const AttentionTile& t, float* tile) {
  if (p.dropout_factor == 1) return;
  HWY_ALIGN std::uint32_t words[kKeys + 4 + 4 * philox::kSlack];
  const std::uint64_t high =
      p.dropout.step << 32U | (p.dropout.first_sample + static_cast<std::uint64_t>(t.n));
  for (std::int64_t i = 0; i < t.rows; ++i) {
    const std::int64_t first = (t.h * p.sizes.rows + t.i + i) * p.sizes.columns + t.j;
    philox::draw(p.dropout.key, static_cast<std::uint64_t>(first) / 4, high,
                 (first % 4 + t.columns + 3) / 4, words);
    const std::uint32_t* const word = words + first % 4;
    for (std::int64_t j = 0; j < t.columns; ++j) {
      tile[j * kQueries + i] *= word[j] >= p.dropout.threshold ? p.dropout_factor : 0.0F;
    }
  }
}

// y(i) += sum_j tile(j, i) x(j), x being keys or values.
HWY_ATTR void AddOverKeys(const AttentionTile& t,
                          const float* tile,
                          const float* x,
                          std::int64_t depth,
                          float* y,
                          std::int64_t y_row) {
  multiply({.a = tile,
            .a_row = 1,
            .a_step = kQueries,
            .b = x,
            .b_row = depth,
            .y = y,
            .y_row = y_row,
            .rows = t.rows,
            .columns = depth,
            .depth = t.columns,
            .add = true});
}

// y(j) += sum_i tile(j, i) x(i), x being queries or gradients of the result.
HWY_ATTR void AddOverQueries(const AttentionTile& t,
                             const float* tile,
                             const float* x,
                             std::int64_t depth,
                             float* y,
                             std::int64_t y_row) {
  multiply({.a = tile,
            .a_row = kQueries,
            .a_step = 1,
            .b = x,
            .b_row = depth,
            .y = y,
            .y_row = y_row,
            .rows = t.columns,
            .columns = depth,
            .depth = t.rows,
            .add = true});
}

void ZeroRows(float* x, std::int64_t row, std::int64_t rows, std::int64_t depth) {
  for (std::int64_t i = 0; i < rows; ++i) std::fill_n(x + i * row, depth, 0.0F);
}

// The queries of `t`, against all keys.
HWY_ATTR void AttendQueries(const AttentionProblem& p,
                            const AttentionResult& result,
                            AttentionTile t,
                            const AttentionScratch& s) {
  const std::int64_t depth = p.sizes.value_depth;
  PackRows(p.q + p.q_at.at(t.n, t.h, t.i), p.q_at.row, t.rows, p.sizes.depth, p.scale, s.packed);
  std::fill_n(s.high, kQueries, -INFINITY);
  std::fill_n(s.sum, kQueries, 0.0F);
  float* const y = result.y + result.y_at.at(t.n, t.h, t.i);
  const std::int64_t row = result.y_at.row;
  ZeroRows(y, row, t.rows, depth);
  const std::int64_t visible = visible_keys(p, t);
  for (t.j = 0; t.j < visible; t.j += kKeys) {
    t.columns = std::min(kKeys, visible - t.j);
    CopyKeys(p, t, s);
    Scores(p, t, s);
    Exponentials(t, s);
    for (std::int64_t i = 0; t.j > 0 && i < t.rows; ++i) {
      ScaleRow(y + i * row, depth, s.correction[i]);
    }
    Drop(p, t, s.weights);
    AddOverKeys(t, s.weights, s.values, depth, y, row);
  }
  float* const statistics =
      result.statistics + 2 * ((t.n * p.sizes.heads + t.h) * p.sizes.rows + t.i);
  for (std::int64_t i = 0; i < t.rows; ++i) {
    const bool nothing = s.sum[i] == 0;
    const float inverse = nothing ? 0.0F : 1 / s.sum[i];
    ScaleRow(y + i * row, depth, inverse);
    statistics[2 * i] = nothing ? 0.0F : s.high[i];
    statistics[2 * i + 1] = inverse;
  }
}

// Scores become the weights they stand for.
HWY_ATTR void Weights(const AttentionTile& t, const AttentionScratch& s) {
  const D d;
  for (std::int64_t i = 0; i < t.rows; i += lanes()) {
    const V high = hn::LoadU(d, s.high + i);
    const V correction = hn::LoadU(d, s.correction + i);
    for (std::int64_t j = 0; j < t.columns; ++j) {
      float* const x = s.weights + j * kQueries + i;
      hn::StoreU(hn::Mul(exp_of(hn::Sub(hn::LoadU(d, x), high)), correction), d, x);
    }
  }
}

// The gradient of scores q k from weights w and their gradients dw: scale w (dw - sum).
HWY_ATTR void ScoreGradients(const AttentionTile& t, float scale, const AttentionScratch& s) {
  const D d;
  for (std::int64_t i = 0; i < t.rows; i += lanes()) {
    const V sum = hn::LoadU(d, s.sum + i);
    for (std::int64_t j = 0; j < t.columns; ++j) {
      const std::int64_t at = j * kQueries + i;
      const V moved = hn::Sub(hn::LoadU(d, s.other + at), sum);
      const V scaled = hn::Mul(hn::LoadU(d, s.weights + at), hn::Set(d, scale));
      hn::StoreU(hn::Mul(scaled, moved), d, s.weights + at);
    }
  }
}

HWY_ATTR float DotProduct(const float* x, const float* y, std::int64_t n) {
  const D d;
  V sum = hn::Zero(d);
  for_each_vector(x, n, 0, [&](V v, std::int64_t i, std::int64_t count) HWY_ATTR {
    sum = hn::MulAdd(v, load(y + i, count), sum);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// What the gradient needs of some queries before it meets the keys.
HWY_ATTR void PrepareQueries(const AttentionProblem& p,
                             const AttentionGradients& g,
                             const AttentionTile& t,
                             const AttentionScratch& s) {
  const std::int64_t depth = p.sizes.value_depth;
  const std::int64_t at = g.y_at.at(t.n, t.h, t.i);
  const float* const q = p.q + p.q_at.at(t.n, t.h, t.i);
  PackRows(q, p.q_at.row, t.rows, p.sizes.depth, p.scale, s.packed);
  PackRows(g.dy + at, g.y_at.row, t.rows, depth, 1, s.packed_dy);
  CopyRows(q, p.q_at.row, t.rows, p.sizes.depth, s.queries);
  CopyRows(g.dy + at, g.y_at.row, t.rows, depth, s.dy);
  for (float* const lanes : {s.high, s.sum, s.correction}) std::fill_n(lanes, kQueries, 0.0F);
  const float* const statistics =
      g.statistics + 2 * ((t.n * p.sizes.heads + t.h) * p.sizes.rows + t.i);
  for (std::int64_t i = 0; i < t.rows; ++i) {
    s.high[i] = statistics[2 * i];
    s.correction[i] = statistics[2 * i + 1];
    s.sum[i] = DotProduct(g.y + at + i * g.y_at.row, g.dy + at + i * g.y_at.row, depth);
  }
  ZeroRows(g.dq + p.q_at.at(t.n, t.h, t.i), p.q_at.row, t.rows, p.sizes.depth);
}

HWY_ATTR void TileGradient(const AttentionProblem& p,
                           const AttentionGradients& g,
                           const AttentionTile& t,
                           const AttentionScratch& s) {
  const std::int64_t kv = kv_head(p.sizes, t.h);
  const std::int64_t q_at = p.q_at.at(t.n, t.h, t.i);
  const std::int64_t k_at = p.k_at.at(t.n, kv, t.j);
  const std::int64_t v_at = p.v_at.at(t.n, kv, t.j);
  CopyKeys(p, t, s);
  Scores(p, t, s);
  Weights(t, s);
  const float* dropped = s.weights;
  if (p.dropout_factor != 1) {
    std::copy_n(s.weights, t.columns * kQueries, s.other);
    Drop(p, t, s.other);
    dropped = s.other;
  }
  AddOverQueries(t, dropped, s.dy, p.sizes.value_depth, g.dv + v_at, p.v_at.row);
  multiply({.a = s.values,
            .a_row = p.sizes.value_depth,
            .a_step = 1,
            .b = s.packed_dy,
            .b_row = kQueries,
            .y = s.other,
            .y_row = kQueries,
            .rows = t.columns,
            .columns = WholeQueries(t),
            .depth = p.sizes.value_depth});
  Drop(p, t, s.other);
  ScoreGradients(t, p.scale, s);
  if (p.mask.choice != nullptr && std::isfinite(p.mask.fill)) HideUnkept(p.mask, t, 0, s.weights);
  AddOverQueries(t, s.weights, s.queries, p.sizes.depth, g.dk + k_at, p.k_at.row);
  AddOverKeys(t, s.weights, s.keys, p.sizes.depth, g.dq + q_at, p.q_at.row);
}

// All queries that read one head of keys and values.
HWY_ATTR void GroupGradient(const AttentionProblem& p,
                            const AttentionGradients& g,
                            std::int64_t n,
                            std::int64_t kv,
                            const AttentionScratch& s) {
  ZeroRows(g.dk + p.k_at.at(n, kv, 0), p.k_at.row, p.sizes.columns, p.sizes.depth);
  ZeroRows(g.dv + p.v_at.at(n, kv, 0), p.v_at.row, p.sizes.columns, p.sizes.value_depth);
  const std::int64_t group = p.sizes.heads / p.sizes.kv_heads;
  AttentionTile t{.n = n};
  for (t.h = kv * group; t.h < (kv + 1) * group; ++t.h) {
    for (t.i = 0; t.i < p.sizes.rows; t.i += kQueries) {
      t.rows = std::min(kQueries, p.sizes.rows - t.i);
      PrepareQueries(p, g, t, s);
      const std::int64_t visible = visible_keys(p, t);
      for (t.j = 0; t.j < visible; t.j += kKeys) {
        t.columns = std::min(kKeys, visible - t.j);
        TileGradient(p, g, t, s);
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(AttendQueries);
HWY_EXPORT(GroupGradient);

namespace {

// Calls f(item, scratch of the thread) for each item, the items in as many ranges as there are
// threads.
template <class F>
void for_each_item(std::int64_t items, const AttentionSizes& sizes, std::byte* scratch, F&& f) {
  const std::int64_t parts = core::parallel_parts();
  core::parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      const AttentionScratch own(sizes, scratch + part * AttentionScratch::bytes(sizes));
      for (std::int64_t item = items * part / parts; item < items * (part + 1) / parts; ++item) {
        f(item, own);
      }
    }
  });
}

}  // namespace

std::int64_t attention_scratch(const AttentionSizes& sizes) {
  return core::parallel_parts() * AttentionScratch::bytes(sizes);
}

void attention(const AttentionProblem& p, const AttentionResult& result, std::byte* scratch) {
  const std::int64_t blocks = (p.sizes.rows + kQueries - 1) / kQueries;
  const auto attend = [&](std::int64_t item, const AttentionScratch& s) {
    AttentionTile t{.n = item / blocks / p.sizes.heads, .h = item / blocks % p.sizes.heads};
    t.i = item % blocks * kQueries;
    t.rows = std::min(kQueries, p.sizes.rows - t.i);
    HWY_DYNAMIC_DISPATCH(AttendQueries)(p, result, t, s);
  };
  for_each_item(p.sizes.batch * p.sizes.heads * blocks, p.sizes, scratch, attend);
}

void attention_gradient(const AttentionProblem& p,
                        const AttentionGradients& gradients,
                        std::byte* scratch) {
  const auto add = [&](std::int64_t item, const AttentionScratch& s) {
    HWY_DYNAMIC_DISPATCH(GroupGradient)
    (p, gradients, item / p.sizes.kv_heads, item % p.sizes.kv_heads, s);
  };
  for_each_item(p.sizes.batch * p.sizes.kv_heads, p.sizes, scratch, add);
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
