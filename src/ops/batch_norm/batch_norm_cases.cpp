#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/cases.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Values = std::vector<ValueId>;

CaseInput statistic(std::int64_t channels, double low) {
  return {.shape = {channels}, .low = low, .high = 2, .differentiable = false};
}

OpCase given(std::string name, const core::Shape& shape) {
  const std::int64_t channels = shape[1];
  return {.name = "batch_norm/given_" + std::move(name),
          .inputs = {{.shape = shape},
                     {.shape = {channels}},
                     {.shape = {channels}},
                     statistic(channels, -2),
                     statistic(channels, 0.5)},
          .build = [](GraphBuilder& b, const Values& in) {
            return Values{batch_norm(b, in[0], in[1], in[2], in[3], in[4], {.epsilon = 1e-3})};
          }};
}

// The running statistics have no gradient: they are state beside the case.
OpCase trained(std::string name, const core::Shape& shape, bool plain = false) {
  const std::int64_t channels = shape[1];
  return {.name = "batch_norm/trained_" + std::move(name),
          .inputs = {{.shape = shape}, {.shape = {channels}}, {.shape = {channels}}},
          .build =
              [channels, plain](GraphBuilder& b, const Values& in) {
                if (plain) {
                  const Values statistics =
                      b.add(batch_statistics_op(),
                            graph::Attrs::of(BatchStatistics{.epsilon = 1e-3}), {in[0]});
                  return Values{b.add_one(batch_norm_apply_op(), graph::Attrs::of(BatchNormApply{}),
                                          {in[0], statistics[0], statistics[1], in[1], in[2]})};
                }
                const core::TensorType type{b.type(in[0]).dtype, {channels}};
                const ValueId mean = b.state("mean", type, graph::Role::kStatistic);
                const ValueId variance = b.state("variance", type, graph::Role::kStatistic);
                return Values{batch_norm_train(b, in[0], in[1], in[2], mean, variance,
                                               {.epsilon = 1e-3}, RunningRule::kPyTorch)};
              },
          .gradient_tolerance = 1e-5};
}

}  // namespace

std::vector<OpCase> batch_norm_cases() {
  return {
      given("rows", {6, 5}),
      given("images", {2, 3, 4, 5}),
      given("one_pixel", {3, 17, 1, 1}),
      given("empty", {0, 3, 2, 2}),
      given("large", {4, 33, 17, 19}),
      trained("rows", {7, 5}),
      trained("images", {2, 3, 4, 5}),
      trained("signals", {3, 17, 7}),
      trained("volumes", {2, 16, 2, 3, 2}),
      trained("one_channel", {2, 1, 3, 3}),
      trained("empty", {0, 3, 2, 2}),
      trained("many_channels", {3, 2048, 2, 1}),
      trained("large", {5, 24, 37, 31}),
      trained("plain_images", {2, 3, 4, 5}, true),
  };
}

}  // namespace lowtide::ops
