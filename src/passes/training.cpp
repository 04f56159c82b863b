#include "passes/training.h"

#include "ops/batch_norm/batch_norm.h"
#include "ops/dropout/dropout.h"
#include "passes/fuse/batch_norm.h"
#include "passes/fuse/max_pool.h"

namespace lowtide::passes {

using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;

namespace {

std::optional<std::vector<ValueId>> train_batch_norm(GraphBuilder& builder,
                                                     const Node& node,
                                                     const std::vector<ValueId>& in,
                                                     ops::RunningRule running,
                                                     Training& training) {
  if (node.op != &ops::batch_norm_op()) return std::nullopt;
  ++training.batch_norms;
  training.couples_samples = true;
  return std::vector<ValueId>{ops::batch_norm_train(builder, in[0], in[1], in[2], in[3], in[4],
                                                    node.attrs.as<ops::BatchNorm>(), running)};
}

// The node's own dropout with another ratio, or one behind its output.
ValueId drop_out(GraphBuilder& builder,
                 const Node& node,
                 const std::string& name,
                 ValueId input,
                 ValueId output,
                 double ratio) {
  if (node.op == &ops::dropout_op()) {
    ops::Dropout attributes = node.attrs.as<ops::Dropout>();
    attributes.ratio = ratio;
    return ops::dropout(builder, input, attributes);
  }
  builder.set_scope(name);
  return ops::dropout(builder, output,
                      {.ratio = ratio, .stream = ops::dropout_stream(name + "/Dropout")});
}

}  // namespace

Training to_training(const graph::Graph& inference, const TrainingRules& rules) {
  Training result;
  const auto running =
      rules.running == RunningRule::kPyTorch ? ops::RunningRule::kPyTorch : ops::RunningRule::kOnnx;
  const auto replace = [&](GraphBuilder& builder, const Node& node,
                           const std::vector<ValueId>& in) -> std::optional<std::vector<ValueId>> {
    auto outputs = train_batch_norm(builder, node, in, running, result);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const auto ratio = rules.dropout.find(node.outputs[i]);
      if (ratio == rules.dropout.end()) continue;
      if (!outputs && node.op != &ops::dropout_op())
        outputs = builder.add(*node.op, node.attrs, in);
      if (!outputs) outputs.emplace(1);
      (*outputs)[i] = drop_out(builder, node, inference.value(node.outputs[i]).name, in[0],
                               (*outputs)[i], ratio->second);
    }
    return outputs;
  };
  const Rewritten trained = rewrite(inference, replace);
  const Rewritten normed = chained(trained, fuse_batch_norm(trained.graph));
  result.rewritten = chained(normed, fuse_max_pools(normed.graph));
  result.dropouts = ops::activate_dropout(result.rewritten.graph, rules.samples);
  return result;
}

}  // namespace lowtide::passes
