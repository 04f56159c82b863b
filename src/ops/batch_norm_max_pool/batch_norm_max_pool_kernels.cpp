#include "ops/batch_norm_max_pool/batch_norm_max_pool_kernels.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ops/batch_norm_activate/batch_norm_activate_kernels.h"
#include "ops/pool/samples.h"

namespace lowtide::ops {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

namespace {

constexpr std::size_t kNumbers = 4;  // of a batch normalisation, for each channel

std::unique_ptr<BoundKernel> bind_forward(const BatchNormMaxPool& a,
                                          const Signature& types,
                                          const core::Machine& machine,
                                          std::string_view name) {
  std::vector<TensorType> in(types.in.begin(), types.in.end());
  in[0] = Samples(in[0]).one();
  auto norm = batch_norm_activate_op().bind(
      Attrs::of(BatchNormActivate{.activation = a.activation}), {in, {in.data(), 1}}, machine);
  return make_then_pool(name, std::move(norm), in[0], a.pool, types, machine);
}

// x, index, dy and the numbers of the channels: what both kernels of the gradient read.
class Backward {
 public:
  Backward(const BatchNormMaxPool& a, const Signature& types, const core::Machine& machine)
      : x_(types.in[0]),
        index_(types.in[1]),
        dy_(types.in[2]),
        channel_(types.in[3]),
        unpool_(bind_unpool(a.pool, index_.one(), dy_.one(), x_.one(), machine)) {}

  [[nodiscard]] const Samples& x() const { return x_; }
  [[nodiscard]] const TensorType& channel() const { return channel_; }
  [[nodiscard]] const BoundKernel* unpool() const { return unpool_.get(); }

  // The types of a sample's x, the gradient behind its activation, and the channels' numbers.
  [[nodiscard]] std::vector<TensorType> types_of_one() const {
    std::vector<TensorType> in(2, x_.one());
    in.insert(in.end(), kNumbers, channel_);
    return in;
  }

  // These tensors of sample i: `made` is where the gradient behind the activation goes.
  void read(const Run& run,
            std::int64_t i,
            std::byte* made,
            std::span<std::byte> rest,
            std::span<const std::byte*> in) const {
    const std::array<const std::byte*, 2> pooled = {index_.at(run.in[1], i), dy_.at(run.in[2], i)};
    const std::array<std::byte*, 1> to = {made};
    unpool_->run({.in = pooled, .out = to, .scratch = rest, .step = run.step});
    in[0] = x_.at(run.in[0], i);
    in[1] = made;
    std::copy_n(run.in.begin() + 3, kNumbers, in.begin() + 2);
  }

 private:
  Samples x_;
  Samples index_;
  Samples dy_;
  TensorType channel_;
  std::unique_ptr<BoundKernel> unpool_;
};

class Reduce final : public BoundKernel {
 public:
  Reduce(const BatchNormMaxPoolReduce& a,
         const Signature& types,
         const core::Machine& machine,
         std::string_view name)
      : name_(name), back_(a.forward, types, machine) {
    const std::vector<TensorType> in = back_.types_of_one();
    reduce_ = batch_norm_activate_reduce_op().bind(
        Attrs::of(BatchNormActivateReduce{.activation = a.forward.activation}), {in, types.out},
        machine);
    const Bytes one = back_.channel().bytes();
    const Bytes sums(channels() * static_cast<std::int64_t>(sizeof(double)));
    scratch_ = SampleScratch<5>({back_.x().one().bytes(), one, one, sums, sums},
                                {back_.unpool(), reduce_.get()});
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Bytes scratch() const override { return scratch_.total(); }

  void run(const Run& run) const override {
    const std::span<std::byte> rest = scratch_.inner(run);
    const std::array<std::byte*, 2> one = {scratch_.part(run, 1), scratch_.part(run, 2)};
    const std::array<double*, 2> sums = {reinterpret_cast<double*>(scratch_.part(run, 3)),
                                         reinterpret_cast<double*>(scratch_.part(run, 4))};
    for (double* const sum : sums) std::fill_n(sum, channels(), 0.0);
    std::array<const std::byte*, 2 + kNumbers> in{};
    core::visit_float(back_.channel().dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t i = 0; i < back_.x().count(); ++i) {
        back_.read(run, i, scratch_.part(run, 0), rest, in);
        reduce_->run({.in = in, .out = one, .scratch = rest, .step = run.step});
        for (std::size_t k = 0; k < sums.size(); ++k) {
          const T* const more = reinterpret_cast<const T*>(one[k]);
          for (std::int64_t c = 0; c < channels(); ++c) sums[k][c] += double{more[c]};
        }
      }
      for (std::size_t k = 0; k < sums.size(); ++k) {
        std::transform(sums[k], sums[k] + channels(), run.output<T>(k),
                       [](double sum) { return static_cast<T>(sum); });
      }
    });
  }

 private:
  [[nodiscard]] std::int64_t channels() const { return back_.channel().shape[0]; }

  std::string_view name_;
  Backward back_;
  std::unique_ptr<BoundKernel> reduce_;
  SampleScratch<5> scratch_;
};

// The kernel of one sample takes its sums for those of all it averages over, so it gets the mean of
// the batch's over the samples.
class InputGradient final : public BoundKernel {
 public:
  InputGradient(const BatchNormMaxPoolInputGradient& a,
                const Signature& types,
                const core::Machine& machine,
                std::string_view name)
      : name_(name), back_(a.forward, types, machine) {
    std::vector<TensorType> in = back_.types_of_one();
    in.insert(in.end(), 2, back_.channel());
    gradient_ = batch_norm_activate_input_gradient_op().bind(
        Attrs::of(BatchNormActivateInputGradient{.activation = a.forward.activation}),
        {in, {&back_.x().one(), 1}}, machine);
    const Bytes one = back_.channel().bytes();
    scratch_ =
        SampleScratch<3>({back_.x().one().bytes(), one, one}, {back_.unpool(), gradient_.get()});
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Bytes scratch() const override { return scratch_.total(); }

  void run(const Run& run) const override {
    const std::span<std::byte> rest = scratch_.inner(run);
    std::array<const std::byte*, 4 + kNumbers> in{};
    const auto samples = static_cast<double>(back_.x().count());
    core::visit_float(back_.channel().dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::size_t k = 0; k < 2; ++k) {
        T* const mean = reinterpret_cast<T*>(scratch_.part(run, 1 + k));
        const T* const sum = run.input<T>(3 + kNumbers + k);
        std::transform(sum, sum + back_.channel().shape[0], mean,
                       [&](T all) { return static_cast<T>(double{all} / samples); });
        in[2 + kNumbers + k] = scratch_.part(run, 1 + k);
      }
    });
    for (std::int64_t i = 0; i < back_.x().count(); ++i) {
      back_.read(run, i, scratch_.part(run, 0), rest, std::span(in).first(2 + kNumbers));
      const std::array<std::byte*, 1> dx = {back_.x().at(run.out[0], i)};
      gradient_->run({.in = in, .out = dx, .scratch = rest, .step = run.step});
    }
  }

 private:
  std::string_view name_;
  Backward back_;
  std::unique_ptr<BoundKernel> gradient_;
  SampleScratch<3> scratch_;
};

}  // namespace

std::vector<Kernel<BatchNormMaxPool>> batch_norm_max_pool_kernels() {
  return by_samples<bind_forward, BatchNormMaxPool>();
}

std::vector<Kernel<BatchNormMaxPoolReduce>> batch_norm_max_pool_reduce_kernels() {
  return by_samples<bind_as<Reduce, BatchNormMaxPoolReduce>, BatchNormMaxPoolReduce>();
}

std::vector<Kernel<BatchNormMaxPoolInputGradient>> batch_norm_max_pool_input_gradient_kernels() {
  return by_samples<bind_as<InputGradient, BatchNormMaxPoolInputGradient>,
                    BatchNormMaxPoolInputGradient>();
}

}  // namespace lowtide::ops
