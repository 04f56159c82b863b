#include "ops/cast/cast.h"

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/parallel.h"
#include "core/text.h"
#include "ops/cast/quantization.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;

std::vector<TensorType> infer(const Cast& a, Types in) {
  if (in[0].dtype == DType::kOpaque || a.to == DType::kOpaque) {
    throw fail(ErrorCode::kInvalidArgument, "cannot cast {} to {}", in[0].str(), core::name(a.to));
  }
  return {{a.to, in[0].shape, in[0].layout}};
}

InputGradients gradient(const Cast&, GradientContext& g) {
  return {cast(g.builder(), g.out_gradient(0), g.type(g.in(0)).dtype)};
}

Cost cost(const Cast&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.out[0].bytes()};
}

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(x)) return 0;
    // The bounds as floats may be rounded up beyond the type: not to be converted back.
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

void run_cast(const Cast& a, const Signature& types, const Run& run) {
  constexpr std::int64_t kElementsPerThread = 16384;
  const std::int64_t count = types.in[0].shape.elements();
  core::visit(types.in[0].dtype, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    core::visit(a.to, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      const From* const x = run.input<From>(0);
      To* const y = run.output<To>(0);
      core::parallel_for(count, kElementsPerThread, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = converted<To>(x[i]);
      });
    });
  });
}

// ONNX's numbers for element types (TensorProto.DataType).
struct OnnxType {
  std::int64_t code = 0;
  DType dtype = DType::kFloat32;
};

constexpr std::array<OnnxType, 11> kOnnxTypes = {{{1, DType::kFloat32},
                                                  {2, DType::kUint8},
                                                  {3, DType::kInt8},
                                                  {4, DType::kUint16},
                                                  {5, DType::kInt16},
                                                  {6, DType::kInt32},
                                                  {7, DType::kInt64},
                                                  {9, DType::kBool},
                                                  {11, DType::kFloat64},
                                                  {12, DType::kUint32},
                                                  {13, DType::kUint64}}};

std::vector<ValueId> read_cast(OnnxNode& node) {
  return {cast(node.builder(), node.required_input(0), dtype_of_onnx(node.integer("to", 0)))};
}

std::vector<ValueId> read_cast_like(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  return {cast(b, node.required_input(0), b.type(node.required_input(1)).dtype)};
}

std::optional<OnnxForm> write_onnx(const Cast& a, const Signature&) {
  for (const OnnxType& type : kOnnxTypes) {
    if (type.dtype == a.to) return OnnxForm{.type = "Cast", .attributes = {{"to", type.code}}};
  }
  return std::nullopt;
}

}  // namespace

const OpDef& cast_op() {
  static const TypedOp<Cast> op{{
      .name = "Cast",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "Cast", .read = read_cast},
               {.type = "CastLike", .read = read_cast_like},
               {.type = "QuantizeLinear", .read = read_quantize},
               {.type = "DequantizeLinear", .read = read_dequantize},
               {.type = "DynamicQuantizeLinear", .read = read_dynamic_quantize},
               {.type = "MatMulInteger", .read = read_matmul_integer},
               {.type = "QLinearMatMul", .read = read_quantized_matmul},
               {.type = "ConvInteger", .read = read_conv_integer},
               {.type = "QLinearConv", .read = read_quantized_conv}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "reference", .run = run_cast}},
  }};
  return op;
}

DType dtype_of_onnx(std::int64_t code) {
  constexpr std::int64_t kFloat16 = 10;
  constexpr std::int64_t kBfloat16 = 16;
  if (code == kFloat16 || code == kBfloat16) return DType::kFloat32;
  for (const OnnxType& type : kOnnxTypes) {
    if (type.code == code) return type.dtype;
  }
  throw fail(ErrorCode::kUnsupported, "element type {}; networks are exported in float32", code);
}

ValueId cast(GraphBuilder& b, ValueId x, DType to) {
  if (b.type(x).dtype == to) return x;
  return b.add_one(cast_op(), Attrs::of(Cast{.to = to}), {x});
}

}  // namespace lowtide::ops
