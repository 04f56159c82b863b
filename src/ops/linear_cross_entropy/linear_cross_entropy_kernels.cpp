#include "ops/linear_cross_entropy/linear_cross_entropy_kernels.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "kernels/dnnl/matmul.h"
#include "kernels/simd/product/matmul.h"
#include "kernels/simd/update.h"
#include "ops/computation_kernel.h"
#include "ops/matmul/matmul.h"
#include "ops/planned_kernel.h"
#include "ops/reduce/reduce.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::Machine;
using core::Shape;

constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kLogitsBytes = std::int64_t{96} << 20U;  // that exist at a time

std::size_t aligned(Bytes bytes) {
  return (static_cast<std::size_t>(bytes.count()) + kAlignment - 1) / kAlignment * kAlignment;
}

using Bound = std::unique_ptr<BoundKernel>;

// The kernels of the ops that make up the head, for a number of rows.
struct Portion {
  Bound logits;
  Bound loss;
  Bound logits_gradient;
  Bound hidden_gradient;
  Bound weight_gradient;      // of the first rows
  Bound add_weight_gradient;  // of further ones
  Bound bias_gradient;

  [[nodiscard]] std::size_t scratch() const {
    std::size_t most = 0;
    for (const Bound* const kernel : {&logits, &loss, &logits_gradient, &hidden_gradient,
                                      &weight_gradient, &add_weight_gradient, &bias_gradient}) {
      if (*kernel) most = std::max(most, aligned((*kernel)->scratch()));
    }
    return most;
  }
};

class PortionBinder {
 public:
  PortionBinder(const LinearCrossEntropy& a, const Signature& types, const Machine& machine)
      : a_(a), types_(types), machine_(machine), size_(sizes_of(a, types.in)) {}

  [[nodiscard]] Portion bind(std::int64_t rows) const {
    const TensorType hidden{types_.in[0].dtype, Shape{rows, size_.depth}};
    const TensorType logits{types_.in[0].dtype, Shape{rows, size_.classes}};
    const TensorType& weight = types_.in[1];
    Portion portion;
    std::vector<TensorType> in = {hidden, weight};
    if (a_.bias) in.push_back(types_.in[kBiasInput]);
    portion.logits =
        bind_op(matmul_op(), MatMul{.transpose_b = a_.transposed, .bias = a_.bias}, in);
    std::vector<TensorType> of_loss = {logits, {core::DType::kInt64, Shape{rows}}, types_.in[3]};
    if (a_.loss.has_weights) of_loss.push_back(types_.in[class_weights_input(a_)]);
    portion.loss = bind_op(cross_entropy_op(), a_.loss, of_loss);
    if (!a_.gradients) return portion;
    portion.logits_gradient =
        bind_op(cross_entropy_gradient_op(), CrossEntropyGradient{.loss = a_.loss}, of_loss);
    portion.hidden_gradient =
        bind_op(matmul_op(), MatMul{.transpose_b = !a_.transposed}, {logits, weight});
    if (!a_.learned) return portion;
    portion.weight_gradient =
        bind_op(matmul_op(), MatMul{.transpose_a = true},
                a_.transposed ? std::vector{logits, hidden} : std::vector{hidden, logits});
    portion.add_weight_gradient = bind_adding(rows);
    if (a_.bias) {
      portion.bias_gradient = bind_op(reduce_op(ReduceKind::kSum),
                                      Reduce{.kind = ReduceKind::kSum, .axes = {0}}, {logits});
    }
    return portion;
  }

 private:
  template <class A>
  [[nodiscard]] Bound bind_op(const OpDef& op,
                              const A& attributes,
                              const std::vector<TensorType>& in) const {
    const Attrs attrs = Attrs::of(attributes);
    const std::vector<TensorType> out = op.infer(attrs, in);
    return op.bind(attrs, {in, out}, machine_);
  }

  // The reference needs none.
  [[nodiscard]] Bound bind_adding(std::int64_t rows) const {
    if (machine_.isa == core::Isa::kReference) return nullptr;
    const kernels::MatmulShape shape{.rows = a_.transposed ? size_.classes : size_.depth,
                                     .columns = a_.transposed ? size_.depth : size_.classes,
                                     .depth = rows,
                                     .transpose_a = true,
                                     .add = true};
    if (auto library = bind_computation("dnnl", kernels::make_matmul(shape))) return library;
    const auto run = [](const kernels::MatmulShape& product, const Run& place) {
      kernels::matmul(product, place.input<float>(0), place.input<float>(1), nullptr,
                      place.output<float>(0), reinterpret_cast<float*>(place.scratch.data()));
    };
    const Bytes scratch(kernels::matmul_scratch(shape) * std::int64_t{sizeof(float)});
    return std::make_unique<PlannedKernel<kernels::MatmulShape>>("simd_tiles", run, shape, scratch);
  }

  const LinearCrossEntropy& a_;
  const Signature& types_;
  const Machine& machine_;
  HeadSizes size_;
};

// Runs the head some rows at a time. Scratch holds their logits, which become their gradient, then
// what the kernels of single ops want.
class HeadKernel final : public BoundKernel {
 public:
  HeadKernel(std::string_view name,
             const LinearCrossEntropy& a,
             const Signature& types,
             std::int64_t rows_at_a_time,
             const Machine& machine)
      : name_(name),
        a_(a),
        size_(sizes_of(a, types.in)),
        element_(core::element_bytes(types.in[0].dtype).count()),
        rows_(std::max<std::int64_t>(rows_at_a_time, 1)) {
    const PortionBinder binder(a, types, machine);
    full_ = binder.bind(std::min(rows_, size_.rows));
    if (size_.rows > rows_ && size_.rows % rows_ != 0) rest_ = binder.bind(size_.rows % rows_);
  }

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] Bytes scratch() const override {
    const std::size_t inner = std::max(full_.scratch(), rest_.scratch());
    return Bytes(static_cast<std::int64_t>(logits_bytes() + row_bytes() + inner));
  }

  void run(const Run& run) const override {
    double loss = 0;
    std::int64_t correct = 0;
    for (std::int64_t first = 0; first == 0 || first < size_.rows; first += rows_) {
      const bool whole = size_.rows - first >= std::min(rows_, size_.rows);
      run_portion(whole ? full_ : rest_, run, first);
      loss += *run.output<double>(0);
      correct += *run.output<std::int64_t>(1);
    }
    *run.output<double>(0) = loss;
    *run.output<std::int64_t>(1) = correct;
  }

 private:
  [[nodiscard]] std::size_t logits_bytes() const {
    return aligned(Bytes(std::min(rows_, size_.rows) * size_.classes * element_));
  }

  // One row of classes, for the bias's gradient.
  [[nodiscard]] std::size_t row_bytes() const {
    return a_.bias ? aligned(Bytes(size_.classes * element_)) : 0;
  }

  template <std::size_t kInputs, std::size_t kOutputs>
  void call(const BoundKernel& kernel,
            const Run& run,
            const std::array<const std::byte*, kInputs>& in,
            const std::array<std::byte*, kOutputs>& out) const {
    kernel.run({.in = in,
                .out = out,
                .scratch = run.scratch.subspan(logits_bytes() + row_bytes()),
                .step = run.step});
  }

  void run_portion(const Portion& portion, const Run& run, std::int64_t first) const {
    const std::byte* const hidden = run.in[0] + first * size_.depth * element_;
    const std::byte* const labels =
        run.in[2] + first * static_cast<std::int64_t>(sizeof(std::int64_t));
    std::byte* const logits = run.scratch.data();
    // Those of the optional inputs that are not there are not read.
    const std::byte* const bias = a_.bias ? run.in[kBiasInput] : nullptr;
    const std::byte* const weights =
        a_.loss.has_weights ? run.in[class_weights_input(a_)] : nullptr;
    call(*portion.logits, run, std::array{hidden, run.in[1], bias}, std::array{logits});
    const std::array<const std::byte*, 4> of_loss = {logits, labels, run.in[3], weights};
    call(*portion.loss, run, of_loss, std::array{run.out[0], run.out[1]});
    if (!a_.gradients) return;
    call(*portion.logits_gradient, run, of_loss, std::array{logits});
    call(*portion.hidden_gradient, run, std::array<const std::byte*, 2>{logits, run.in[1]},
         std::array{run.out[2] + first * size_.depth * element_});
    if (a_.learned) learn(portion, run, first, hidden, logits);
  }

  void learn(const Portion& portion,
             const Run& run,
             std::int64_t first,
             const std::byte* hidden,
             const std::byte* logits) const {
    const BoundKernel& product =
        first == 0 ? *portion.weight_gradient : *portion.add_weight_gradient;
    const std::array<const std::byte*, 2> sides = {a_.transposed ? logits : hidden,
                                                   a_.transposed ? hidden : logits};
    call(product, run, sides, std::array{run.out[3]});
    if (!a_.bias) return;
    std::byte* const sum = first == 0 ? run.out[4] : run.scratch.data() + logits_bytes();
    call(*portion.bias_gradient, run, std::array{logits}, std::array{sum});
    if (first == 0) return;
    auto* const total = reinterpret_cast<float*>(run.out[4]);
    kernels::add_floats(total, reinterpret_cast<const float*>(sum), total, size_.classes);
  }

  std::string_view name_;
  LinearCrossEntropy a_;
  HeadSizes size_;
  std::int64_t element_;
  std::int64_t rows_;
  Portion full_;
  Portion rest_;
};

// Portions of equal size as far as that goes.
std::int64_t rows_at_a_time(const LinearCrossEntropy& a, const HeadSizes& size) {
  if (a.portion > 0) return a.portion;
  const std::int64_t row = std::max<std::int64_t>(size.classes, 1) * std::int64_t{sizeof(float)};
  const std::int64_t portions = (size.rows * row + kLogitsBytes - 1) / kLogitsBytes;
  return portions <= 1 ? size.rows : (size.rows + portions - 1) / portions;
}

Bound bind_portions(const LinearCrossEntropy& a, const Signature& types, const Machine& machine) {
  if (types.in[0].dtype != core::DType::kFloat32) return nullptr;
  return std::make_unique<HeadKernel>("portions", a, types,
                                      rows_at_a_time(a, sizes_of(a, types.in)), machine);
}

Bound bind_reference(const LinearCrossEntropy& a, const Signature& types, const Machine& machine) {
  return std::make_unique<HeadKernel>("reference", a, types, sizes_of(a, types.in).rows,
                                      machine.on_reference());
}

}  // namespace

std::vector<Kernel<LinearCrossEntropy>> linear_cross_entropy_kernels() {
  return {{.name = "portions", .bind = bind_portions},
          {.name = "reference", .bind = bind_reference}};
}

}  // namespace lowtide::ops
