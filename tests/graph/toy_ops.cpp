#include "graph/toy_ops.h"

#include <utility>

#include "core/text.h"

namespace lowtide::graph {
namespace {

std::size_t count_of(Types types) { return static_cast<std::size_t>(types[0].shape.elements()); }

std::vector<TensorType> infer_add(const Add&, Types in) {
  if (in.size() != 2 || in[0] != in[1]) {
    throw core::fail(ErrorCode::kInvalidArgument, "cannot add {} and {}", in[0].str(), in[1].str());
  }
  return {in[0]};
}

InputGradients gradient_of_add(const Add&, GradientContext& g) {
  return {g.out_gradient(0), g.out_gradient(0)};
}

Cost cost_of_add(const Add&, const Signature& types) {
  return {.flops = static_cast<double>(count_of(types.in)), .traffic = 3 * types.in[0].bytes()};
}

void run_add(const Add&, const Signature& types, const Run& run) {
  core::visit(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < count_of(types.in); ++i) {
      run.output<T>(0)[i] = static_cast<T>(run.input<T>(0)[i] + run.input<T>(1)[i]);
    }
  });
}

bool long_vectors(const Add&, const Signature& types) { return count_of(types.in) >= 8; }

Bytes scratch_of_add(const Add&, const Signature& types) { return types.in[0].bytes(); }

std::vector<TensorType> infer_fork(const Fork&, Types in) { return {in[0], in[0]}; }

Cost cost_of_fork(const Fork&, const Signature& types) {
  return {.flops = static_cast<double>(count_of(types.in)), .traffic = 3 * types.in[0].bytes()};
}

void run_fork(const Fork& a, const Signature& types, const Run& run) {
  for (std::size_t i = 0; i < count_of(types.in); ++i) {
    run.output<float>(0)[i] = run.input<float>(0)[i];
    run.output<float>(1)[i] = a.factor * run.input<float>(0)[i];
  }
}

std::vector<TensorType> infer_update(const Update&, Types in) { return {in[0]}; }

Cost cost_of_update(const Update&, const Signature& types) {
  return {.flops = 2.0 * static_cast<double>(count_of(types.in)),
          .traffic = 3 * types.in[0].bytes()};
}

void run_update(const Update&, const Signature& types, const Run& run) {
  for (std::size_t i = 0; i < count_of(types.in); ++i) {
    run.output<float>(0)[i] =
        run.input<float>(0)[i] - *run.input<float>(2) * run.input<float>(1)[i];
  }
}

}  // namespace

const OpDef& add_op() {
  static const TypedOp<Add> op{{
      .name = "Add",
      .infer = infer_add,
      .gradient = gradient_of_add,
      .cost = cost_of_add,
      .repeat = Repeat::kExact,
      .aliases = {{.output = 0, .input = 0}, {.output = 0, .input = 1}},
      .kernels =
          {{.name = "long", .supports = long_vectors, .scratch = scratch_of_add, .run = run_add},
           {.name = "reference", .run = run_add}},
  }};
  return op;
}

const OpDef& fork_op() {
  static const TypedOp<Fork> op{{
      .name = "Fork",
      .infer = infer_fork,
      .gradient = not_differentiable,
      .cost = cost_of_fork,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "reference", .run = run_fork}},
  }};
  return op;
}

const OpDef& update_op() {
  static const TypedOp<Update> op{{
      .name = "Update",
      .infer = infer_update,
      .gradient = not_differentiable,
      .cost = cost_of_update,
      .repeat = Repeat::kNever,
      .aliases = {{.output = 0, .input = 0, .sharing = Sharing::kState}},
      .kernels = {{.name = "reference", .run = run_update}},
  }};
  return op;
}

ValueId add(GraphBuilder& b, ValueId x0, ValueId x1) {
  return b.add_one(add_op(), Attrs::of(Add{}), {x0, x1});
}

std::vector<ValueId> fork(GraphBuilder& b, ValueId x, float factor) {
  return b.add(fork_op(), Attrs::of(Fork{factor}), {x});
}

ValueId update(GraphBuilder& b, ValueId parameter, ValueId gradient, ValueId rate) {
  const ValueId next = b.add_one(update_op(), Attrs::of(Update{}), {parameter, gradient, rate});
  b.replace_state(parameter, next);
  return next;
}

TensorType floats(std::int64_t count) { return {core::DType::kFloat32, core::Shape({count})}; }

ConstantTensor tensor(const std::vector<float>& elements) {
  const auto* const first = reinterpret_cast<const std::byte*>(elements.data());
  return {floats(static_cast<std::int64_t>(elements.size())),
          std::make_shared<const std::vector<std::byte>>(first,
                                                         first + elements.size() * sizeof(float))};
}

std::vector<float> elements(const ConstantTensor& tensor) {
  const auto* const first = tensor.data<float>();
  return {first, first + tensor.type.shape.elements()};
}

}  // namespace lowtide::graph
