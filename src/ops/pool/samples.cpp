#include "ops/pool/samples.h"

#include <utility>

#include "core/check.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

constexpr std::size_t kMostInputs = 8;  // that a kernel lists without allocating

class MakeThenPool final : public BoundKernel {
 public:
  MakeThenPool(std::string_view name,
               std::unique_ptr<BoundKernel> maker,
               const TensorType& made,
               const Pool& pool,
               const Signature& types,
               const core::Machine& machine)
      : name_(name),
        x_(types.in[0]),
        y_(types.out[0]),
        index_(types.out[1]),
        maker_(std::move(maker)),
        pool_(max_pool_op().bind(Attrs::of(pool), {{&made, 1}, {&y_.one(), 1}}, machine)),
        places_(
            max_pool_index_op().bind(Attrs::of(pool), {{&made, 1}, {&index_.one(), 1}}, machine)),
        scratch_({made.bytes()}, {maker_.get(), pool_.get(), places_.get()}) {
    LT_CHECK(types.in.size() <= kMostInputs, "few inputs");
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Bytes scratch() const override { return scratch_.total(); }

  void run(const Run& run) const override {
    const std::span<std::byte> rest = scratch_.inner(run);
    const std::array<std::byte*, 1> made = {scratch_.part(run, 0)};
    const std::array<const std::byte*, 1> read = {made[0]};
    std::array<const std::byte*, kMostInputs> in{};
    std::copy(run.in.begin(), run.in.end(), in.begin());
    for (std::int64_t i = 0; i < x_.count(); ++i) {
      in[0] = x_.at(run.in[0], i);
      const std::array<std::byte*, 1> y = {y_.at(run.out[0], i)};
      const std::array<std::byte*, 1> index = {index_.at(run.out[1], i)};
      maker_->run({.in = std::span(in).first(run.in.size()),
                   .out = made,
                   .scratch = rest,
                   .step = run.step});
      pool_->run({.in = read, .out = y, .scratch = rest, .step = run.step});
      places_->run({.in = read, .out = index, .scratch = rest, .step = run.step});
    }
  }

 private:
  std::string_view name_;
  Samples x_;
  Samples y_;
  Samples index_;
  std::unique_ptr<BoundKernel> maker_;
  std::unique_ptr<BoundKernel> pool_;
  std::unique_ptr<BoundKernel> places_;
  SampleScratch<1> scratch_;
};

}  // namespace

std::unique_ptr<BoundKernel> bind_unpool(const Pool& pool,
                                         const TensorType& index,
                                         const TensorType& dy,
                                         const TensorType& read,
                                         const core::Machine& machine) {
  const std::vector<std::int64_t>& dims = read.shape.dims();
  const std::array<TensorType, 2> in = {index, dy};
  return max_pool_gradient_op().bind(
      Attrs::of(PoolGradient{.pool = pool, .spatial = {dims.begin() + 2, dims.end()}}),
      {in, {&read, 1}}, machine);
}

std::unique_ptr<BoundKernel> make_then_pool(std::string_view name,
                                            std::unique_ptr<BoundKernel> maker,
                                            const TensorType& made,
                                            const Pool& pool,
                                            const Signature& types,
                                            const core::Machine& machine) {
  return std::make_unique<MakeThenPool>(name, std::move(maker), made, pool, types, machine);
}

}  // namespace lowtide::ops
