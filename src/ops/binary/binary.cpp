#include "ops/binary/binary.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"
#include "ops/binary/binary_gradients.h"
#include "ops/binary/binary_kernels.h"
#include "ops/cast/cast.h"
#include "ops/constant/constant.h"
#include "ops/layout/layout.h"
#include "ops/reshape/reshape.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;
using core::Layout;

enum class Result : std::uint8_t { kNumber, kWholeNumber, kTruthOfNumbers, kTruthOfBools };

// What is particular to a kind besides its kernels.
struct Traits {
  std::string_view name;
  Result result = Result::kNumber;
  bool in_onnx = true;
  double flops = 1;
};

// In the order of BinaryKind.
constexpr std::array<Traits, kBinaryKinds> kTraits = {{
    {.name = "Add"},
    {.name = "Sub"},
    {.name = "Mul"},
    {.name = "Div"},
    {.name = "Pow", .flops = 20},
    {.name = "Mod"},
    {.name = "Fmod", .in_onnx = false},
    {.name = "Min"},
    {.name = "Max"},
    {.name = "PRelu"},
    {.name = "BitwiseAnd", .result = Result::kWholeNumber},
    {.name = "BitwiseOr", .result = Result::kWholeNumber},
    {.name = "BitwiseXor", .result = Result::kWholeNumber},
    {.name = "ShiftLeft", .result = Result::kWholeNumber, .in_onnx = false},
    {.name = "ShiftRight", .result = Result::kWholeNumber, .in_onnx = false},
    {.name = "Equal", .result = Result::kTruthOfNumbers},
    {.name = "Less", .result = Result::kTruthOfNumbers},
    {.name = "LessOrEqual", .result = Result::kTruthOfNumbers},
    {.name = "Greater", .result = Result::kTruthOfNumbers},
    {.name = "GreaterOrEqual", .result = Result::kTruthOfNumbers},
    {.name = "And", .result = Result::kTruthOfBools},
    {.name = "Or", .result = Result::kTruthOfBools},
    {.name = "Xor", .result = Result::kTruthOfBools},
    {.name = "PReluSlope", .in_onnx = false},
    {.name = "Share", .in_onnx = false},
    {.name = "Same", .in_onnx = false},
    {.name = "PowBase", .in_onnx = false, .flops = 20},
    {.name = "PowExponent", .in_onnx = false, .flops = 30},
}};

const Traits& traits(BinaryKind kind) { return kTraits[static_cast<std::size_t>(kind)]; }

bool takes(BinaryKind kind, DType dtype) {
  switch (traits(kind).result) {
    case Result::kTruthOfBools: return dtype == DType::kBool;
    case Result::kTruthOfNumbers:
      if (dtype == DType::kBool) return kind == BinaryKind::kEqual;
      break;
    case Result::kWholeNumber: return core::is_integer(dtype);
    case Result::kNumber:
      if (kind >= BinaryKind::kPReluSlope) return core::is_float(dtype);
      break;
  }
  return core::is_float(dtype) || core::is_integer(dtype);
}

std::vector<TensorType> infer(const Binary& a, Types in) {
  const std::string_view name = traits(a.kind).name;
  if (in[0].dtype != in[1].dtype || !takes(a.kind, in[0].dtype)) {
    throw fail(ErrorCode::kInvalidArgument, "{} cannot take {} and {}", name, in[0].str(),
               in[1].str());
  }
  TensorType out{in[0].dtype, core::broadcast(in[0].shape, in[1].shape), Layout::kPlain};
  if (traits(a.kind).result >= Result::kTruthOfNumbers) out.dtype = DType::kBool;
  const std::size_t rank = out.shape.rank();
  for (const TensorType& type : in) {
    if (type.shape.rank() == rank && type.layout == Layout::kChannelsLast) out.layout = type.layout;
  }
  for (const TensorType& type : in) {
    const bool spreads = type.layout == Layout::kPlain &&
                         (out.layout == Layout::kPlain || type.shape.elements() == 1);
    if (type.shape.rank() == rank ? type.layout != out.layout : !spreads) {
      throw fail(ErrorCode::kInvalidArgument, "{} cannot bring {} and {} into one layout", name,
                 in[0].str(), in[1].str());
    }
  }
  return {out};
}

Cost cost(const Binary& a, const Signature& types) {
  return {.flops = traits(a.kind).flops * static_cast<double>(types.out[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.in[1].bytes() + types.out[0].bytes()};
}

// Either input may be overwritten if it is not broadcast: equal bytes alone do not tell where the
// result is bool.
std::vector<Alias> sharing(const Binary&, const Signature& types) {
  std::vector<Alias> result;
  for (const int i : {0, 1}) {
    const TensorType& in = types.in[static_cast<std::size_t>(i)];
    if (in.dtype == types.out[0].dtype && in.shape.elements() == types.out[0].shape.elements()) {
      result.push_back({.output = 0, .input = i});
    }
  }
  return result;
}

template <BinaryKind kKind>
std::vector<ValueId> read_onnx(OnnxNode& node) {
  return {binary(node.builder(), kKind, node.required_input(0), node.required_input(1))};
}

// Of different dtypes the result has the base's; a fraction decides what the power is taken in.
std::vector<ValueId> read_pow(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId base = node.required_input(0);
  const ValueId exponent = node.required_input(1);
  const DType to = b.type(base).dtype;
  const DType other = b.type(exponent).dtype;
  const DType within = core::is_float(to) || !core::is_float(other) ? to : DType::kFloat64;
  return {cast(b, pow(b, cast(b, base, within), cast(b, exponent, within)), to)};
}

// The slope spreads to x, not the other way round.
std::vector<ValueId> read_prelu(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const core::Shape shape = b.type(x).shape;
  const ValueId y = binary(b, BinaryKind::kPRelu, x, node.required_input(1));
  if (b.type(y).shape != shape) {
    throw fail(ErrorCode::kInvalidFile, "the slope of PRelu has more elements than x");
  }
  return {y};
}

std::vector<ValueId> read_shift(OnnxNode& node) {
  const std::string direction = node.string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    throw fail(ErrorCode::kInvalidFile, "unknown direction \"{}\"", direction);
  }
  return {binary(node.builder(),
                 direction == "LEFT" ? BinaryKind::kShiftLeft : BinaryKind::kShiftRight,
                 node.required_input(0), node.required_input(1))};
}

// All bits turned over: -x - 1.
std::vector<ValueId> read_bitwise_not(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  return {sub(b, neg(b, x), scalar(b, b.type(x).dtype, 1))};
}

std::vector<ValueId> read_mod(OnnxNode& node) {
  const bool as_in_c = node.integer("fmod", 0) != 0;
  return {binary(node.builder(), as_in_c ? BinaryKind::kFmod : BinaryKind::kMod,
                 node.required_input(0), node.required_input(1))};
}

// Sum, Mean, Min and Max take one or more inputs.
template <BinaryKind kKind>
ValueId read_chain(OnnxNode& node) {
  ValueId result = node.required_input(0);
  for (std::size_t i = 1; i < node.input_count(); ++i) {
    result = binary(node.builder(), kKind, result, node.required_input(i));
  }
  return result;
}

template <BinaryKind kKind>
std::vector<ValueId> read_chained(OnnxNode& node) {
  return {read_chain<kKind>(node)};
}

std::vector<ValueId> read_mean(OnnxNode& node) {
  const ValueId sum = read_chain<BinaryKind::kAdd>(node);
  return {scale(node.builder(), sum, 1.0 / static_cast<double>(node.input_count()))};
}

template <std::size_t... kIndices>
constexpr std::array<OnnxReadFn, kBinaryKinds> readers_of(std::index_sequence<kIndices...>) {
  return {read_onnx<static_cast<BinaryKind>(kIndices)>...};
}

std::vector<OnnxRule> onnx_rules(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kShiftLeft: return {{.type = "BitShift", .read = read_shift}};
    case BinaryKind::kPRelu: return {{.type = "PRelu", .read = read_prelu}};
    case BinaryKind::kMin: return {{.type = "Min", .read = read_chained<BinaryKind::kMin>}};
    case BinaryKind::kMax: return {{.type = "Max", .read = read_chained<BinaryKind::kMax>}};
    case BinaryKind::kPow: return {{.type = "Pow", .read = read_pow}};
    case BinaryKind::kMod: return {{.type = "Mod", .read = read_mod}};
    default: break;
  }
  if (!traits(kind).in_onnx) return {};
  constexpr auto kReaders = readers_of(std::make_index_sequence<kBinaryKinds>());
  std::vector<OnnxRule> rules = {
      {.type = traits(kind).name, .read = kReaders[static_cast<std::size_t>(kind)]}};
  if (kind == BinaryKind::kAdd) {
    rules.push_back({.type = "Sum", .read = read_chained<BinaryKind::kAdd>});
    rules.push_back({.type = "Mean", .read = read_mean});
  }
  if (kind == BinaryKind::kBitXor) {
    rules.push_back({.type = "BitwiseNot", .read = read_bitwise_not});
  }
  return rules;
}

std::optional<OnnxForm> write_onnx(const Binary& a, const Signature&) {
  if (a.kind == BinaryKind::kFmod) {
    return OnnxForm{.type = "Mod", .attributes = {{"fmod", std::int64_t{1}}}};
  }
  if (a.kind == BinaryKind::kShiftLeft || a.kind == BinaryKind::kShiftRight) {
    const bool left = a.kind == BinaryKind::kShiftLeft;
    return OnnxForm{.type = "BitShift",
                    .attributes = {{"direction", std::string(left ? "LEFT" : "RIGHT")}}};
  }
  if (!traits(a.kind).in_onnx) return std::nullopt;
  return OnnxForm{.type = std::string(traits(a.kind).name)};
}

// A constant operand is trained if it is no scalar; a PRelu's slope always is.
std::vector<InputSlot> slots_of(BinaryKind kind) {
  if (kind == BinaryKind::kPRelu) return {{.input = 1, .slot = Slot::kParameter}};
  return {{.input = 0, .slot = Slot::kElementwise}, {.input = 1, .slot = Slot::kElementwise}};
}

OpCard<Binary> card(BinaryKind kind) {
  return {
      .name = traits(kind).name,
      .infer = infer,
      .gradient = binary_gradient(kind),
      .cost = cost,
      .repeat = Repeat::kExact,
      .alias_rule = sharing,
      .slots = slots_of(kind),
      .onnx = onnx_rules(kind),
      .onnx_form = write_onnx,
      .kernels = {{.name = "simd", .bind = bind_simd_binary},
                  {.name = "reference", .bind = bind_reference_binary}},
  };
}

template <std::size_t... kIndices>
const OpDef& nth_op(BinaryKind kind, std::index_sequence<kIndices...>) {
  static const std::array<TypedOp<Binary>, kBinaryKinds> ops = {
      TypedOp<Binary>(card(static_cast<BinaryKind>(kIndices)))...};
  return ops[static_cast<std::size_t>(kind)];
}

// The layout both operands meet in: that of an operand of full rank for which it matters.
Layout common_layout(const std::array<TensorType, 2>& types) {
  const std::size_t rank = std::max(types[0].shape.rank(), types[1].shape.rank());
  Layout free_choice = Layout::kPlain;
  bool plain_matters = false;
  for (const TensorType& type : types) {
    if (type.shape.rank() != rank) continue;
    const bool matters = !core::layouts_coincide(type.shape);
    if (type.layout == Layout::kChannelsLast) {
      if (matters) return Layout::kChannelsLast;
      free_choice = Layout::kChannelsLast;
    } else if (matters) {
      plain_matters = true;
    }
  }
  return plain_matters ? Layout::kPlain : free_choice;
}

ValueId fitted(GraphBuilder& b, ValueId x, std::size_t rank, Layout layout) {
  const core::Shape shape = b.type(x).shape;
  if (shape.rank() == rank) return to_layout(b, x, layout);
  if (layout == Layout::kPlain || shape.elements() == 1) return to_plain(b, x);
  std::vector<std::int64_t> dims(rank - shape.rank(), 1);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return to_channels_last(b, reshape(b, x, core::Shape(dims)));
}

// A constant exponent of one element.
std::optional<double> constant_scalar(GraphBuilder& b, ValueId id) {
  const TensorType& type = b.type(id);
  if (type.shape.elements() != 1 || !core::is_float(type.dtype)) return std::nullopt;
  const std::optional<ConstantTensor> tensor = b.constant_value(id);
  if (!tensor) return std::nullopt;
  return core::visit_float(type.dtype, [&](auto tag) {
    return static_cast<double>(*tensor->data<typename decltype(tag)::type>());
  });
}

}  // namespace

const OpDef& binary_op(BinaryKind kind) {
  return nth_op(kind, std::make_index_sequence<kBinaryKinds>());
}

ValueId binary(GraphBuilder& b, BinaryKind kind, ValueId a, ValueId c) {
  const std::array<TensorType, 2> types = {b.type(a), b.type(c)};
  const std::size_t rank = std::max(types[0].shape.rank(), types[1].shape.rank());
  const Layout layout = common_layout(types);
  return b.add_one(binary_op(kind), Attrs::of(Binary{.kind = kind}),
                   {fitted(b, a, rank, layout), fitted(b, c, rank, layout)});
}

ValueId add(GraphBuilder& b, ValueId a, ValueId c) { return binary(b, BinaryKind::kAdd, a, c); }

ValueId sub(GraphBuilder& b, ValueId a, ValueId c) { return binary(b, BinaryKind::kSub, a, c); }

ValueId mul(GraphBuilder& b, ValueId a, ValueId c) { return binary(b, BinaryKind::kMul, a, c); }

ValueId div(GraphBuilder& b, ValueId a, ValueId c) { return binary(b, BinaryKind::kDiv, a, c); }

ValueId pow(GraphBuilder& b, ValueId a, ValueId c) {
  // The exponents that exporters write, by cheaper ops.
  const std::optional<double> exponent = constant_scalar(b, c);
  if (exponent && b.type(c).shape.rank() <= b.type(a).shape.rank()) {
    if (*exponent == 0.5) return sqrt(b, a);
    if (*exponent == 1) return a;
    if (*exponent == 2) return mul(b, a, a);
    if (*exponent == 3) return mul(b, mul(b, a, a), a);
  }
  return binary(b, BinaryKind::kPow, a, c);
}

ValueId minimum(GraphBuilder& b, ValueId a, ValueId c) { return binary(b, BinaryKind::kMin, a, c); }

ValueId maximum(GraphBuilder& b, ValueId a, ValueId c) { return binary(b, BinaryKind::kMax, a, c); }

}  // namespace lowtide::ops
