#include <limits>

#include "ops/cases.h"
#include "ops/layout/layout.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Inputs = std::vector<ValueId>;

// Where a function is smooth and defined, and what its parameters are.
struct Sample {
  const char* name;
  Unary attributes;
  double low = -3;
  double high = 3;
  double apart = 0;  // where there is a kink at 0: the numbers are this far from each other and it
};

std::vector<Sample> samples() {
  using K = UnaryKind;
  return {
      {"abs", {K::kAbs}, -3, 3, 0.1},
      {"acos", {K::kAcos}, -0.9, 0.9},
      {"acosh", {K::kAcosh}, 1.2, 5},
      {"asin", {K::kAsin}, -0.9, 0.9},
      {"asinh", {K::kAsinh}},
      {"atan", {K::kAtan}},
      {"atanh", {K::kAtanh}, -0.9, 0.9},
      {"ceil", {K::kCeil}, 0.1, 0.9},
      {"celu", {K::kCelu, 1.5}, -3, 3, 0.1},
      {"clip", {K::kClip, -0.5, 0.5}, -0.45, 0.45},
      {"clip_above", {K::kClip, -0.5, 0.5}, 0.55, 3},
      {"cos", {K::kCos}},
      {"cosh", {K::kCosh}},
      {"elu", {K::kElu, 0.7}, -3, 3, 0.1},
      {"elu_negative", {K::kElu, -0.7}, -3, 3, 0.1},
      {"erf", {K::kErf}},
      {"exp", {K::kExp}},
      {"floor", {K::kFloor}, 0.1, 0.9},
      {"gelu", {K::kGelu}, -5, 5},
      {"gelu_tanh", {K::kGeluTanh}, -5, 5},
      {"hard_sigmoid", {K::kHardSigmoid, 0.2, 0.5}, -2.4, 2.4},
      {"hard_swish", {K::kHardSwish}, -2.9, 2.9},
      {"hard_swish_above", {K::kHardSwish}, 3.1, 5},
      {"leaky_relu", {K::kLeakyRelu, 0.1}, -3, 3, 0.1},
      {"leaky_relu_negative", {K::kLeakyRelu, -0.1}, -3, 3, 0.1},
      {"log", {K::kLog}, 0.2, 5},
      {"mish", {K::kMish}, -5, 25},
      {"neg", {K::kNeg}},
      {"reciprocal", {K::kReciprocal}, 0.5, 3},
      {"relu", {K::kRelu}, -3, 3, 0.1},
      {"round", {K::kRound}, -0.4, 0.4},
      {"scale", {K::kScale, -2.5}},
      {"selu", {K::kSelu, 1.67326, 1.0507}, -3, 3, 0.1},
      {"sigmoid", {K::kSigmoid}, -8, 8},
      {"sign", {K::kSign}, 0.5, 3},
      {"silu", {K::kSilu}, -8, 8},
      {"sin", {K::kSin}},
      {"sinh", {K::kSinh}},
      {"softplus", {K::kSoftplus}, -8, 8},
      {"softsign", {K::kSoftsign}},
      {"sqrt", {K::kSqrt}, 0.2, 5},
      {"tan", {K::kTan}, -1.2, 1.2},
      {"tanh", {K::kTanh}, -5, 5},
  };
}

OpCase single(std::string name, CaseInput input, Unary attributes) {
  return {.name = "unary/" + std::move(name),
          .inputs = {std::move(input)},
          .build = [attributes](GraphBuilder& b, const Inputs& in) {
            return Inputs{unary(b, attributes, in[0])};
          }};
}

// A graph of its own for the saved bits: autodiff asks for them only where nothing else is kept.
OpCase mask(std::string name, core::Shape shape, RangeMask range) {
  return {.name = "unary/mask_" + std::move(name),
          .inputs = {{.shape = std::move(shape), .differentiable = false}},
          .build = [range](GraphBuilder& b, const Inputs& in) {
            const ValueId bits = b.add_one(range_mask_op(), graph::Attrs::of(range), {in[0]});
            return Inputs{
                b.add_one(mask_gradient_op(), graph::Attrs::of(MaskGradient{}), {bits, in[0]})};
          }};
}

// (v, dy) -> dx, for kinds that autodiff in a small graph may not reach with a kernel of their own.
OpCase gradient_kernel(const Sample& sample) {
  const Unary attributes = sample.attributes;
  CaseInput v{.shape = {37}, .low = sample.low, .high = sample.high, .apart = sample.apart};
  v.differentiable = false;
  CaseInput dy{.shape = {37}, .differentiable = false};
  return {.name = std::string("unary/gradient_") + sample.name,
          .inputs = {std::move(v), std::move(dy)},
          .build = [attributes](GraphBuilder& b, const Inputs& in) {
            return Inputs{b.add_one(unary_gradient_op(attributes.kind),
                                    graph::Attrs::of(attributes), {in[0], in[1]})};
          }};
}

}  // namespace

std::vector<OpCase> unary_cases() {
  std::vector<OpCase> cases;
  for (const Sample& sample : samples()) {
    cases.push_back(
        single(sample.name,
               {.shape = {3, 17}, .low = sample.low, .high = sample.high, .apart = sample.apart},
               sample.attributes));
    if (has_unary_gradient(sample.attributes.kind)) cases.push_back(gradient_kernel(sample));
  }
  for (const std::int64_t n : {0, 1, 7, 8, 15, 16, 1000, 40001}) {
    cases.push_back(
        single("tanh/" + std::to_string(n), {.shape = {n}}, {.kind = UnaryKind::kTanh}));
    cases.push_back(mask(std::to_string(n), {n}, {.low = -0.5, .high = 0.5}));
  }
  cases.push_back(
      mask("open", {3, 7}, {.low = 0, .high = std::numeric_limits<double>::quiet_NaN()}));
  for (const UnaryKind kind :
       {UnaryKind::kAbs, UnaryKind::kNeg, UnaryKind::kRelu, UnaryKind::kSign}) {
    cases.push_back(single("int64/" + std::string(unary_op(kind).name()),
                           {.shape = {19}, .low = -5, .high = 5, .dtype = core::DType::kInt64},
                           {.kind = kind}));
  }
  cases.push_back(single("int32/Clip",
                         {.shape = {19}, .low = -5, .high = 5, .dtype = core::DType::kInt32},
                         {.kind = UnaryKind::kClip, .alpha = -2, .beta = 1e300}));
  cases.push_back({.name = "unary/images",
                   .inputs = {{.shape = {2, 3, 5, 7}, .apart = 0.1}},
                   .build = [](GraphBuilder& b, const Inputs& in) {
                     return Inputs{relu(b, to_channels_last(b, in[0]))};
                   }});
  return cases;
}

}  // namespace lowtide::ops
