// OpDef: all that plan, run, autodiff and the ONNX reader know of an op. OpCard: what an op's
// author writes. TypedOp: the one adapter between them.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine.h"
#include "graph/attrs.h"
#include "graph/kernel.h"
#include "graph/onnx_rule.h"

namespace lowtide::graph {

class GradientContext;
using InputGradients = std::vector<ValueId>;  // one per input; an invalid id means "no gradient"

// What the planner weighs before it has measured: floating-point operations and bytes moved.
struct Cost {
  double flops = 0;
  Bytes traffic;
};

// Whether a node may be executed again to bring a dropped output back.
enum class Repeat : std::uint8_t {
  kExact,  // same inputs, same bits, no side effects
  kNever,  // changes state, or is the loss
};

// How an output may use an input's storage.
enum class Sharing : std::uint8_t {
  kInPlace,  // output may overwrite the input where this node is the input's last reader
  kView,     // output always is the input's storage; the node does no work
  kState,    // output is the new version of a state value and must overwrite the old one
};

struct Alias {
  int output = 0;
  int input = 0;
  Sharing sharing = Sharing::kInPlace;
};

// How many bytes lie between elements matters to no one but kernels; what an input is to its op
// matters to the choice of what to train.
enum class Slot : std::uint8_t {
  kTensor,       // anything
  kParameter,    // a constant here is trained: convolution weights, scales, biases, tables
  kElementwise,  // a constant here is trained if it is no scalar and the other side is computed
  kStatistic,    // a running mean or variance
};

struct InputSlot {
  int input = 0;
  Slot slot = Slot::kParameter;
};

class OpDef {
 public:
  OpDef() = default;
  virtual ~OpDef() = default;
  OpDef(const OpDef&) = delete;
  OpDef& operator=(const OpDef&) = delete;
  OpDef(OpDef&&) = delete;
  OpDef& operator=(OpDef&&) = delete;

  [[nodiscard]] virtual std::string_view name() const = 0;
  // Output types; throws Error(kInvalidArgument) for inputs the op cannot take.
  [[nodiscard]] virtual std::vector<TensorType> infer(const Attrs& attrs, Types in) const = 0;
  [[nodiscard]] virtual bool differentiable() const = 0;
  [[nodiscard]] virtual InputGradients gradient(const Attrs& attrs, GradientContext& g) const = 0;
  [[nodiscard]] virtual Cost cost(const Attrs& attrs, const Signature& types) const = 0;
  [[nodiscard]] virtual Repeat repeat() const = 0;
  // The ways outputs may share storage with inputs, given the types (an in-place pair must have
  // equal bytes).
  [[nodiscard]] virtual std::vector<Alias> aliases(const Attrs& attrs,
                                                   const Signature& types) const = 0;
  [[nodiscard]] virtual std::span<const InputSlot> slots() const = 0;
  // The best kernel the machine and the types allow, ready to run. With `Isa::kReference` the
  // reference one. Never null: the reference kernel takes everything `infer` takes.
  [[nodiscard]] virtual std::unique_ptr<BoundKernel> bind(const Attrs& attrs,
                                                          const Signature& types,
                                                          const core::Machine& machine) const = 0;
  // Every kernel that accepts these types, best first, for tests and benchmarks.
  [[nodiscard]] virtual std::vector<std::unique_ptr<BoundKernel>> bind_all(
      const Attrs& attrs, const Signature& types, const core::Machine& machine) const = 0;
  [[nodiscard]] virtual std::span<const OnnxRule> onnx_rules() const = 0;
  // The node as ONNX writes it, or nothing where it has no ONNX form.
  [[nodiscard]] virtual std::optional<OnnxForm> onnx_form(const Attrs& attrs,
                                                          const Signature& types) const = 0;
};

// A card field that must be given: leaving it out does not compile.
template <class F>
class Required {
 public:
  template <std::convertible_to<F> G>
  constexpr Required(G value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  constexpr operator F() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  F value_;
};

template <class A>
using InferFn = std::vector<TensorType> (*)(const A&, Types in);
template <class A>
using GradientFn = InputGradients (*)(const A&, GradientContext&);
template <class A>
using CostFn = Cost (*)(const A&, const Signature&);
template <class A>
using RunFn = void (*)(const A&, const Signature&, const Run&);
template <class A>
using ScratchFn = Bytes (*)(const A&, const Signature&);

// For the gradient field of ops that have none (backward ops, integer ops).
struct NotDifferentiable {
  template <class A>
  constexpr operator GradientFn<A>() const {  // NOLINT(google-explicit-constructor)
    return nullptr;
  }
};
inline constexpr NotDifferentiable not_differentiable{};  // NOLINT(readability-identifier-naming)

// One way to compute an op. A plain kernel gives `run` (and `scratch`, if it needs any); one that
// prepares objects for its shapes (oneDNN primitives) gives `bind` instead.
template <class A>
struct Kernel {
  std::string_view name;
  bool (*supports)(const A&, const Signature&) = nullptr;  // null: all types; never asks the ISA
  ScratchFn<A> scratch = nullptr;                          // null: none
  RunFn<A> run = nullptr;
  // May return null to decline (for example, no fast implementation on this machine).
  std::unique_ptr<BoundKernel> (*bind)(const A&, const Signature&, const core::Machine&) = nullptr;
};

template <class A>
struct OpCard {
  std::string_view name;
  Required<InferFn<A>> infer;
  Required<GradientFn<A>> gradient;
  Required<CostFn<A>> cost;
  Required<Repeat> repeat;
  std::vector<Alias> aliases = {};  // in-place pairs count only where the bytes are equal
  // Replaces `aliases` where sharing depends on attributes or types.
  std::vector<Alias> (*alias_rule)(const A&, const Signature&) = nullptr;
  std::vector<InputSlot> slots = {};
  std::vector<OnnxRule> onnx = {};
  std::optional<OnnxForm> (*onnx_form)(const A&, const Signature&) = nullptr;
  std::vector<Kernel<A>> kernels;  // best first; the last one is the reference
};

// A plain kernel function with the attributes and types it was chosen for.
template <class A>
class FunctionKernel final : public BoundKernel {
 public:
  FunctionKernel(const Kernel<A>& kernel, A attributes, const Signature& types)
      : name_(kernel.name),
        run_(kernel.run),
        attributes_(std::move(attributes)),
        in_(types.in.begin(), types.in.end()),
        out_(types.out.begin(), types.out.end()),
        scratch_(kernel.scratch == nullptr ? Bytes() : kernel.scratch(attributes_, types)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Bytes scratch() const override { return scratch_; }
  void run(const Run& run) const override { run_(attributes_, {in_, out_}, run); }

 private:
  std::string_view name_;
  RunFn<A> run_;
  A attributes_;
  std::vector<TensorType> in_;
  std::vector<TensorType> out_;
  Bytes scratch_;
};

// Attributes are compared so that equal nodes can share a kernel.
template <std::equality_comparable A>
class TypedOp final : public OpDef {
 public:
  explicit TypedOp(OpCard<A> card) : card_(std::move(card)) {
    LT_CHECK(!card_.kernels.empty(), "an op needs a reference kernel");
  }

  [[nodiscard]] std::string_view name() const override { return card_.name; }

  [[nodiscard]] std::vector<TensorType> infer(const Attrs& attrs, Types in) const override {
    return static_cast<InferFn<A>>(card_.infer)(attrs.as<A>(), in);
  }

  [[nodiscard]] bool differentiable() const override {
    return static_cast<GradientFn<A>>(card_.gradient) != nullptr;
  }

  [[nodiscard]] InputGradients gradient(const Attrs& attrs, GradientContext& g) const override {
    return static_cast<GradientFn<A>>(card_.gradient)(attrs.as<A>(), g);
  }

  [[nodiscard]] Cost cost(const Attrs& attrs, const Signature& types) const override {
    return static_cast<CostFn<A>>(card_.cost)(attrs.as<A>(), types);
  }

  [[nodiscard]] Repeat repeat() const override { return card_.repeat; }

  [[nodiscard]] std::vector<Alias> aliases(const Attrs& attrs,
                                           const Signature& types) const override {
    std::vector<Alias> all =
        card_.alias_rule == nullptr ? card_.aliases : card_.alias_rule(attrs.as<A>(), types);
    std::erase_if(all, [&](const Alias& alias) {
      return types.in[static_cast<std::size_t>(alias.input)].bytes() !=
             types.out[static_cast<std::size_t>(alias.output)].bytes();
    });
    return all;
  }

  [[nodiscard]] std::span<const InputSlot> slots() const override { return card_.slots; }

  [[nodiscard]] std::unique_ptr<BoundKernel> bind(const Attrs& attrs,
                                                  const Signature& types,
                                                  const core::Machine& machine) const override {
    const A& attributes = attrs.as<A>();
    if (machine.isa != core::Isa::kReference) {
      for (const Kernel<A>& kernel : card_.kernels) {
        if (auto bound = try_bind(kernel, attributes, types, machine)) return bound;
      }
    }
    auto reference = try_bind(card_.kernels.back(), attributes, types, machine);
    LT_CHECK(reference != nullptr, "the reference kernel must accept every type");
    return reference;
  }

  [[nodiscard]] std::vector<std::unique_ptr<BoundKernel>> bind_all(
      const Attrs& attrs, const Signature& types, const core::Machine& machine) const override {
    std::vector<std::unique_ptr<BoundKernel>> all;
    for (const Kernel<A>& kernel : card_.kernels) {
      if (auto bound = try_bind(kernel, attrs.as<A>(), types, machine)) {
        all.push_back(std::move(bound));
      }
    }
    return all;
  }

  [[nodiscard]] std::span<const OnnxRule> onnx_rules() const override { return card_.onnx; }

  [[nodiscard]] std::optional<OnnxForm> onnx_form(const Attrs& attrs,
                                                  const Signature& types) const override {
    return card_.onnx_form == nullptr ? std::nullopt : card_.onnx_form(attrs.as<A>(), types);
  }

 private:
  static std::unique_ptr<BoundKernel> try_bind(const Kernel<A>& kernel,
                                               const A& attributes,
                                               const Signature& types,
                                               const core::Machine& machine) {
    if (kernel.supports != nullptr && !kernel.supports(attributes, types)) return nullptr;
    if (kernel.bind != nullptr) return kernel.bind(attributes, types, machine);
    return std::make_unique<FunctionKernel<A>>(kernel, attributes, types);
  }

  OpCard<A> card_;
};

}  // namespace lowtide::graph
