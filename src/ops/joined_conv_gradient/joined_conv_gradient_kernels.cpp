#include "ops/joined_conv_gradient/joined_conv_gradient_kernels.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "kernels/simd/winograd/winograd.h"
#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"
#include "ops/batch_norm_activate/coefficients.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv_kernels.h"

namespace lowtide::ops {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

namespace {

constexpr std::size_t kNumbers = 4;     // of a batch normalisation, for each channel
constexpr std::size_t kMostParts = 16;  // that a kernel lists without allocating

using kernels::NormalizedInput;
using kernels::WinogradInput;

// ---- Winograd: scratch of the plain gradient's kernel, then three arrays by channel for each
// normalised part

std::int64_t array_floats(const TensorType& x) { return x.shape[1] + kernels::kNormalizedMargin; }

Bytes plain_scratch(const JoinedConvGradient& a, const Signature& types) {
  const std::array<TensorType, 2> pair = {joined_type(a, types.in), types.in[0]};
  return weight_gradient_winograd_scratch(a.conv, {pair, types.out}).rounded_up(Bytes(64));
}

Bytes scratch(const JoinedConvGradient& a, const Signature& types) {
  const std::vector<std::size_t> first = part_inputs(a);
  std::int64_t floats = 0;
  for (std::size_t part = 0; part < a.parts.size(); ++part) {
    if (a.parts[part]) floats += 3 * array_floats(types.in[first[part]]);
  }
  return plain_scratch(a, types) + Bytes(floats * static_cast<std::int64_t>(sizeof(float)));
}

// Shapes and places, worked out once.
class OfParts final : public BoundKernel {
 public:
  OfParts(const JoinedConvGradient& a, const Signature& types)
      : a_(a),
        first_(part_inputs(a)),
        in_(types.in.begin(), types.in.end()),
        pair_{joined_type(a, types.in), types.in[0]},
        out_(types.out.begin(), types.out.end()),
        plain_(plain_scratch(a, types)),
        scratch_(ops::scratch(a, types)) {}

  [[nodiscard]] std::string_view name() const override { return "winograd"; }
  [[nodiscard]] Bytes scratch() const override { return scratch_; }

  void run(const Run& run) const override {
    auto* at = reinterpret_cast<float*>(run.scratch.data() + plain_.count());
    std::array<NormalizedInput, kMostParts> made;
    std::array<WinogradInput, kMostParts> inputs{};
    for (std::size_t part = 0; part < a_.parts.size(); ++part) {
      const std::size_t first = first_[part];
      const TensorType& x = in_[first];
      inputs[part] = {.x = run.input<float>(first), .channels = x.shape[1]};
      if (!a_.parts[part]) continue;
      made[part].affine = Coefficients(run, first + 1).affine([&](auto&& value) {
        float* const array = at;
        at += array_floats(x);
        for (std::int64_t c = 0; c < array_floats(x); ++c) {
          array[c] = static_cast<float>(value(c % x.shape[1]));
        }
        return array;
      });
      made[part].f = activation_of(*a_.parts[part]);
      inputs[part].normalize = &made[part];
    }
    run_weight_gradient_winograd_of(
        a_.conv, {pair_, out_}, std::span(inputs).first(a_.parts.size()), run.input<float>(0), run);
  }

 private:
  JoinedConvGradient a_;
  std::vector<std::size_t> first_;
  std::vector<TensorType> in_;
  std::array<TensorType, 2> pair_;
  std::vector<TensorType> out_;
  Bytes plain_;
  Bytes scratch_;
};

std::unique_ptr<BoundKernel> bind_winograd(const JoinedConvGradient& a,
                                           const Signature& types,
                                           const core::Machine&) {
  if (!suits_joined_conv_gradient(a, types)) return nullptr;
  return std::make_unique<OfParts>(a, types);
}

// ---- Reference: makes the whole in scratch, then its gradient

class MakeThenConvolve final : public BoundKernel {
 public:
  MakeThenConvolve(const JoinedConvGradient& a,
                   const Signature& types,
                   const core::Machine& machine)
      : first_(part_inputs(a)) {
    std::vector<TensorType> parts;
    for (std::size_t part = 0; part < a.parts.size(); ++part) {
      parts.push_back(types.in[first_[part]]);
      norms_.push_back(nullptr);
      sizes_.push_back(parts.back().bytes().rounded_up(Bytes(64)));
      if (!a.parts[part]) continue;
      const std::vector<TensorType> made = {parts.back()};
      norms_.back() = batch_norm_activate_op().bind(
          Attrs::of(BatchNormActivate{.activation = *a.parts[part]}),
          {types.in.subspan(first_[part], 1 + kNumbers), made}, machine);
      inner_ = std::max(inner_, norms_.back()->scratch());
    }
    const std::vector<TensorType> whole = {joined_type(a, types.in)};
    join_ = concat_op().bind(Attrs::of(Concat{.axis = 1}), {parts, whole}, machine);
    const std::array<TensorType, 2> pair = {whole[0], types.in[0]};
    gradient_ = conv_weight_gradient_op().bind(Attrs::of(a.conv), {pair, types.out}, machine);
    inner_ = std::max({inner_, join_->scratch(), gradient_->scratch()});
    whole_ = whole[0].bytes().rounded_up(Bytes(64));
    for (const Bytes size : sizes_) made_ += size;
  }

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] Bytes scratch() const override { return whole_ + made_ + inner_; }

  void run(const Run& run) const override {
    std::byte* const whole = run.scratch.data();
    std::byte* made = whole + whole_.count();
    const std::span<std::byte> rest =
        run.scratch.subspan(static_cast<std::size_t>((whole_ + made_).count()));
    std::vector<const std::byte*> parts;
    for (std::size_t part = 0; part < norms_.size(); ++part) {
      parts.push_back(run.in[first_[part]]);
      if (!norms_[part]) continue;
      const std::array<std::byte*, 1> to = {made};
      norms_[part]->run({.in = run.in.subspan(first_[part], 1 + kNumbers),
                         .out = to,
                         .scratch = rest,
                         .step = run.step});
      parts.back() = made;
      made += sizes_[part].count();
    }
    const std::array<std::byte*, 1> to = {whole};
    join_->run({.in = parts, .out = to, .scratch = rest, .step = run.step});
    const std::array<const std::byte*, 2> pair = {whole, run.in[0]};
    gradient_->run({.in = pair, .out = run.out, .scratch = rest, .step = run.step});
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::unique_ptr<BoundKernel>> norms_;  // by part; null where it is as it is
  std::vector<Bytes> sizes_;
  std::unique_ptr<BoundKernel> join_;
  std::unique_ptr<BoundKernel> gradient_;
  Bytes whole_;
  Bytes made_;
  Bytes inner_;
};

std::unique_ptr<BoundKernel> bind_reference(const JoinedConvGradient& a,
                                            const Signature& types,
                                            const core::Machine& machine) {
  return std::make_unique<MakeThenConvolve>(a, types, machine.on_reference());
}

}  // namespace

std::vector<std::size_t> part_inputs(const JoinedConvGradient& a) {
  std::vector<std::size_t> first = {1};
  for (const std::optional<Unary>& part : a.parts) {
    first.push_back(first.back() + 1 + (part ? kNumbers : 0));
  }
  return first;
}

TensorType joined_type(const JoinedConvGradient& a, Types in) {
  const std::vector<std::size_t> first = part_inputs(a);
  std::vector<TensorType> parts;
  for (std::size_t part = 0; part < a.parts.size(); ++part) parts.push_back(in[first[part]]);
  return concat_op().infer(Attrs::of(Concat{.axis = 1}), parts)[0];
}

bool suits_joined_conv_gradient(const JoinedConvGradient& a, const Signature& types) {
  if (a.parts.size() > kMostParts) return false;
  const std::vector<std::size_t> first = part_inputs(a);
  for (std::size_t part = 0; part + 1 < a.parts.size(); ++part) {
    if (types.in[first[part]].shape[1] % kernels::kWinogradInputUnit != 0) return false;
  }
  const TensorType whole = joined_type(a, types.in);
  const std::array<TensorType, 2> pair = {whole, types.in[0]};
  return whole.layout == core::Layout::kChannelsLast &&
         weight_gradient_suits_winograd(a.conv, {pair, types.out});
}

std::vector<Kernel<JoinedConvGradient>> joined_conv_gradient_kernels() {
  return {{.name = "winograd", .bind = bind_winograd},
          {.name = "reference", .bind = bind_reference}};
}

}  // namespace lowtide::ops
