// ToyNet: training graphs of toy ops, written by hand, drawn at random, or with the tensor sizes
// of well-known networks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "plan/plan.h"
#include "plan/toy_ops.h"

namespace lowtide::plan {

struct NodeSettings {
  double seconds = 1;
  std::int64_t scratch = 0;
};

class ToyNet {
 public:
  ValueId input(const std::string& name, std::int64_t bytes);
  ValueId scalar(const std::string& name);
  ValueId weight(const std::string& name,
                 std::int64_t bytes,
                 graph::Role role = graph::Role::kParameter);

  // Nodes take the current phase; each is named after its (first) output.
  void phase(graph::Phase phase) { phase_ = phase; }
  std::vector<ValueId> add(const graph::OpDef& op,
                           const std::string& name,
                           std::vector<ValueId> in,
                           std::vector<std::int64_t> out,
                           NodeSettings settings = {});
  ValueId mix(const std::string& name,
              std::vector<ValueId> in,
              std::int64_t bytes,
              NodeSettings settings = {});
  ValueId blend(const std::string& name, std::vector<ValueId> in, NodeSettings settings = {});
  ValueId view(const std::string& name, ValueId in);
  // A node that replaces `state`.
  ValueId replace(const std::string& name, ValueId state, std::vector<ValueId> in);
  // Gives every Mix of the backward pass whose first input a Blend made, and `wanted` picks, an
  // alternative that takes so much longer.
  void offer_alternatives(double seconds, const std::function<bool()>& wanted);
  void output(ValueId id) { graph.outputs().push_back(id); }

  [[nodiscard]] Bytes persistent_bytes() const { return persistent_; }
  [[nodiscard]] Request request(Bytes arena, Policy policy = Policy::kLowtide) const;
  [[nodiscard]] std::variant<Plan, Infeasible> make(Bytes arena,
                                                    Policy policy = Policy::kLowtide) const;
  // The plan with any amount of memory.
  [[nodiscard]] Plan plan(Policy policy = Policy::kLowtide) const;
  [[nodiscard]] std::vector<std::string> check(const Plan& plan) const;

  graph::Graph graph;
  Costs costs;
  core::IdVector<ValueId, Bytes> offsets;  // of persistent values

 private:
  void note_values();

  graph::Phase phase_ = graph::Phase::kForward;
  Bytes persistent_;
};

// A training graph in the making: each forward call notes its backward, which finish() writes out
// in reverse, weight gradient before data gradient, then the updates.
class Trained {
 public:
  ValueId input(std::int64_t bytes);
  ValueId conv(ValueId x, std::int64_t out, std::int64_t weight, double seconds = 10);
  ValueId norm(ValueId x);  // backward reads its input, and keeps statistics
  ValueId relu(ValueId x);  // backward reads its output
  ValueId pool(ValueId x, std::int64_t out);
  ValueId add(ValueId a, ValueId b);
  ValueId flatten(ValueId x);  // a view, and so is its gradient
  ToyNet finish(ValueId last);

 private:
  std::string fresh(const std::string& kind);
  void give(ValueId id, ValueId gradient);
  std::int64_t bytes(ValueId id) const { return net_.graph.type(id).bytes().count(); }

  ToyNet net_;
  int count_ = 0;
  std::vector<std::function<void()>> backward_;
  std::map<ValueId, ValueId> gradients_;
  std::vector<std::pair<ValueId, ValueId>> updates_;  // weight, gradient
};

// Float32 networks at their true sizes for 224 x 224 (WRN: 32 x 32) images.
ToyNet resnet50(std::int64_t batch);
ToyNet vgg16(std::int64_t batch);
ToyNet wrn28_2(std::int64_t batch);
// n equal layers: conv and relu.
ToyNet chain(int layers, std::int64_t bytes);
// A small graph with branches, views, in-place pairs, side outputs, state and odd sizes.
ToyNet random_net(std::uint64_t seed);

}  // namespace lowtide::plan
