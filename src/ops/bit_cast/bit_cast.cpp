#include "ops/bit_cast/bit_cast.h"

#include <cstring>

#include "core/text.h"
#include "ops/cast/cast.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;

std::vector<TensorType> infer(const BitCast& a, Types in) {
  const DType from = in[0].dtype;
  if (core::element_bytes(from) != core::element_bytes(a.to) || from == DType::kOpaque ||
      a.to == DType::kOpaque || a.to == DType::kBool) {
    throw core::fail(ErrorCode::kInvalidArgument, "cannot read the bits of {} as {}", in[0].str(),
                     core::name(a.to));
  }
  return {{a.to, in[0].shape, in[0].layout}};
}

Cost cost(const BitCast&, const Signature&) { return {}; }

void run_reference(const BitCast&, const Signature& types, const Run& run) {
  if (run.in[0] == run.out[0]) return;
  std::memcpy(run.out[0], run.in[0], static_cast<std::size_t>(types.in[0].bytes().count()));
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  return {bit_cast(node.builder(), node.required_input(0), dtype_of_onnx(node.integer("to", 0)))};
}

}  // namespace

const OpDef& bit_cast_op() {
  static const TypedOp<BitCast> op{{
      .name = "BitCast",
      .infer = infer,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0, .sharing = Sharing::kView}},
      .onnx = {{.type = "BitCast", .read = read_onnx}},
      .kernels = {{.name = "reference", .run = run_reference}},
  }};
  return op;
}

ValueId bit_cast(GraphBuilder& b, ValueId x, DType to) {
  if (b.type(x).dtype == to) return x;
  return b.add_one(bit_cast_op(), Attrs::of(BitCast{.to = to}), {x});
}

}  // namespace lowtide::ops
