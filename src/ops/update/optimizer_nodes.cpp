#include "ops/update/optimizer_nodes.h"

#include <cmath>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/constant/constant.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using core::fail;
using graph::GraphBuilder;
using graph::OnnxNode;
using graph::ValueId;

// Inputs are R (the rate), T (how many updates there were) and then, for each role (X, its
// gradient, the moments), as many tensors as are optimized. Outputs are the new X and moments in
// that order.
struct Step {
  OnnxNode& node;
  GraphBuilder& b;
  std::size_t tensors = 0;
  double updates = 0;

  [[nodiscard]] ValueId input(std::size_t role, std::size_t i) const {
    return node.required_input(2 + role * tensors + i);
  }
  // The gradient with that of norm_coefficient / 2 |x|^2.
  [[nodiscard]] ValueId gradient(std::size_t i) const {
    const double decay = double{node.real("norm_coefficient", 0.0F)};
    return decay == 0 ? input(1, i) : add(b, scale(b, input(0, i), decay), input(1, i));
  }
  // a * keep + c * (weight of the new).
  [[nodiscard]] ValueId mixed(ValueId a, double keep, ValueId c, double weight) const {
    return add(b, scale(b, a, keep), scale(b, c, weight));
  }
};

Step make_step(OnnxNode& node, std::size_t roles) {
  const auto updates = node.constant_integers(1);
  const std::size_t tensors = node.input_count() < 2 ? 0 : (node.input_count() - 2) / roles;
  if (!updates || updates->size() != 1 || tensors * roles + 2 != node.input_count()) {
    throw fail(ErrorCode::kInvalidFile, "{} with {} inputs", node.type(), node.input_count());
  }
  return {.node = node,
          .b = node.builder(),
          .tensors = tensors,
          .updates = static_cast<double>(updates->front())};
}

// The results of all tensors, role after role.
template <class F>
std::vector<ValueId> for_each_tensor(const Step& step, F&& update) {
  std::vector<std::vector<ValueId>> all;
  for (std::size_t i = 0; i < step.tensors; ++i) all.push_back(update(i));
  std::vector<ValueId> outputs;
  for (std::size_t role = 0; !all.empty() && role < all.front().size(); ++role) {
    for (const std::vector<ValueId>& one : all) outputs.push_back(one[role]);
  }
  return outputs;
}

}  // namespace

std::vector<ValueId> read_adagrad(OnnxNode& node) {
  const Step step = make_step(node, 3);
  GraphBuilder& b = step.b;
  const double decay = 1 + step.updates * double{node.real("decay_factor", 0.0F)};
  const ValueId rate = scale(b, node.required_input(0), 1 / decay);
  const double epsilon = double{node.real("epsilon", 1e-6F)};
  return for_each_tensor(step, [&](std::size_t i) -> std::vector<ValueId> {
    const ValueId g = step.gradient(i);
    const ValueId squares = add(b, step.input(2, i), mul(b, g, g));
    const ValueId size = add(b, sqrt(b, squares), scalar(b, b.type(g).dtype, epsilon));
    return {sub(b, step.input(0, i), div(b, mul(b, rate, g), size)), squares};
  });
}

std::vector<ValueId> read_adam(OnnxNode& node) {
  const Step step = make_step(node, 4);
  GraphBuilder& b = step.b;
  const double alpha = double{node.real("alpha", 0.9F)};
  const double beta = double{node.real("beta", 0.999F)};
  const double correction = step.updates > 0 ? std::sqrt(1 - std::pow(beta, step.updates)) /
                                                   (1 - std::pow(alpha, step.updates))
                                             : 1.0;
  const ValueId rate = scale(b, node.required_input(0), correction);
  const double epsilon = double{node.real("epsilon", 1e-6F)};
  const double kept = 1 - double{node.real("norm_coefficient_post", 0.0F)};
  return for_each_tensor(step, [&](std::size_t i) -> std::vector<ValueId> {
    const ValueId g = step.gradient(i);
    const ValueId mean = step.mixed(step.input(2, i), alpha, g, 1 - alpha);
    const ValueId squares = step.mixed(step.input(3, i), beta, mul(b, g, g), 1 - beta);
    const ValueId size = add(b, sqrt(b, squares), scalar(b, b.type(g).dtype, epsilon));
    const ValueId moved = sub(b, step.input(0, i), div(b, mul(b, rate, mean), size));
    return {scale(b, moved, kept), mean, squares};
  });
}

std::vector<ValueId> read_momentum(OnnxNode& node) {
  const Step step = make_step(node, 3);
  GraphBuilder& b = step.b;
  const std::string mode = node.string("mode", "standard");
  if (mode != "standard" && mode != "nesterov") {
    throw fail(ErrorCode::kInvalidFile, "mode '{}'", mode);
  }
  const double alpha = double{node.real("alpha", 0.0F)};
  const double beta = step.updates > 0 ? double{node.real("beta", 1.0F)} : 1.0;
  return for_each_tensor(step, [&](std::size_t i) -> std::vector<ValueId> {
    const ValueId g = step.gradient(i);
    const ValueId velocity = step.mixed(step.input(2, i), alpha, g, beta);
    const ValueId direction = mode == "nesterov" ? add(b, g, scale(b, velocity, alpha)) : velocity;
    return {sub(b, step.input(0, i), mul(b, node.required_input(0), direction)), velocity};
  });
}

}  // namespace lowtide::ops
