#include "ops/binary/binary_kernels.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "kernels/simd/elementwise_binary.h"
#include "ops/loops.h"
#include "ops/planned_kernel.h"

namespace lowtide::ops {
namespace {

using kernels::BinaryFunction;

std::optional<BinaryFunction> simd_function(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd: return BinaryFunction::kAdd;
    case BinaryKind::kSub: return BinaryFunction::kSub;
    case BinaryKind::kMul: return BinaryFunction::kMul;
    case BinaryKind::kDiv: return BinaryFunction::kDiv;
    case BinaryKind::kPow: return BinaryFunction::kPow;
    case BinaryKind::kMin: return BinaryFunction::kMin;
    case BinaryKind::kMax: return BinaryFunction::kMax;
    case BinaryKind::kPRelu: return BinaryFunction::kPRelu;
    case BinaryKind::kPReluSlope: return BinaryFunction::kPReluSlope;
    case BinaryKind::kShare: return BinaryFunction::kShare;
    case BinaryKind::kSame: return BinaryFunction::kSame;
    case BinaryKind::kPowBase: return BinaryFunction::kPowBase;
    case BinaryKind::kPowExponent: return BinaryFunction::kPowExponent;
    case BinaryKind::kMod:
    case BinaryKind::kFmod:
    case BinaryKind::kBitAnd:
    case BinaryKind::kBitOr:
    case BinaryKind::kBitXor:
    case BinaryKind::kShiftLeft:
    case BinaryKind::kShiftRight:
    case BinaryKind::kEqual:
    case BinaryKind::kLess:
    case BinaryKind::kLessOrEqual:
    case BinaryKind::kGreater:
    case BinaryKind::kGreaterOrEqual:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor: break;
  }
  return std::nullopt;
}

struct SimdPlan {
  BinaryFunction function = BinaryFunction::kAdd;
  std::vector<kernels::BroadcastLoop> loops;
};

void run_simd(const SimdPlan& plan, const graph::Run& run) {
  kernels::binary(plan.function, run.input<float>(0), run.input<float>(1), run.output<float>(0),
                  plan.loops);
}

template <class T>
T float_value(BinaryKind kind, T a, T c) {
  switch (kind) {
    case BinaryKind::kAdd: return a + c;
    case BinaryKind::kSub: return a - c;
    case BinaryKind::kMul: return a * c;
    case BinaryKind::kDiv: return a / c;
    case BinaryKind::kPow: return std::pow(a, c);
    case BinaryKind::kFmod: return std::fmod(a, c);
    case BinaryKind::kMod: return a - c * std::floor(a / c);
    case BinaryKind::kMin: return std::isnan(a) || std::isnan(c) ? a + c : std::min(a, c);
    case BinaryKind::kMax: return std::isnan(a) || std::isnan(c) ? a + c : std::max(a, c);
    case BinaryKind::kPRelu: return a > 0 ? a : a * c;
    case BinaryKind::kPReluSlope: return a > 0 ? T{1} : c;
    case BinaryKind::kShare: return a < c ? T{0} : a == c ? T{0.5} : T{1};
    case BinaryKind::kSame: return a == c ? T{1} : T{0};
    case BinaryKind::kPowBase: return c == 0 ? T{0} : c * std::pow(a, c - 1);
    case BinaryKind::kPowExponent: return a == 0 && c >= 0 ? T{0} : std::pow(a, c) * std::log(a);
    default: break;
  }
  LT_CHECK(false, "a kind without a number");
}

// Integers wrap around, as their kernels in other frameworks do; in 64 unsigned bits nothing is
// undefined.
template <class T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0)
      return base == 1 ? T{1} : base == -1 ? (exponent % 2 == 0 ? T{1} : base) : T{0};
  }
  std::uint64_t result = 1;
  auto square = static_cast<std::uint64_t>(base);
  for (auto left = static_cast<std::uint64_t>(exponent); left > 0; left /= 2) {
    if (left % 2 == 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <class T>
T integer_quotient(T a, T c) {
  if (c == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (c == -1) return static_cast<T>(0 - static_cast<std::uint64_t>(a));
  }
  return static_cast<T>(a / c);
}

template <class T>
T integer_value(BinaryKind kind, T a, T c) {
  const auto wide_a = static_cast<std::uint64_t>(a);
  const auto wide_c = static_cast<std::uint64_t>(c);
  constexpr std::uint64_t kWidth = 8 * sizeof(T);
  const auto left_over = [&] {
    return static_cast<T>(wide_a - static_cast<std::uint64_t>(integer_quotient(a, c)) * wide_c);
  };
  switch (kind) {
    case BinaryKind::kAdd: return static_cast<T>(wide_a + wide_c);
    case BinaryKind::kSub: return static_cast<T>(wide_a - wide_c);
    case BinaryKind::kMul: return static_cast<T>(wide_a * wide_c);
    case BinaryKind::kDiv: return integer_quotient(a, c);
    case BinaryKind::kPow: return integer_power(a, c);
    case BinaryKind::kFmod: return c == 0 ? T{0} : left_over();
    case BinaryKind::kMod: {
      if (c == 0) return 0;
      const T rest = left_over();
      return rest != 0 && (rest < 0) != (c < 0) ? static_cast<T>(rest + c) : rest;
    }
    case BinaryKind::kMin: return std::min(a, c);
    case BinaryKind::kMax: return std::max(a, c);
    case BinaryKind::kPRelu: return a > 0 ? a : static_cast<T>(wide_a * wide_c);
    case BinaryKind::kBitAnd: return static_cast<T>(a & c);
    case BinaryKind::kBitOr: return static_cast<T>(a | c);
    case BinaryKind::kBitXor: return static_cast<T>(a ^ c);
    case BinaryKind::kShiftLeft: return wide_c < kWidth ? static_cast<T>(wide_a << wide_c) : T{0};
    case BinaryKind::kShiftRight: return wide_c < kWidth ? static_cast<T>(a >> c) : T{0};
    default: break;
  }
  LT_CHECK(false, "a kind without a whole number");
}

template <class T>
bool truth(BinaryKind kind, T a, T c) {
  switch (kind) {
    case BinaryKind::kEqual: return a == c;
    case BinaryKind::kLess: return a < c;
    case BinaryKind::kLessOrEqual: return a <= c;
    case BinaryKind::kGreater: return a > c;
    case BinaryKind::kGreaterOrEqual: return a >= c;
    default: break;
  }
  if constexpr (std::is_same_v<T, bool>) {
    if (kind == BinaryKind::kAnd) return a && c;
    if (kind == BinaryKind::kOr) return a || c;
    if (kind == BinaryKind::kXor) return a != c;
  }
  LT_CHECK(false, "a kind without a truth value");
}

struct ReferencePlan {
  BinaryKind kind = BinaryKind::kAdd;
  core::DType in = core::DType::kFloat32;
  core::DType out = core::DType::kFloat32;
  std::vector<Loop<2>> loops;
};

void run_reference(const ReferencePlan& plan, const graph::Run& run) {
  core::visit(plan.in, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const left = run.input<T>(0);
    const T* const right = run.input<T>(1);
    const auto fill = [&](auto* out, auto&& f) {
      for_each_element<2>(plan.loops, [&](const std::array<std::int64_t, 2>& at) {
        *out++ = f(plan.kind, left[at[0]], right[at[1]]);
      });
    };
    if (plan.out == core::DType::kBool) {
      fill(run.output<bool>(0), truth<T>);
    } else if constexpr (std::is_floating_point_v<T>) {
      fill(run.output<T>(0), float_value<T>);
    } else if constexpr (!std::is_same_v<T, bool>) {
      fill(run.output<T>(0), integer_value<T>);
    }
  });
}

}  // namespace

std::unique_ptr<graph::BoundKernel> bind_simd_binary(const Binary& a,
                                                     const graph::Signature& types,
                                                     const core::Machine&) {
  const std::optional<BinaryFunction> function = simd_function(a.kind);
  if (!function || types.out[0].dtype != core::DType::kFloat32) return nullptr;
  SimdPlan plan{.function = *function, .loops = {}};
  for (const Loop<2>& loop : merged_loops<2>(types.out[0], {types.in[0], types.in[1]})) {
    plan.loops.push_back({.length = loop.length, .a = loop.steps[0], .b = loop.steps[1]});
  }
  if (plan.loops.size() > kernels::kMaxBroadcastLoops) return nullptr;
  return std::make_unique<PlannedKernel<SimdPlan>>("simd", run_simd, std::move(plan));
}

std::unique_ptr<graph::BoundKernel> bind_reference_binary(const Binary& a,
                                                          const graph::Signature& types,
                                                          const core::Machine&) {
  return std::make_unique<PlannedKernel<ReferencePlan>>(
      "reference", run_reference,
      ReferencePlan{.kind = a.kind,
                    .in = types.in[0].dtype,
                    .out = types.out[0].dtype,
                    .loops = merged_loops<2>(types.out[0], {types.in[0], types.in[1]})});
}

}  // namespace lowtide::ops
