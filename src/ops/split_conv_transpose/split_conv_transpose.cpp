#include "ops/split_conv_transpose/split_conv_transpose.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "core/check.h"
#include "kernels/simd/winograd/winograd.h"
#include "ops/conv/conv_kernels.h"
#include "ops/split/split.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words

constexpr std::size_t kMostParts = 16;  // that a kernel lists without allocating

TensorType whole_type(const SplitConvTranspose& a, Types in) {
  return conv_transpose_op().infer(Attrs::of(a.whole), in)[0];
}

std::vector<TensorType> infer(const SplitConvTranspose& a, Types in) {
  LT_CHECK(!a.whole.conv.bias, "the gradient of a convolution's input has no bias");
  const std::vector<TensorType> whole = {whole_type(a, in)};
  return split_op().infer(Attrs::of(Split{.axis = 1, .lengths = a.lengths}), whole);
}

Cost cost(const SplitConvTranspose& a, const Signature& types) {
  const std::vector<TensorType> whole = {whole_type(a, types.in)};
  return conv_transpose_op().cost(Attrs::of(a.whole), {types.in, whole});
}

// ---- Winograd

bool suits(const SplitConvTranspose& a, const Signature& types) {
  const std::vector<TensorType> whole = {whole_type(a, types.in)};
  return a.lengths.size() <= kMostParts &&
         conv_transpose_suits_winograd(a.whole, {types.in, whole});
}

class ToParts final : public BoundKernel {
 public:
  ToParts(const SplitConvTranspose& a, const Signature& types)
      : a_(a),
        in_(types.in.begin(), types.in.end()),
        whole_{whole_type(a, types.in)},
        scratch_(conv_transpose_winograd_scratch(a.whole, {types.in, whole_})) {}

  [[nodiscard]] std::string_view name() const override { return "winograd"; }
  [[nodiscard]] Bytes scratch() const override { return scratch_; }

  void run(const Run& run) const override {
    std::array<kernels::WinogradOutput, kMostParts> parts{};
    for (std::size_t i = 0; i < a_.lengths.size(); ++i) {
      parts[i] = {.y = run.output<float>(i), .channels = a_.lengths[i]};
    }
    run_conv_transpose_winograd_to(a_.whole, {in_, whole_},
                                   std::span(parts).first(a_.lengths.size()), run);
  }

 private:
  SplitConvTranspose a_;
  std::vector<TensorType> in_;
  std::array<TensorType, 1> whole_;
  Bytes scratch_;
};

std::unique_ptr<BoundKernel> bind_winograd(const SplitConvTranspose& a,
                                           const Signature& types,
                                           const core::Machine&) {
  if (!suits(a, types)) return nullptr;
  return std::make_unique<ToParts>(a, types);
}

// ---- Reference: makes the whole in scratch, then cuts it

class MakeThenSplit final : public BoundKernel {
 public:
  MakeThenSplit(const SplitConvTranspose& a, const Signature& types, const core::Machine& machine) {
    const std::vector<TensorType> whole = {whole_type(a, types.in)};
    transpose_ = conv_transpose_op().bind(Attrs::of(a.whole), {types.in, whole}, machine);
    split_ = split_op().bind(Attrs::of(Split{.axis = 1, .lengths = a.lengths}), {whole, types.out},
                             machine);
    whole_ = whole[0].bytes().rounded_up(Bytes(64));
  }

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] Bytes scratch() const override {
    return whole_ + std::max(transpose_->scratch(), split_->scratch());
  }

  void run(const Run& run) const override {
    std::byte* const whole = run.scratch.data();
    const std::span<std::byte> rest = run.scratch.subspan(static_cast<std::size_t>(whole_.count()));
    const std::array<std::byte*, 1> made = {whole};
    const std::array<const std::byte*, 1> cut = {whole};
    transpose_->run({.in = run.in, .out = made, .scratch = rest, .step = run.step});
    split_->run({.in = cut, .out = run.out, .scratch = rest, .step = run.step});
  }

 private:
  std::unique_ptr<BoundKernel> transpose_;
  std::unique_ptr<BoundKernel> split_;
  Bytes whole_;
};

std::unique_ptr<BoundKernel> bind_reference(const SplitConvTranspose& a,
                                            const Signature& types,
                                            const core::Machine& machine) {
  return std::make_unique<MakeThenSplit>(a, types, machine.on_reference());
}

}  // namespace

const OpDef& split_conv_transpose_op() {
  static const TypedOp<SplitConvTranspose> op{{
      .name = "SplitConvTranspose",
      .infer = infer,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "winograd", .bind = bind_winograd},
                  {.name = "reference", .bind = bind_reference}},
  }};
  return op;
}

std::optional<Node> split_conv_transpose(const Graph& graph,
                                         const Node& transpose,
                                         const Node& split) {
  if (transpose.op != &conv_transpose_op() || split.op != &split_op()) return std::nullopt;
  const auto& cut = split.attrs.as<Split>();
  SplitConvTranspose a{.whole = transpose.attrs.as<ConvTranspose>(), .lengths = cut.lengths};
  if (cut.axis != 1 || a.whole.conv.bias) return std::nullopt;
  const std::vector<TensorType> in = graph.types(transpose.inputs);
  const std::vector<TensorType> out = graph.types(split.outputs);
  if (!suits(a, {in, out})) return std::nullopt;
  return Node{.name = transpose.name,
              .op = &split_conv_transpose_op(),
              .attrs = Attrs::of(std::move(a)),
              .inputs = transpose.inputs,
              .outputs = split.outputs,
              .phase = transpose.phase,
              .alternative_to = {}};
}

}  // namespace lowtide::ops
