#include "ops/conv_max_pool/conv_max_pool_kernels.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/parallel.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/pool/samples.h"
#include "ops/unary/unary.h"
#include "ops/window.h"

namespace lowtide::ops {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

namespace {

std::unique_ptr<BoundKernel> bind_forward(const ConvMaxPool& a,
                                          const Signature& types,
                                          const core::Machine& machine,
                                          std::string_view name) {
  std::vector<TensorType> in(types.in.begin(), types.in.end());
  in[0] = Samples(in[0]).one();
  const TensorType made = pooled_type(a, in[0], types.out[0].shape[1]);
  return make_then_pool(name, conv_op().bind(Attrs::of(a.conv), {in, {&made, 1}}, machine), made,
                        a.pool, types, machine);
}

class WeightGradient final : public BoundKernel {
 public:
  WeightGradient(const ConvMaxPool& a,
                 const Signature& types,
                 const core::Machine& machine,
                 std::string_view name)
      : name_(name), x_(types.in[0]), index_(types.in[1]), dy_(types.in[2]), dw_(types.out[0]) {
    const TensorType between = pooled_type(a, x_.one(), types.in[2].shape[1]);
    const std::array<TensorType, 2> pair = {x_.one(), between};
    unpool_ = bind_unpool(a.pool, index_.one(), dy_.one(), between, machine);
    gradient_ = conv_weight_gradient_op().bind(Attrs::of(a.conv), {pair, types.out}, machine);
    scratch_ = SampleScratch<2>({between.bytes(), dw_.bytes()}, {unpool_.get(), gradient_.get()});
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Bytes scratch() const override { return scratch_.total(); }

  void run(const Run& run) const override {
    std::fill_n(run.out[0], dw_.bytes().count(), std::byte{0});
    const std::span<std::byte> rest = scratch_.inner(run);
    const std::array<std::byte*, 1> made = {scratch_.part(run, 0)};
    const std::array<std::byte*, 1> dw = {scratch_.part(run, 1)};
    for (std::int64_t i = 0; i < x_.count(); ++i) {
      const std::array<const std::byte*, 2> pooled = {index_.at(run.in[1], i),
                                                      dy_.at(run.in[2], i)};
      const std::array<const std::byte*, 2> pair = {x_.at(run.in[0], i), made[0]};
      unpool_->run({.in = pooled, .out = made, .scratch = rest, .step = run.step});
      gradient_->run({.in = pair, .out = dw, .scratch = rest, .step = run.step});
      add(dw[0], run.out[0]);
    }
  }

 private:
  void add(const std::byte* more, std::byte* sum) const {
    constexpr std::int64_t kGrain = 1 << 14;
    core::visit_float(dw_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* const from = reinterpret_cast<const T*>(more);
      T* const to = reinterpret_cast<T*>(sum);
      core::parallel_for(dw_.shape.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
      });
    });
  }

  std::string_view name_;
  Samples x_;
  Samples index_;
  Samples dy_;
  TensorType dw_;
  std::unique_ptr<BoundKernel> unpool_;
  std::unique_ptr<BoundKernel> gradient_;
  SampleScratch<2> scratch_;
};

class InputGradient final : public BoundKernel {
 public:
  InputGradient(const ConvMaxPoolGradient& a,
                const Signature& types,
                const core::Machine& machine,
                std::string_view name)
      : name_(name), index_(types.in[0]), dy_(types.in[1]), dx_(types.out[0]) {
    const TensorType between = pooled_type(a.forward, dx_.one(), types.in[1].shape[1]);
    const std::array<TensorType, 2> pair = {between, types.in[2]};
    ConvTranspose transpose{.conv = a.forward.conv, .spatial = a.spatial};
    transpose.conv.bias = false;
    unpool_ = bind_unpool(a.forward.pool, index_.one(), dy_.one(), between, machine);
    gradient_ =
        conv_transpose_op().bind(Attrs::of(std::move(transpose)), {pair, {&dx_.one(), 1}}, machine);
    if (a.rectified) bind_gate(machine);
    scratch_ = SampleScratch<2>({between.bytes(), bits_.bytes()},
                                {unpool_.get(), gradient_.get(), gate_.get(), positive_.get()});
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Bytes scratch() const override { return scratch_.total(); }

  void run(const Run& run) const override {
    const std::span<std::byte> rest = scratch_.inner(run);
    const std::array<std::byte*, 1> made = {scratch_.part(run, 0)};
    const std::array<std::byte*, 1> bits = {scratch_.part(run, 1)};
    const std::array<const std::byte*, 2> pair = {made[0], run.in[2]};
    for (std::int64_t i = 0; i < dx_.count(); ++i) {
      const std::array<const std::byte*, 2> pooled = {index_.at(run.in[0], i),
                                                      dy_.at(run.in[1], i)};
      const std::array<std::byte*, 1> dx = {dx_.at(run.out[0], i)};
      if (gate_ != nullptr) {
        const std::array<const std::byte*, 1> x = {dx_.at(run.in[3], i)};
        positive_->run({.in = x, .out = bits, .scratch = rest, .step = run.step});
      }
      unpool_->run({.in = pooled, .out = made, .scratch = rest, .step = run.step});
      gradient_->run({.in = pair, .out = dx, .scratch = rest, .step = run.step});
      if (gate_ != nullptr) {
        const std::array<const std::byte*, 2> gated = {bits[0], dx[0]};
        gate_->run({.in = gated, .out = dx, .scratch = rest, .step = run.step});
      }
    }
  }

 private:
  void bind_gate(const core::Machine& machine) {
    const Types one(&dx_.one(), 1);
    const Attrs positive =
        Attrs::of(RangeMask{.low = 0, .high = std::numeric_limits<double>::quiet_NaN()});
    bits_ = range_mask_op().infer(positive, one)[0];
    positive_ = range_mask_op().bind(positive, {one, {&bits_, 1}}, machine);
    const std::array<TensorType, 2> gated = {bits_, dx_.one()};
    gate_ = mask_gradient_op().bind(Attrs::of(MaskGradient{}), {gated, one}, machine);
  }

  std::string_view name_;
  Samples index_;
  Samples dy_;
  Samples dx_;
  std::unique_ptr<BoundKernel> unpool_;
  std::unique_ptr<BoundKernel> gradient_;
  TensorType bits_{.dtype = core::DType::kOpaque, .shape = core::Shape{0}};
  std::unique_ptr<BoundKernel> positive_;  // notes where x is positive: dx may take its place
  std::unique_ptr<BoundKernel> gate_;
  SampleScratch<2> scratch_;
};

}  // namespace

TensorType pooled_type(const ConvMaxPool& a, const TensorType& x, std::int64_t channels) {
  std::vector<std::int64_t> dims = window_counts(window_of(a.conv), x.shape, Rounding::kDown);
  dims.insert(dims.begin(), {x.shape[0], channels});
  return {x.dtype, core::Shape(std::move(dims)), core::Layout::kChannelsLast};
}

std::vector<Kernel<ConvMaxPool>> conv_max_pool_kernels() {
  return by_samples<bind_forward, ConvMaxPool>();
}

std::vector<Kernel<ConvMaxPool>> conv_max_pool_weight_gradient_kernels() {
  return by_samples<bind_as<WeightGradient, ConvMaxPool>, ConvMaxPool>();
}

std::vector<Kernel<ConvMaxPoolGradient>> conv_max_pool_input_gradient_kernels() {
  return by_samples<bind_as<InputGradient, ConvMaxPoolGradient>, ConvMaxPoolGradient>();
}

}  // namespace lowtide::ops
