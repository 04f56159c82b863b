#include "ops/matmul_update/matmul_update_kernels.h"

#include <algorithm>
#include <array>
#include <memory>

#include "ops/gradient_norm/gradient_norm.h"

namespace lowtide::ops {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

MatMulUpdateParts::MatMulUpdateParts(const MatMulUpdate& a, Types in, std::int64_t rows)
    : update_op(a.update.index() == 0 ? sgd_update_op() : adam_update_op()),
      product(Attrs::of(MatMul{.transpose_a = true})),
      update(std::visit([](const auto& attributes) { return Attrs::of(attributes); }, a.update)),
      product_in{{in[0].dtype, {in[0].shape[0], rows}}, in[1]},
      gradient{in[2].dtype, {rows, in[2].shape[1]}},
      update_in{gradient, gradient, in[3]} {
  update_in.insert(update_in.end(), in.size() - 4, gradient);  // the optimizer's state
}

namespace {

constexpr std::int64_t kPanelBytes = std::int64_t{4} << 20U;
constexpr std::size_t kScalarsInput = 3;

// What a parameter's update takes and gives at most: SGD's p, v; Adam's p, m, v.
constexpr std::size_t kStates = 3;

Bytes aligned(Bytes bytes) { return bytes.rounded_up(Bytes(64)); }

std::int64_t panel_rows(const TensorType& parameter) {
  const std::int64_t row = parameter.shape[1] * core::element_bytes(parameter.dtype).count();
  return std::clamp<std::int64_t>(kPanelBytes / std::max<std::int64_t>(row, 1), 1,
                                  std::max<std::int64_t>(parameter.shape[0], 1));
}

using Bound = std::unique_ptr<BoundKernel>;

// Kernels for some rows of the gradient.
struct Rows {
  Rows(const MatMulUpdateParts& parts, const core::Machine& machine) {
    const std::vector<TensorType> gradient = {parts.gradient};
    const std::vector<TensorType> updated = parts.update_op.infer(parts.update, parts.update_in);
    const std::vector<TensorType> of_sum = {{core::DType::kFloat64, {}}};
    product = matmul_op().bind(parts.product, {parts.product_in, gradient}, machine);
    sum = sum_squares_op().bind(Attrs::of(SumSquares{}), {gradient, of_sum}, machine);
    update = parts.update_op.bind(parts.update, {parts.update_in, updated}, machine);
  }

  [[nodiscard]] Bytes scratch() const {
    return std::max({product->scratch(), sum->scratch(), update->scratch()});
  }

  Bound product;
  Bound sum;
  Bound update;
};

// Scratch holds the gradient or a panel of it, the columns of `a` that make a panel, then what the
// kernels of the parts want. Sums of squares are those of panels in both cases.
class MatMulUpdateKernel final : public BoundKernel {
 public:
  MatMulUpdateKernel(std::string_view name,
                     const MatMulUpdate& a,
                     Types in,
                     const core::Machine& machine)
      : name_(name),
        by_panels_(a.by_panels),
        depth_(in[0].shape[0]),
        rows_(in[0].shape[1]),
        together_(panel_rows(in[2])),
        element_(core::element_bytes(in[0].dtype).count()),
        row_bytes_(in[2].shape[1] * element_),
        states_(in.size() - kScalarsInput),
        panel_({a, in, together_}, machine),
        rest_({a, in, rows_ % together_}, machine) {
    if (!by_panels_) {
      const MatMulUpdateParts parts(a, in, rows_);
      const std::vector<TensorType> gradient = {parts.gradient};
      whole_ = matmul_op().bind(parts.product, {parts.product_in, gradient}, machine);
    }
  }

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] Bytes scratch() const override {
    const Bytes inner = std::max(panel_.scratch(), rest_.scratch());
    return gradient_bytes() + columns_bytes() +
           (whole_ ? std::max(inner, whole_->scratch()) : inner);
  }

  void run(const Run& run) const override {
    const std::array<const std::byte*, 2> sides = {run.in[0], run.in[1]};
    std::byte* const gradient = run.scratch.data();
    if (whole_) call(*whole_, run, sides, std::array{gradient});
    double sum = 0;
    for (std::int64_t first = 0; first < rows_; first += together_) {
      const std::int64_t count = std::min(together_, rows_ - first);
      const Rows& kernels = count == together_ ? panel_ : rest_;
      std::byte* at = gradient;
      if (whole_) {
        at += first * row_bytes_;
      } else {
        multiply(kernels, run, first, count);
      }
      double of_panel = 0;
      call(*kernels.sum, run, std::array<const std::byte*, 1>{at},
           std::array{reinterpret_cast<std::byte*>(&of_panel)});
      sum += of_panel;
      update(kernels, run, first, at);
    }
    *run.output<double>(0) = sum;
  }

 private:
  [[nodiscard]] Bytes gradient_bytes() const {
    return aligned(Bytes((by_panels_ ? together_ : rows_) * row_bytes_));
  }
  [[nodiscard]] Bytes columns_bytes() const {
    return by_panels_ ? aligned(Bytes(depth_ * together_ * element_)) : Bytes();
  }

  void call(const BoundKernel& kernel,
            const Run& run,
            std::span<const std::byte* const> in,
            std::span<std::byte* const> out) const {
    const auto own = static_cast<std::size_t>((gradient_bytes() + columns_bytes()).count());
    kernel.run({.in = in, .out = out, .scratch = run.scratch.subspan(own), .step = run.step});
  }

  // Some rows of the gradient, from a copy of the columns of `a` that make them.
  void multiply(const Rows& kernels, const Run& run, std::int64_t first, std::int64_t count) const {
    std::byte* const columns = run.scratch.data() + gradient_bytes().count();
    for (std::int64_t k = 0; k < depth_; ++k) {
      std::copy_n(run.in[0] + (k * rows_ + first) * element_, count * element_,
                  columns + k * count * element_);
    }
    call(*kernels.product, run, std::array<const std::byte*, 2>{columns, run.in[1]},
         std::array{run.scratch.data()});
  }

  void update(const Rows& kernels,
              const Run& run,
              std::int64_t first,
              const std::byte* gradient) const {
    const std::int64_t offset = first * row_bytes_;
    std::array<const std::byte*, kStates + 2> in = {run.in[2] + offset, gradient,
                                                    run.in[kScalarsInput]};
    std::array<std::byte*, kStates> out = {run.out[1] + offset};
    for (std::size_t i = 1; i < states_; ++i) {
      in[i + 2] = run.in[kScalarsInput + i] + offset;
      out[i] = run.out[i + 1] + offset;
    }
    call(*kernels.update, run, std::span(in).first(states_ + 2), std::span(out).first(states_));
  }

  std::string_view name_;
  bool by_panels_;
  std::int64_t depth_;
  std::int64_t rows_;      // of the gradient
  std::int64_t together_;  // that a panel has
  std::int64_t element_;
  std::int64_t row_bytes_;
  std::size_t states_;  // the parameter and the optimizer's
  Rows panel_;
  Rows rest_;  // the last panel
  Bound whole_;
};

Bound bind_parts(const MatMulUpdate& a, const Signature& types, const core::Machine& machine) {
  if (types.in[0].dtype != core::DType::kFloat32) return nullptr;
  return std::make_unique<MatMulUpdateKernel>(a.by_panels ? "panels" : "whole", a, types.in,
                                              machine);
}

Bound bind_reference(const MatMulUpdate& a, const Signature& types, const core::Machine& machine) {
  return std::make_unique<MatMulUpdateKernel>("reference", a, types.in, machine.on_reference());
}

}  // namespace

std::vector<Kernel<MatMulUpdate>> matmul_update_kernels() {
  return {{.name = "parts", .bind = bind_parts}, {.name = "reference", .bind = bind_reference}};
}

}  // namespace lowtide::ops
