#include "ops/predicate/predicate.h"

#include <array>
#include <cmath>

#include "core/text.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::DType;

// In the order of PredicateKind; ONNX's names too.
constexpr std::array<std::string_view, 3> kNames = {"Not", "IsNaN", "IsInf"};

std::string_view name(PredicateKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::vector<TensorType> infer(const Predicate& a, Types in) {
  const bool is_bool = in[0].dtype == DType::kBool;
  if (a.kind == PredicateKind::kNot ? !is_bool : !core::is_float(in[0].dtype)) {
    throw core::fail(ErrorCode::kInvalidArgument, "{} cannot take {}", name(a.kind), in[0].str());
  }
  return {{DType::kBool, in[0].shape, in[0].layout}};
}

Cost cost(const Predicate&, const Signature& types) {
  return {.flops = static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.out[0].bytes()};
}

template <class T>
bool holds(const Predicate& a, T x) {
  if constexpr (std::is_same_v<T, bool>) return !x;
  const auto number = static_cast<double>(x);
  if (a.kind == PredicateKind::kIsNaN) return std::isnan(number);
  return std::isinf(number) && (number < 0 ? a.negative : a.positive);
}

void run_reference(const Predicate& a, const Signature& types, const Run& run) {
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const x = run.input<T>(0);
    bool* const y = run.output<bool>(0);
    for (std::int64_t i = 0; i < types.in[0].shape.elements(); ++i) y[i] = holds(a, x[i]);
  });
}

// Bool from bool may overwrite it; elsewhere the bytes differ but for tensors without elements.
std::vector<Alias> sharing(const Predicate& a, const Signature&) {
  if (a.kind != PredicateKind::kNot) return {};
  return {{.output = 0, .input = 0}};
}

ValueId apply(GraphBuilder& b, Predicate a, ValueId x) {
  return b.add_one(predicate_op(a.kind), Attrs::of(a), {x});
}

std::vector<ValueId> read_not(OnnxNode& node) {
  return {logical_not(node.builder(), node.required_input(0))};
}

std::vector<ValueId> read_is_nan(OnnxNode& node) {
  return {is_nan(node.builder(), node.required_input(0))};
}

std::vector<ValueId> read_is_inf(OnnxNode& node) {
  const Predicate a{.kind = PredicateKind::kIsInf,
                    .negative = node.integer("detect_negative", 1) != 0,
                    .positive = node.integer("detect_positive", 1) != 0};
  return {apply(node.builder(), a, node.required_input(0))};
}

std::optional<OnnxForm> write_onnx(const Predicate& a, const Signature&) {
  OnnxForm form{.type = std::string(name(a.kind))};
  if (a.kind == PredicateKind::kIsInf) {
    form.attributes = {{"detect_negative", std::int64_t{a.negative}},
                       {"detect_positive", std::int64_t{a.positive}}};
  }
  return form;
}

OpCard<Predicate> card(PredicateKind kind) {
  constexpr std::array<OnnxReadFn, 3> kReaders = {read_not, read_is_nan, read_is_inf};
  return {
      .name = name(kind),
      .infer = infer,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .alias_rule = sharing,
      .onnx = {{.type = name(kind), .read = kReaders[static_cast<std::size_t>(kind)]}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "reference", .run = run_reference}},
  };
}

}  // namespace

const OpDef& predicate_op(PredicateKind kind) {
  static const std::array<TypedOp<Predicate>, 3> ops = {
      TypedOp<Predicate>(card(PredicateKind::kNot)),
      TypedOp<Predicate>(card(PredicateKind::kIsNaN)),
      TypedOp<Predicate>(card(PredicateKind::kIsInf))};
  return ops[static_cast<std::size_t>(kind)];
}

ValueId logical_not(GraphBuilder& b, ValueId x) {
  return apply(b, {.kind = PredicateKind::kNot}, x);
}

ValueId is_nan(GraphBuilder& b, ValueId x) { return apply(b, {.kind = PredicateKind::kIsNaN}, x); }

ValueId is_inf(GraphBuilder& b, ValueId x) { return apply(b, {.kind = PredicateKind::kIsInf}, x); }

}  // namespace lowtide::ops
