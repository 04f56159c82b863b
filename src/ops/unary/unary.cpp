#include "ops/unary/unary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/layout/layout.h"
#include "ops/unary/unary_kernels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is particular to a kind besides its kernels. An empty `gradient` names no gradient op.
struct Traits {
  std::string_view name;
  std::string_view gradient = {};
  double flops = 1;
  bool takes_integers = false;
};

// In the order of UnaryKind. An exponential counts as about ten operations.
constexpr std::array<Traits, kUnaryKinds> kTraits = {{
    {.name = "Abs", .gradient = "AbsGradient", .takes_integers = true},
    {.name = "Acos", .gradient = "AcosGradient", .flops = 40},
    {.name = "Acosh", .gradient = "AcoshGradient", .flops = 40},
    {.name = "Asin", .gradient = "AsinGradient", .flops = 40},
    {.name = "Asinh", .gradient = "AsinhGradient", .flops = 40},
    {.name = "Atan", .gradient = "AtanGradient", .flops = 40},
    {.name = "Atanh", .gradient = "AtanhGradient", .flops = 40},
    {.name = "Ceil"},
    {.name = "Celu", .gradient = "CeluGradient", .flops = 14},
    {.name = "Clip", .gradient = "ClipGradient", .flops = 2, .takes_integers = true},
    {.name = "Cos", .flops = 20},
    {.name = "Cosh", .flops = 20},
    {.name = "Elu", .gradient = "EluGradient", .flops = 12},
    {.name = "Erf", .gradient = "ErfGradient", .flops = 40},
    {.name = "Exp", .gradient = "ExpGradient", .flops = 10},
    {.name = "Floor"},
    {.name = "Gelu", .gradient = "GeluGradient", .flops = 45},
    {.name = "GeluTanh", .gradient = "GeluTanhGradient", .flops = 18},
    {.name = "HardSigmoid", .gradient = "HardSigmoidGradient", .flops = 4},
    {.name = "HardSwish", .gradient = "HardSwishGradient", .flops = 5},
    {.name = "LeakyRelu", .gradient = "LeakyReluGradient", .flops = 2},
    {.name = "Log", .gradient = "LogGradient", .flops = 12},
    {.name = "Mish", .gradient = "MishGradient", .flops = 16},
    {.name = "Neg", .takes_integers = true},
    {.name = "Reciprocal", .gradient = "ReciprocalGradient"},
    {.name = "Relu", .gradient = "ReluGradient", .takes_integers = true},
    {.name = "Round"},
    {.name = "Scale"},
    {.name = "Selu", .gradient = "SeluGradient", .flops = 13},
    {.name = "Sigmoid", .gradient = "SigmoidGradient", .flops = 13},
    {.name = "Sign", .takes_integers = true},
    {.name = "Silu", .gradient = "SiluGradient", .flops = 14},
    {.name = "Sin", .flops = 20},
    {.name = "Sinh", .flops = 20},
    {.name = "Softplus", .gradient = "SoftplusGradient", .flops = 24},
    {.name = "Softsign", .gradient = "SoftsignGradient", .flops = 3},
    {.name = "Sqrt", .gradient = "SqrtGradient"},
    {.name = "Tan", .gradient = "TanGradient", .flops = 20},
    {.name = "Tanh", .gradient = "TanhGradient", .flops = 14},
}};

const Traits& traits(UnaryKind kind) { return kTraits[static_cast<std::size_t>(kind)]; }

std::vector<TensorType> infer(const Unary& a, Types in) {
  const bool fits = core::is_float(in[0].dtype) ||
                    (traits(a.kind).takes_integers && core::is_integer(in[0].dtype));
  if (!fits) {
    throw fail(ErrorCode::kInvalidArgument, "{} cannot take {}", traits(a.kind).name, in[0].str());
  }
  return {in[0]};
}

std::vector<TensorType> infer_gradient(const Unary&, Types in) {
  LT_CHECK(in[0] == in[1], "a gradient like the value");
  return {in[0]};
}

std::vector<TensorType> infer_mask(const RangeMask&, Types in) {
  return {
      {core::DType::kOpaque, core::Shape{(in[0].shape.elements() + 7) / 8}, core::Layout::kPlain}};
}

std::vector<TensorType> infer_mask_gradient(const MaskGradient&, Types in) {
  LT_CHECK(in[0].shape.elements() == (in[1].shape.elements() + 7) / 8, "a bit for each element");
  return {in[1]};
}

// Relu and Clip pass dy or nothing. What decides can be read from y or from x; where neither is
// kept, one bit an element is.
ValueId gate(const Unary& a, GradientContext& g, ValueId dy) {
  const bool is_relu = a.kind == UnaryKind::kRelu;
  for (const ValueId v : {g.out(0), g.in(0)}) {
    if (g.kept_for_backward(v)) {
      return g.builder().add_one(unary_gradient_op(a.kind), Attrs::of(a), {v, dy});
    }
  }
  const RangeMask range =
      is_relu ? RangeMask{.low = 0, .high = kNaN} : RangeMask{.low = a.alpha, .high = a.beta};
  const ValueId mask = g.in_forward(
      [&](GraphBuilder& b) { return b.add_one(range_mask_op(), Attrs::of(range), {g.out(0)}); });
  return g.builder().add_one(mask_gradient_op(), Attrs::of(MaskGradient{}), {mask, dy});
}

InputGradients gradient(const Unary& a, GradientContext& g) {
  GraphBuilder& b = g.builder();
  const ValueId dy = to_layout(b, g.out_gradient(0), g.type(g.out(0)).layout);
  switch (a.kind) {
    case UnaryKind::kRelu:
    case UnaryKind::kClip: return {gate(a, g, dy)};
    case UnaryKind::kNeg: return {neg(b, dy)};
    case UnaryKind::kScale: return {scale(b, dy, a.alpha)};
    case UnaryKind::kSin: return {mul(b, dy, cos(b, g.in(0)))};
    case UnaryKind::kSinh: return {mul(b, dy, cosh(b, g.in(0)))};
    case UnaryKind::kCosh: return {mul(b, dy, sinh(b, g.in(0)))};
    case UnaryKind::kCos: return {neg(b, mul(b, dy, sin(b, g.in(0))))};
    case UnaryKind::kCeil:
    case UnaryKind::kFloor:
    case UnaryKind::kRound:
    case UnaryKind::kSign: return {ValueId()};  // flat almost everywhere
    default: break;
  }
  const ValueId v = derivative_from_output(a) ? g.out(0) : g.in(0);
  return {b.add_one(unary_gradient_op(a.kind), Attrs::of(a), {v, dy})};
}

Bytes moved(const Signature& types) {
  Bytes total;
  for (const TensorType& type : types.in) total += type.bytes();
  for (const TensorType& type : types.out) total += type.bytes();
  return total;
}

Cost cost(const Unary& a, const Signature& types) {
  return {.flops = traits(a.kind).flops * static_cast<double>(types.in[0].shape.elements()),
          .traffic = moved(types)};
}

Cost cost_of_mask(const RangeMask&, const Signature& types) {
  return {.flops = 2.0 * static_cast<double>(types.in[0].shape.elements()),
          .traffic = moved(types)};
}

Cost cost_of_mask_gradient(const MaskGradient&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[1].shape.elements()), .traffic = moved(types)};
}

// alpha and beta where ONNX has them as attributes, with ONNX's defaults.
struct Defaults {
  UnaryKind kind;
  double alpha;
  const char* beta_name = "";
  double beta = 0;
};

constexpr std::array kDefaults = {
    Defaults{UnaryKind::kCelu, 1.0},
    Defaults{UnaryKind::kElu, 1.0},
    Defaults{UnaryKind::kHardSigmoid, 0.2, "beta", 0.5},
    Defaults{UnaryKind::kLeakyRelu, 0.01},
    Defaults{UnaryKind::kSelu, 1.67326319217681884765625, "gamma", 1.05070102214813232421875},
};

const Defaults* defaults(UnaryKind kind) {
  for (const Defaults& entry : kDefaults) {
    if (entry.kind == kind) return &entry;
  }
  return nullptr;
}

template <UnaryKind kKind>
std::vector<ValueId> read_onnx(OnnxNode& node) {
  Unary a{.kind = kKind};
  if (const Defaults* const entry = defaults(kKind)) {
    a.alpha = double(node.real("alpha", static_cast<float>(entry->alpha)));
    if (*entry->beta_name != '\0') {
      a.beta = double(node.real(entry->beta_name, static_cast<float>(entry->beta)));
    }
    if (kKind == UnaryKind::kCelu && a.alpha == 0) {
      throw fail(ErrorCode::kInvalidFile, "Celu with alpha 0");
    }
  }
  return {unary(node.builder(), a, node.required_input(0))};
}

// Bounds are attributes before opset 11 and constant inputs from then on; each may be missing.
std::vector<ValueId> read_clip(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const auto bound = [&](std::size_t input, const char* attribute, double fallback) {
    if (node.has(attribute)) return double(node.real(attribute, 0));
    if (!node.input(input).valid()) return fallback;
    if (core::is_float(b.type(x).dtype)) {
      const auto values = node.constant_reals(input);
      if (values->size() == 1) return values->front();
    } else {
      const auto values = node.constant_integers(input);
      if (values->size() == 1) return static_cast<double>(values->front());
    }
    throw fail(ErrorCode::kInvalidFile, "a bound of Clip must be one number");
  };
  return {clip(b, x, bound(1, "min", -kInfinity), bound(2, "max", kInfinity))};
}

std::vector<ValueId> read_gelu(OnnxNode& node) {
  const std::string form = node.string("approximate", "none");
  if (form == "none") return {gelu(node.builder(), node.required_input(0))};
  if (form == "tanh") return {gelu_tanh(node.builder(), node.required_input(0))};
  throw fail(ErrorCode::kInvalidFile, "unknown approximate \"{}\"", form);
}

std::vector<ValueId> read_swish(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const double alpha = double(node.real("alpha", 1.0F));
  if (alpha == 1) return {silu(b, x)};
  return {mul(b, x, sigmoid(b, scale(b, x, alpha)))};
}

template <std::size_t... kIndices>
constexpr std::array<OnnxReadFn, kUnaryKinds> readers_of(std::index_sequence<kIndices...>) {
  return {read_onnx<static_cast<UnaryKind>(kIndices)>...};
}

std::vector<OnnxRule> onnx_rules(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kClip: return {{.type = "Clip", .read = read_clip}};
    case UnaryKind::kGelu: return {{.type = "Gelu", .read = read_gelu}};
    case UnaryKind::kSilu: return {{.type = "Swish", .read = read_swish}};
    case UnaryKind::kGeluTanh:
    case UnaryKind::kScale: return {};
    default: break;
  }
  constexpr auto kReaders = readers_of(std::make_index_sequence<kUnaryKinds>());
  return {{.type = traits(kind).name, .read = kReaders[static_cast<std::size_t>(kind)]}};
}

// A bound of Clip; none where no element of the type lies beyond it.
OnnxConstant bound(core::DType dtype, double value, bool lower) {
  return core::visit(dtype, [&](auto tag) -> OnnxConstant {
    using Limits = std::numeric_limits<typename decltype(tag)::type>;
    const auto lowest = static_cast<double>(Limits::lowest());
    const auto highest = static_cast<double>(Limits::max());
    if (lower ? value <= lowest : value >= highest) return std::monostate();
    return OnnxScalar{dtype, std::clamp(value, lowest, highest)};
  });
}

// Opset 20 has no Silu.
std::optional<OnnxForm> write_onnx(const Unary& a, const Signature& types) {
  const core::DType dtype = types.in[0].dtype;
  switch (a.kind) {
    case UnaryKind::kClip:
      return OnnxForm{
          .type = "Clip",
          .constant_inputs = {bound(dtype, a.alpha, true), bound(dtype, a.beta, false)}};
    case UnaryKind::kGeluTanh:
      return OnnxForm{.type = "Gelu", .attributes = {{"approximate", "tanh"}}};
    case UnaryKind::kScale:
      return OnnxForm{.type = "Mul", .constant_inputs = {OnnxScalar{dtype, a.alpha}}};
    case UnaryKind::kSilu: return std::nullopt;
    default: break;
  }
  OnnxForm form{.type = std::string(traits(a.kind).name)};
  if (const Defaults* const entry = defaults(a.kind)) {
    form.attributes.emplace_back("alpha", static_cast<float>(a.alpha));
    if (*entry->beta_name != '\0') {
      form.attributes.emplace_back(entry->beta_name, static_cast<float>(a.beta));
    }
  }
  return form;
}

OpCard<Unary> card(UnaryKind kind) {
  return {
      .name = traits(kind).name,
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}},
      .onnx = onnx_rules(kind),
      .onnx_form = write_onnx,
      .kernels = {{.name = "simd", .supports = simd_takes_unary, .run = run_simd_unary},
                  {.name = "reference", .run = run_reference_unary}},
  };
}

OpCard<Unary> gradient_card(UnaryKind kind) {
  return {
      .name = traits(kind).gradient,
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 1}, {.output = 0, .input = 0}},
      .kernels = {{.name = "simd",
                   .supports = simd_takes_unary_gradient,
                   .run = run_simd_unary_gradient},
                  {.name = "reference", .run = run_reference_unary_gradient}},
  };
}

template <std::size_t... kIndices>
const OpDef& nth_op(UnaryKind kind, std::index_sequence<kIndices...>) {
  static const std::array<TypedOp<Unary>, kUnaryKinds> ops = {
      TypedOp<Unary>(card(static_cast<UnaryKind>(kIndices)))...};
  return ops[static_cast<std::size_t>(kind)];
}

template <std::size_t... kIndices>
const OpDef& nth_gradient_op(UnaryKind kind, std::index_sequence<kIndices...>) {
  static const std::array<TypedOp<Unary>, kUnaryKinds> ops = {
      TypedOp<Unary>(gradient_card(static_cast<UnaryKind>(kIndices)))...};
  return ops[static_cast<std::size_t>(kind)];
}

}  // namespace

const OpDef& unary_op(UnaryKind kind) {
  return nth_op(kind, std::make_index_sequence<kUnaryKinds>());
}

const OpDef& unary_gradient_op(UnaryKind kind) {
  LT_CHECK(has_unary_gradient(kind), "a kind without a gradient op");
  return nth_gradient_op(kind, std::make_index_sequence<kUnaryKinds>());
}

bool has_unary_gradient(UnaryKind kind) { return !traits(kind).gradient.empty(); }

const OpDef& range_mask_op() {
  static const TypedOp<RangeMask> op{{
      .name = "RangeMask",
      .infer = infer_mask,
      .gradient = not_differentiable,
      .cost = cost_of_mask,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "simd", .supports = simd_takes_mask, .run = run_simd_mask},
                  {.name = "reference", .run = run_reference_mask}},
  }};
  return op;
}

const OpDef& mask_gradient_op() {
  static const TypedOp<MaskGradient> op{{
      .name = "MaskGradient",
      .infer = infer_mask_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_mask_gradient,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 1}},
      .kernels = {{.name = "simd",
                   .supports = simd_takes_mask_gradient,
                   .run = run_simd_mask_gradient},
                  {.name = "reference", .run = run_reference_mask_gradient}},
  }};
  return op;
}

ValueId unary(GraphBuilder& b, Unary a, ValueId x) {
  return b.add_one(unary_op(a.kind), Attrs::of(a), {x});
}

ValueId selu(GraphBuilder& b, ValueId x) {
  const Defaults& standard = *defaults(UnaryKind::kSelu);
  return unary(b, {.kind = UnaryKind::kSelu, .alpha = standard.alpha, .beta = standard.beta}, x);
}

ValueId clip(GraphBuilder& b, ValueId x, double low, double high) {
  if (low == -kInfinity && high == kInfinity) return x;
  return unary(b, {.kind = UnaryKind::kClip, .alpha = low, .beta = high}, x);
}

ValueId scale(GraphBuilder& b, ValueId x, double factor) {
  return factor == 1 ? x : unary(b, {.kind = UnaryKind::kScale, .alpha = factor}, x);
}

}  // namespace lowtide::ops
