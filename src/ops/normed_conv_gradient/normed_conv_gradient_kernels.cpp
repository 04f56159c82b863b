#include "ops/normed_conv_gradient/normed_conv_gradient_kernels.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"
#include "ops/batch_norm_activate/coefficients.h"
#include "ops/conv/conv_kernels.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::TensorType;

constexpr std::size_t kCoefficients = 2;  // the first input of the normalisation's numbers
constexpr std::size_t kResidual = 6;

// ---- Fast kernels: scratch of the plain gradient's kernel, then three arrays by channel

std::int64_t array_floats(const Signature& types) {
  return types.in[0].shape[1] + kernels::kNormalizedMargin;
}

using PlainScratch = Bytes (*)(const Conv&, const Signature&);
using PlainRun = void (*)(const Conv&,
                          const Signature&,
                          const Run&,
                          const kernels::NormalizedInput*);

template <bool (*kSuits)(const Conv&, const Signature&)>
bool supports(const NormedConvGradient& a, const Signature& types) {
  return kSuits(a.conv, types);
}

template <PlainScratch kPlain>
Bytes plain_scratch(const NormedConvGradient& a, const Signature& types) {
  return kPlain(a.conv, types).rounded_up(Bytes(64));
}

template <PlainScratch kPlain>
Bytes scratch(const NormedConvGradient& a, const Signature& types) {
  return plain_scratch<kPlain>(a, types) +
         Bytes(3 * array_floats(types) * static_cast<std::int64_t>(sizeof(float)));
}

template <PlainScratch kPlain, PlainRun kRun>
void run(const NormedConvGradient& a, const Signature& types, const Run& run) {
  const std::int64_t channels = types.in[0].shape[1];
  const auto plain = static_cast<std::size_t>(plain_scratch<kPlain>(a, types).count());
  auto* at = reinterpret_cast<float*>(run.scratch.data() + plain);
  const kernels::ChannelAffine affine = Coefficients(run, kCoefficients).affine([&](auto&& value) {
    float* const array = at;
    at += array_floats(types);
    for (std::int64_t c = 0; c < array_floats(types); ++c) {
      array[c] = static_cast<float>(value(c % channels));
    }
    return array;
  });
  const kernels::NormalizedInput normalize{
      .affine = affine,
      .f = activation_of(a.activation),
      .residual = a.residual ? run.input<float>(kResidual) : nullptr};
  kRun(a.conv, types, run, &normalize);
}

// ---- Reference: makes y in scratch, then its gradient

class MakeThenConvolve final : public BoundKernel {
 public:
  MakeThenConvolve(const NormedConvGradient& a,
                   const Signature& types,
                   const core::Machine& machine)
      : residual_(a.residual) {
    const TensorType& x = types.in[0];
    std::vector<TensorType> in = {x};
    in.insert(in.end(), types.in.begin() + kCoefficients, types.in.end());
    const OpDef& norm = a.residual ? batch_norm_add_relu_op() : batch_norm_activate_op();
    const Attrs attrs = a.residual ? Attrs::of(BatchNormAddRelu{})
                                   : Attrs::of(BatchNormActivate{.activation = a.activation});
    const std::vector<TensorType> made = norm.infer(attrs, in);
    norm_ = norm.bind(attrs, {in, made}, machine);
    const std::array<TensorType, 2> pair = {x, types.in[1]};
    gradient_ = conv_weight_gradient_op().bind(Attrs::of(a.conv), {pair, types.out}, machine);
    y_ = made[0].bytes().rounded_up(Bytes(64));
    if (a.residual) mask_ = made[1].bytes().rounded_up(Bytes(64));
  }

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] Bytes scratch() const override {
    return y_ + mask_ + std::max(norm_->scratch(), gradient_->scratch());
  }

  void run(const Run& run) const override {
    std::byte* const y = run.scratch.data();
    const std::array<std::byte*, 2> made = {y, y + y_.count()};
    const std::span<std::byte> rest =
        run.scratch.subspan(static_cast<std::size_t>((y_ + mask_).count()));
    std::array<const std::byte*, kResidual> in = {run.in[0]};
    std::copy(run.in.begin() + kCoefficients, run.in.end(), in.begin() + 1);
    norm_->run({.in = std::span(in).first(run.in.size() - 1),
                .out = std::span(made).first(residual_ ? 2 : 1),
                .scratch = rest,
                .step = run.step});
    const std::array<const std::byte*, 2> pair = {y, run.in[1]};
    gradient_->run({.in = pair, .out = run.out, .scratch = rest, .step = run.step});
  }

 private:
  bool residual_;
  std::unique_ptr<BoundKernel> norm_;
  std::unique_ptr<BoundKernel> gradient_;
  Bytes y_;
  Bytes mask_;
};

std::unique_ptr<BoundKernel> bind_reference(const NormedConvGradient& a,
                                            const Signature& types,
                                            const core::Machine& machine) {
  return std::make_unique<MakeThenConvolve>(a, types, machine.on_reference());
}

}  // namespace

bool suits_normed_conv_gradient(const Conv& a, const Signature& types) {
  return weight_gradient_suits_winograd(a, types) || weight_gradient_suits_tiles(a, types);
}

std::vector<Kernel<NormedConvGradient>> normed_conv_gradient_kernels() {
  return {{.name = "winograd",
           .supports = supports<weight_gradient_suits_winograd>,
           .scratch = scratch<weight_gradient_winograd_scratch>,
           .run = run<weight_gradient_winograd_scratch, run_weight_gradient_winograd_of>},
          {.name = "simd_tiles",
           .supports = supports<weight_gradient_suits_tiles>,
           .scratch = scratch<weight_gradient_tiles_scratch>,
           .run = run<weight_gradient_tiles_scratch, run_weight_gradient_tiles_of>},
          {.name = "reference", .bind = bind_reference}};
}

}  // namespace lowtide::ops
