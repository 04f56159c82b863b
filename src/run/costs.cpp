#include "run/costs.h"

#include <algorithm>

namespace lowtide::run {

plan::Costs model_costs(const graph::Graph& graph,
                        const Kernels& kernels,
                        const core::Machine& machine,
                        const Roofline& roofline) {
  plan::Costs costs;
  const double flops_per_second = roofline.flops_per_second_per_thread * machine.threads;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const graph::NodeId id(i);
    const graph::Node& node = graph.node(id);
    const auto in = graph.types(node.inputs);
    const auto out = graph.types(node.outputs);
    const graph::Cost cost = node.op->cost(node.attrs, {in, out});
    plan::NodeCost result{.scratch = kernels.of(id).scratch()};
    if (cost.flops > 0 || cost.traffic > Bytes()) {
      result.seconds =
          roofline.seconds_per_node +
          std::max(cost.flops / flops_per_second,
                   static_cast<double>(cost.traffic.count()) / roofline.bytes_per_second);
    }
    costs.push_back(result);
  }
  return costs;
}

}  // namespace lowtide::run
