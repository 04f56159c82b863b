#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/reduce/norms.h"
#include "ops/reduce/reduce.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Inputs = std::vector<ValueId>;

OpCase along(std::string name,
             ReduceKind kind,
             core::Shape shape,
             std::vector<std::size_t> axes,
             core::Layout layout = core::Layout::kPlain,
             KeepDims keep = KeepDims::kYes) {
  CaseInput input{.shape = std::move(shape)};
  const bool extreme = kind == ReduceKind::kMax || kind == ReduceKind::kMin;
  if (extreme) input.apart = 0.001;
  if (kind == ReduceKind::kProd) input.differentiable = false;
  return {.name = "reduce/" + std::move(name),
          .inputs = {std::move(input)},
          .build = [=](GraphBuilder& b, const Inputs& in) {
            return Inputs{reduce(b, kind, to_layout(b, in[0], layout), axes, keep)};
          }};
}

void add_sums(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, core::Shape shape, std::vector<std::size_t> axes) {
    cases.push_back(
        along(std::string("sum/") + name, ReduceKind::kSum, std::move(shape), std::move(axes)));
  };
  for (const std::int64_t n : {0, 1, 7, 8, 15, 16, 17, 129, 1000}) {
    cases.push_back(along("sum/all_" + std::to_string(n), ReduceKind::kSum, {n}, {0}));
    cases.push_back(along("sum/rows_" + std::to_string(n), ReduceKind::kSum, {3, n}, {1}));
    cases.push_back(along("sum/columns_" + std::to_string(n), ReduceKind::kSum, {n, 19}, {0}));
  }
  add("many", {3, 50021}, {0, 1});
  add("long_rows", {2, 50021}, {1});
  add("long_columns", {5003, 33}, {0});
  add("wide_columns", {5, 20011}, {0});
  add("middle", {4, 19, 5}, {1});
  add("ends", {4, 19, 5}, {0, 2});
  add("plain_channels", {3, 5, 7, 9}, {0, 2, 3});
  add("alternating", {2, 3, 4, 5, 6}, {1, 3});
  add("inner_two", {2, 3, 4, 5}, {1, 3});
  add("scalar", {}, {});
  add("no_columns", {4, 0}, {0});
}

void add_images(std::vector<OpCase>& cases) {
  using core::Layout;
  const core::Shape images{2, 19, 5, 7};
  const auto add = [&](const char* name, ReduceKind kind, std::vector<std::size_t> axes,
                       KeepDims keep) {
    cases.push_back(along(std::string("images/") + name, kind, images, std::move(axes),
                          Layout::kChannelsLast, keep));
  };
  add("pool", ReduceKind::kMean, {2, 3}, KeepDims::kYes);
  add("pool_to_rows", ReduceKind::kMean, {2, 3}, KeepDims::kNo);
  add("pool_max", ReduceKind::kMax, {2, 3}, KeepDims::kNo);
  add("channels", ReduceKind::kSum, {0, 2, 3}, KeepDims::kNo);
  add("over_channels", ReduceKind::kMean, {1}, KeepDims::kYes);
  add("over_height", ReduceKind::kSum, {2}, KeepDims::kNo);
  add("over_batch", ReduceKind::kMin, {0}, KeepDims::kNo);
  cases.push_back(
      along("images/bias", ReduceKind::kSum, {4, 64, 31, 31}, {0, 2, 3}, Layout::kChannelsLast));
}

void add_sum_to(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, core::Shape from, core::Shape to, core::Layout layout) {
    cases.push_back({.name = std::string("reduce/sum_to/") + name,
                     .inputs = {{.shape = std::move(from)}},
                     .build = [to, layout](GraphBuilder& b, const Inputs& in) {
                       return Inputs{sum_to(b, to_layout(b, in[0], layout), to)};
                     }});
  };
  using core::Layout;
  add("row", {5, 33}, {33}, Layout::kPlain);
  add("column", {5, 33}, {5, 1}, Layout::kPlain);
  add("scalar", {5, 33}, {}, Layout::kPlain);
  add("same", {5, 33}, {5, 33}, Layout::kPlain);
  add("leading_one", {1, 33}, {33}, Layout::kPlain);
  add("channels", {2, 19, 3, 3}, {1, 19, 1, 1}, Layout::kChannelsLast);
  add("vector", {2, 19, 3, 5}, {5}, Layout::kChannelsLast);
}

}  // namespace

std::vector<OpCase> reduce_cases() {
  std::vector<OpCase> cases;
  add_sums(cases);
  add_images(cases);
  add_sum_to(cases);
  cases.push_back({.name = "rms_norm",
                   .inputs = {{.shape = {2, 3, 7}}, {.shape = {3, 7}}},
                   .build = [](GraphBuilder& b, const Inputs& in) {
                     return Inputs{rms_norm(b, in[0], in[1], -2, 1e-3)};
                   }});
  cases.push_back(along("max/rows", ReduceKind::kMax, {3, 21}, {1}));
  cases.push_back(along("min/columns", ReduceKind::kMin, {9, 21}, {0}));
  cases.push_back(along("mean/middle", ReduceKind::kMean, {3, 21, 5}, {1}));
  cases.push_back(along("max/long", ReduceKind::kMax, {50021}, {0}));
  cases.push_back(along("prod/rows", ReduceKind::kProd, {3, 5}, {1}));
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax,
                                ReduceKind::kMin, ReduceKind::kProd}) {
    OpCase one = along("int64/" + std::string(reduce_op(kind).name()), kind, {3, 5}, {1});
    one.inputs[0] = {.shape = {3, 5}, .low = -4, .high = 4, .dtype = core::DType::kInt64};
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace lowtide::ops
