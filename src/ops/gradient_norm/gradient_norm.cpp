#include "ops/gradient_norm/gradient_norm.h"

#include <cmath>

#include "core/text.h"
#include "kernels/simd/update.h"
#include "ops/scalar.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;
using core::fail;

constexpr std::size_t kParts = 256;  // partial sums, whatever the number of threads

std::vector<TensorType> infer_sum_squares(const SumSquares&, Types in) {
  if (!core::is_float(in[0].dtype)) {
    throw fail(ErrorCode::kInvalidArgument, "{} has no norm", in[0].str());
  }
  return {{DType::kFloat64, {}}};
}

Cost cost_of_sum_squares(const SumSquares&, const Signature& types) {
  return {.flops = 2.0 * static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes()};
}

Bytes scratch_of_sum_squares(const SumSquares&, const Signature&) {
  return Bytes(kParts * sizeof(double));
}

void run_sum_squares(const SumSquares&, const Signature& types, const Run& run) {
  auto* const partial = reinterpret_cast<double*>(run.scratch.data());
  *run.output<double>(0) =
      kernels::sum_squares(run.input<float>(0), types.in[0].shape.elements(), {partial, kParts});
}

void run_sum_squares_reference(const SumSquares&, const Signature& types, const Run& run) {
  double sum = 0;
  for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) {
    const double x = real_input(types, run, 0, i);
    sum += x * x;
  }
  *run.output<double>(0) = sum;
}

std::vector<TensorType> infer_norm(const CombineNorm& a, Types in) {
  for (const TensorType& type : in) {
    LT_CHECK(type.dtype == DType::kFloat64 && type.shape.elements() == 1, "sums of squares");
  }
  return std::vector<TensorType>(a.clip_norm ? 2 : 1, {DType::kFloat32, {}});
}

Cost cost_of_norm(const CombineNorm&, const Signature&) { return {}; }

// A norm that is not a number gives a factor that is none: the step must not look sound.
void run_norm(const CombineNorm& a, const Signature& types, const Run& run) {
  double sum = 0;
  for (std::size_t i = 0; i < types.in.size(); ++i) sum += *run.input<double>(i);
  const double norm = std::sqrt(sum);
  *run.output<float>(0) = static_cast<float>(norm);
  if (!a.clip_norm) return;
  const double factor = *a.clip_norm / (norm + 1e-6);
  *run.output<float>(1) = factor >= 1 ? 1.0F : static_cast<float>(factor);
}

bool is_float32(const SumSquares&, const Signature& types) {
  return types.in[0].dtype == DType::kFloat32;
}

}  // namespace

const OpDef& sum_squares_op() {
  static const TypedOp<SumSquares> op{{
      .name = "SumSquares",
      .infer = infer_sum_squares,
      .gradient = not_differentiable,
      .cost = cost_of_sum_squares,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "simd",
                   .supports = is_float32,
                   .scratch = scratch_of_sum_squares,
                   .run = run_sum_squares},
                  {.name = "reference", .run = run_sum_squares_reference}},
  }};
  return op;
}

const OpDef& combine_norm_op() {
  static const TypedOp<CombineNorm> op{{
      .name = "CombineNorm",
      .infer = infer_norm,
      .gradient = not_differentiable,
      .cost = cost_of_norm,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "reference", .run = run_norm}},
  }};
  return op;
}

ValueId sum_squares(GraphBuilder& b, ValueId x) {
  return b.add_one(sum_squares_op(), Attrs::of(SumSquares{}), {x});
}

Norm combine_norm(GraphBuilder& b, std::vector<ValueId> sums, CombineNorm attributes) {
  const std::vector<ValueId> out = b.add(combine_norm_op(), Attrs::of(attributes), std::move(sums));
  return {.norm = out[0], .clip = attributes.clip_norm ? out[1] : ValueId()};
}

}  // namespace lowtide::ops
