#include "kernels/simd/update.h"

#include <algorithm>

#include "core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/update.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h: its own order.
#include <hwy/highway.h>

#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lowtide::kernels {
namespace HWY_NAMESPACE {
namespace {

HWY_ATTR void Sgd(const SgdStep& s, const SgdState& state, std::int64_t begin, std::int64_t end) {
  for_each_tag(begin, end, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto p = hn::LoadU(d, state.p + i);
    const auto scaled = hn::Mul(hn::Set(d, s.gradient_scale), hn::LoadU(d, state.gradient + i));
    const auto g = hn::MulAdd(hn::Set(d, s.weight_decay), p, scaled);
    auto direction = g;
    if (state.v != nullptr) {
      const auto momentum = hn::Set(d, s.momentum);
      const auto v = hn::MulAdd(momentum, hn::LoadU(d, state.v + i), g);
      hn::StoreU(v, d, state.v_out + i);
      direction = s.nesterov ? hn::MulAdd(momentum, v, g) : v;
    }
    hn::StoreU(hn::NegMulAdd(hn::Set(d, s.learning_rate), direction, p), d, state.p_out + i);
  });
}

HWY_ATTR void Adam(const AdamStep& s,
                   const AdamState& state,
                   std::int64_t begin,
                   std::int64_t end) {
  const auto beta2 = static_cast<float>(s.beta2);
  const auto rest2 = static_cast<float>(1 - s.beta2);
  const float in_gradient = s.decoupled ? 0 : s.weight_decay;
  const float in_step = s.decoupled ? s.weight_decay : 0;
  for_each_tag(begin, end, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto p = hn::LoadU(d, state.p + i);
    const auto scaled = hn::Mul(hn::Set(d, s.gradient_scale), hn::LoadU(d, state.gradient + i));
    const auto g = hn::MulAdd(hn::Set(d, in_gradient), p, scaled);
    const auto m = hn::MulAdd(hn::Set(d, s.beta1), hn::LoadU(d, state.m + i),
                              hn::Mul(hn::Set(d, s.new_share), g));
    const auto v = hn::MulAdd(hn::Set(d, beta2), hn::LoadU(d, state.v + i),
                              hn::Mul(hn::Set(d, rest2), hn::Mul(g, g)));
    hn::StoreU(m, d, state.m_out + i);
    hn::StoreU(v, d, state.v_out + i);
    const auto root = hn::Sqrt(hn::Mul(v, hn::Set(d, s.correction2)));
    const auto ratio =
        hn::Div(hn::Mul(m, hn::Set(d, s.correction1)), hn::Add(root, hn::Set(d, s.epsilon)));
    const auto direction = hn::MulAdd(hn::Set(d, in_step), p, ratio);
    hn::StoreU(hn::NegMulAdd(hn::Set(d, s.learning_rate), direction, p), d, state.p_out + i);
  });
}

HWY_ATTR void AddFloats(
    const float* sum, const float* x, float* y, std::int64_t begin, std::int64_t end) {
  for_each_tag(begin, end, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), hn::LoadU(d, x + i)), d, y + i);
  });
}

// Double precision: squares of gradients leave the range of float32 long before gradients do.
HWY_ATTR double SumSquares(const float* x, std::int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(narrow, x + i));
    const auto b = hn::PromoteTo(d, hn::LoadU(narrow, x + i + lanes));
    sum0 = hn::MulAdd(a, a, sum0);
    sum1 = hn::MulAdd(b, b, sum1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; i < n; ++i) sum += double{x[i]} * double{x[i]};
  return sum;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lowtide::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lowtide::kernels {

HWY_EXPORT(Sgd);
HWY_EXPORT(Adam);
HWY_EXPORT(AddFloats);
HWY_EXPORT(SumSquares);

namespace {
constexpr std::int64_t kElementsPerThread = 16384;
}

void sgd_step(const SgdStep& step, const SgdState& state, std::int64_t n) {
  core::parallel_for(n, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(Sgd)(step, state, begin, end);
  });
}

void adam_step(const AdamStep& step, const AdamState& state, std::int64_t n) {
  core::parallel_for(n, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(Adam)(step, state, begin, end);
  });
}

void add_floats(const float* sum, const float* x, float* y, std::int64_t n) {
  core::parallel_for(n, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(AddFloats)(sum, x, y, begin, end);
  });
}

double sum_squares(const float* x, std::int64_t n, std::span<double> partial) {
  const auto parts = static_cast<std::int64_t>(partial.size());
  const std::int64_t each = std::max<std::int64_t>((n + parts - 1) / parts, kElementsPerThread);
  const std::int64_t used = (n + each - 1) / each;
  core::parallel_for(used, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part * each;
      partial[static_cast<std::size_t>(part)] =
          HWY_DYNAMIC_DISPATCH(SumSquares)(x + first, std::min(each, n - first));
    }
  });
  double sum = 0;
  for (std::int64_t part = 0; part < used; ++part) sum += partial[static_cast<std::size_t>(part)];
  return sum;
}

}  // namespace lowtide::kernels
#endif  // HWY_ONCE
