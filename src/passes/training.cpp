#include "passes/training.h"

#include "ops/batch_norm/batch_norm.h"
#include "ops/dropout/dropout.h"
#include "passes/fuse_batch_norm.h"

namespace lowtide::passes {

using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;

Training to_training(const graph::Graph& inference, RunningRule rule, std::int64_t samples) {
  Training result;
  const auto running =
      rule == RunningRule::kPyTorch ? ops::RunningRule::kPyTorch : ops::RunningRule::kOnnx;
  const auto replace = [&](GraphBuilder& builder, const Node& node,
                           const std::vector<ValueId>& in) -> std::optional<std::vector<ValueId>> {
    if (node.op == &ops::batch_norm_op()) {
      ++result.batch_norms;
      result.couples_samples = true;
      return std::vector<ValueId>{ops::batch_norm_train(builder, in[0], in[1], in[2], in[3], in[4],
                                                        node.attrs.as<ops::BatchNorm>(), running)};
    }
    return std::nullopt;
  };
  const Rewritten trained = rewrite(inference, replace);
  result.rewritten = chained(trained, fuse_batch_norm(trained.graph));
  ops::activate_dropout(result.rewritten.graph, samples);
  return result;
}

}  // namespace lowtide::passes
