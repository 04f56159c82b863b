#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/layout/layout.h"
#include "ops/linear_cross_entropy/linear_cross_entropy_kernels.h"
#include "ops/reshape/reshape.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;
using core::Shape;

std::vector<TensorType> infer(const LinearCrossEntropy& a, Types in) {
  const TensorType& hidden = in[0];
  const TensorType& weight = in[1];
  const bool fit = core::is_float(hidden.dtype) && hidden.dtype == weight.dtype &&
                   hidden.shape.rank() == 2 && weight.shape.rank() == 2 &&
                   hidden.shape[1] == weight.shape[a.transposed ? 1 : 0];
  if (!fit) {
    throw fail(ErrorCode::kInvalidArgument, "cannot make logits of {} by {}{}", hidden.str(),
               weight.str(), a.transposed ? " (transposed)" : "");
  }
  const HeadSizes size = sizes_of(a, in);
  const TensorType bias{hidden.dtype, Shape{size.classes}};
  if (a.bias && in[kBiasInput] != bias) {
    throw fail(ErrorCode::kInvalidArgument, "a bias of {} classes must be {}, not {}", size.classes,
               bias.str(), in[kBiasInput].str());
  }
  std::vector<TensorType> of_loss = {{hidden.dtype, Shape{size.rows, size.classes}}, in[2], in[3]};
  if (a.loss.has_weights) of_loss.push_back(in[class_weights_input(a)]);
  std::vector<TensorType> out = cross_entropy_op().infer(Attrs::of(a.loss), of_loss);
  if (a.gradients) out.push_back(hidden);
  if (a.gradients && a.learned) out.push_back(weight);
  if (a.gradients && a.learned && a.bias) out.push_back(bias);
  return out;
}

// The forward node has the gradients for a loss that is the root; otherwise they are multiplied by
// the loss's own.
InputGradients gradient(const LinearCrossEntropy& a, GradientContext& g) {
  LT_CHECK(a.gradients, "a loss that was built without gradients");
  GraphBuilder& b = g.builder();
  ValueId factor;
  if (g.out_gradient(0).valid()) factor = cast(b, g.out_gradient(0), g.type(g.in(0)).dtype);
  const auto found = [&](std::size_t output) {
    return factor.valid() ? mul(b, g.out(output), factor) : g.out(output);
  };
  InputGradients result(g.input_count());
  if (g.needs(0)) result[0] = found(2);
  const bool bias = a.bias && g.needs(kBiasInput);
  LT_CHECK(a.learned || !(g.needs(1) || bias), "a loss that was built for a frozen weight");
  if (g.needs(1)) result[1] = found(3);
  if (bias) result[kBiasInput] = found(4);
  return result;
}

Cost cost(const LinearCrossEntropy& a, const Signature& types) {
  const HeadSizes size = sizes_of(a, types.in);
  const double products = 1.0 + (a.gradients ? 1 : 0) + (a.gradients && a.learned ? 1 : 0);
  const auto logits = static_cast<double>(size.rows * size.classes);
  Bytes traffic;
  for (const TensorType& type : types.in) traffic += type.bytes();
  for (const TensorType& type : types.out) traffic += type.bytes();
  return {.flops = logits * (2 * products * static_cast<double>(size.depth) + 34),
          .traffic = traffic};
}

}  // namespace

const OpDef& linear_cross_entropy_op() {
  static const TypedOp<LinearCrossEntropy> op{{
      .name = "LinearCrossEntropy",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kNever,
      .kernels = linear_cross_entropy_kernels(),
  }};
  return op;
}

LossValues linear_cross_entropy(GraphBuilder& b,
                                ValueId hidden,
                                ValueId weight,
                                ValueId bias,
                                ValueId labels,
                                ValueId normalizer,
                                LinearCrossEntropy attributes,
                                ValueId class_weights) {
  attributes.bias = bias.valid();
  attributes.loss.class_axis = 1;
  attributes.loss.has_weights = class_weights.valid();
  const std::int64_t rows = b.type(labels).shape.elements();
  const std::int64_t depth = b.type(weight).shape[attributes.transposed ? 1 : 0];
  std::vector<ValueId> inputs = {reshape(b, hidden, Shape{rows, depth}), to_plain(b, weight),
                                 reshape(b, labels, Shape{rows}), normalizer};
  if (bias.valid()) inputs.push_back(bias);
  if (class_weights.valid()) inputs.push_back(class_weights);
  const Phase before = b.phase();
  b.set_phase(Phase::kLoss);
  const std::vector<ValueId> out =
      b.add(linear_cross_entropy_op(), Attrs::of(attributes), std::move(inputs));
  b.set_phase(before);
  return {.loss = out[0], .correct = out[1]};
}

}  // namespace lowtide::ops
