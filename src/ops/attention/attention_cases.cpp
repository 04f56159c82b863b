#include "ops/attention/attention.h"
#include "ops/cases.h"

namespace lowtide::ops {
namespace {

using core::Shape;
using graph::GraphBuilder;
using graph::ValueId;

// Gradients are differences of larger numbers.
constexpr double kTolerance = 5e-5;

struct Variant {
  std::string name;
  Shape q;
  Shape k;
  Shape v;
  AttentionOptions options = {.scale = 0.5};
};

OpCase case_of(const Variant& one) {
  return {.name = "attention/" + one.name,
          .inputs = {{.shape = one.q}, {.shape = one.k}, {.shape = one.v}},
          .build =
              [options = one.options](GraphBuilder& b, const std::vector<ValueId>& in) {
                const ValueId mask = in.size() > 3 ? in[3] : ValueId();
                return std::vector<ValueId>{attention(b, in[0], in[1], in[2], mask, options)};
              },
          .tolerance = kTolerance};
}

// Heads of one size: samples, heads, queries and keys, depth.
Variant square(std::string name,
               std::int64_t n,
               std::int64_t h,
               std::int64_t t,
               std::int64_t d,
               AttentionOptions options = {.scale = 0.5}) {
  const Shape heads{n, h, t, d};
  return {std::move(name), heads, heads, heads, options};
}

OpCase with_mask(const Variant& one, Shape mask, bool learned = true) {
  OpCase result = case_of(one);
  result.inputs.push_back({.shape = std::move(mask), .differentiable = learned});
  return result;
}

OpCase with_kept(const Variant& one, Shape mask, double low = 0) {
  OpCase result = case_of(one);
  result.inputs.push_back(
      {.shape = std::move(mask), .low = low, .high = 1, .dtype = core::DType::kBool});
  return result;
}

// Queries, keys and values side by side in (N, T, 3 H D), the result as (N, T, H, D).
OpCase fused(std::string name, std::int64_t n, std::int64_t h, std::int64_t t, std::int64_t d) {
  return {
      .name = "attention/" + std::move(name),
      .inputs = {{.shape = {n, t, 3 * h * d}}},
      .build =
          [=](GraphBuilder& b, const std::vector<ValueId>& in) {
            const auto part = [&](std::int64_t i) {
              return Heads{
                  .tensor = in[0],
                  .at = {.offset = i * h * d, .batch = t * 3 * h * d, .head = d, .row = 3 * h * d}};
            };
            Attention a{.sizes = {.batch = n,
                                  .heads = h,
                                  .kv_heads = h,
                                  .rows = t,
                                  .columns = t,
                                  .depth = d,
                                  .value_depth = d},
                        .shape = {n, t, h, d},
                        .y_at = {.batch = t * h * d, .head = d, .row = h * d},
                        .scale = 0.4,
                        .causal = true};
            return std::vector<ValueId>{
                attention(b, {part(0), part(1), part(2)}, ValueId(), std::move(a))};
          },
      .tolerance = kTolerance};
}

// One tensor as queries, keys and values at once.
OpCase of_itself() {
  return {.name = "attention/of_itself",
          .inputs = {{.shape = {2, 1, 5, 4}}},
          .build =
              [](GraphBuilder& b, const std::vector<ValueId>& in) {
                return std::vector<ValueId>{
                    attention(b, in[0], in[0], in[0], ValueId(), {.scale = 0.3})};
              },
          .tolerance = kTolerance};
}

}  // namespace

std::vector<OpCase> attention_cases() {
  const AttentionOptions causal{.scale = 0.5, .causal = true};
  const AttentionOptions late{.scale = 0.5, .causal = true, .causal_offset = 4};
  const AttentionOptions early{.scale = 0.5, .causal = true, .causal_offset = -2};
  const AttentionOptions low{.scale = 0.5, .fill = -1e9};
  const AttentionOptions dropping{.scale = 0.5,
                                  .dropout = {.ratio = 0.4, .stream = 3, .active = true}};
  const AttentionOptions dropping_causal{
      .scale = 0.5, .causal = true, .dropout = {.ratio = 0.4, .stream = 3, .active = true}};
  return {
      case_of(square("heads", 2, 3, 5, 7)),
      case_of(square("of_one", 1, 1, 1, 1)),
      case_of(square("no_samples", 0, 2, 3, 4)),
      case_of(square("no_depth", 1, 2, 3, 0)),
      case_of({"no_keys", {1, 2, 3, 4}, {1, 2, 0, 4}, {1, 2, 0, 5}}),
      case_of({"no_queries", {1, 2, 0, 4}, {1, 2, 3, 4}, {1, 2, 3, 5}}),
      case_of(square("past_the_tile", 1, 2, 131, 16)),
      case_of(square("past_the_tile_causal", 1, 1, 197, 24, causal)),
      case_of(square("of_16", 1, 2, 64, 16, causal)),
      case_of({"other_lengths", {2, 2, 7, 8}, {2, 2, 133, 8}, {2, 2, 133, 5}}),
      case_of({"causal_late", {1, 2, 7, 8}, {1, 2, 11, 8}, {1, 2, 11, 9}, late}),
      case_of({"causal_early", {1, 2, 70, 8}, {1, 2, 5, 8}, {1, 2, 5, 9}, early}),
      case_of({"more_keys_than_seen", {1, 1, 3, 8}, {1, 1, 9, 8}, {1, 1, 9, 8}, causal}),
      case_of({"grouped", {2, 6, 5, 4}, {2, 2, 6, 4}, {2, 2, 6, 3}}),
      case_of({"grouped_causal", {1, 4, 67, 4}, {1, 1, 67, 4}, {1, 1, 67, 4}, causal}),
      with_mask(square("mask", 2, 2, 5, 4), {2, 2, 5, 5}),
      with_mask(square("mask_causal", 1, 2, 5, 4, causal), {5, 5}),
      with_mask(square("mask_of_keys", 2, 3, 67, 4), {2, 1, 1, 67}),
      with_mask(square("mask_of_heads", 2, 3, 4, 4), {3, 1, 1}),
      with_mask(square("mask_past_the_tile", 1, 2, 131, 4), {1, 1, 131, 131}, false),
      with_mask(square("mask_dropping", 2, 2, 5, 4, dropping), {1, 2, 5, 5}),
      with_mask({"mask_grouped", {2, 4, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 4}}, {4, 3, 5}),
      with_kept(square("kept", 2, 2, 9, 4), {2, 1, 9, 9}),
      with_kept(square("kept_keys", 2, 2, 67, 4), {2, 1, 1, 67}),
      with_kept(square("kept_low", 2, 2, 3, 4, low), {2, 1, 3, 3}),
      with_kept(square("kept_causal", 1, 2, 9, 4, causal), {9, 9}),
      case_of(square("dropping", 2, 3, 5, 7, dropping)),
      case_of(square("dropping_past_the_tile", 1, 2, 131, 8, dropping_causal)),
      fused("fused", 2, 3, 5, 8),
      fused("fused_past_the_tile", 1, 2, 70, 4),
      of_itself(),
  };
}

}  // namespace lowtide::ops
