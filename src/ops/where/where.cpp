#include "ops/where/where.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "kernels/select.h"
#include "ops/constant/constant.h"
#include "ops/layout/layout.h"
#include "ops/loops.h"
#include "ops/planned_kernel.h"
#include "ops/reduce/reduce.h"
#include "ops/where/choices.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;
using core::Layout;

core::Shape result_shape(const TensorType& condition, const TensorType& a, const TensorType& c) {
  return core::broadcast(condition.shape, core::broadcast(a.shape, c.shape));
}

std::vector<TensorType> infer(const Where& attributes, Types in) {
  if (in[0].dtype != core::DType::kBool || in[1].dtype != in[2].dtype) {
    throw fail(ErrorCode::kInvalidArgument, "cannot choose by {} between {} and {}", in[0].str(),
               in[1].str(), in[2].str());
  }
  return {{in[1].dtype, result_shape(in[0], in[1], in[2]), attributes.layout}};
}

// What is not chosen has a gradient of zero.
InputGradients gradient(const Where&, GradientContext& g) {
  GraphBuilder& b = g.builder();
  InputGradients result(3);
  const ValueId dy = g.out_gradient(0);
  if (!g.needs(1) && !g.needs(2)) return result;
  const ValueId zero = zeros(b, {g.type(dy).dtype, core::Shape{}, Layout::kPlain});
  if (g.needs(1)) result[1] = sum_to(b, where(b, g.in(0), dy, zero), g.type(g.in(1)).shape);
  if (g.needs(2)) result[2] = sum_to(b, where(b, g.in(0), zero, dy), g.type(g.in(2)).shape);
  return result;
}

Cost cost(const Where&, const Signature& types) {
  return {.flops = static_cast<double>(types.out[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.in[1].bytes() + types.in[2].bytes() +
                     types.out[0].bytes()};
}

// A choice that is not broadcast may be overwritten.
std::vector<Alias> sharing(const Where&, const Signature& types) {
  std::vector<Alias> all;
  for (const int i : {1, 2}) {
    const TensorType& type = types.in[static_cast<std::size_t>(i)];
    if (type == types.out[0]) all.push_back({.output = 0, .input = i});
  }
  return all;
}

struct Plan {
  std::int64_t element_bytes = 0;
  std::vector<kernels::SelectLoop> loops;
};

std::unique_ptr<BoundKernel> bind_select(const Where&,
                                         const Signature& types,
                                         const core::Machine&) {
  Plan plan{.element_bytes = core::element_bytes(types.out[0].dtype).count(), .loops = {}};
  for (const auto& loop : merged_loops<3>(types.out[0], {types.in[0], types.in[1], types.in[2]})) {
    plan.loops.push_back({loop.length, loop.steps});
  }
  const auto run = [](const Plan& p, const Run& r) {
    kernels::select(r.input<std::uint8_t>(0), r.in[1], r.in[2], r.out[0], p.element_bytes, p.loops);
  };
  return std::make_unique<PlannedKernel<Plan>>("select", run, std::move(plan));
}

struct ReferencePlan {
  core::DType dtype = core::DType::kFloat32;
  std::vector<Loop<3>> loops;
};

void run_reference(const ReferencePlan& plan, const Run& run) {
  core::visit(plan.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = run.output<T>(0);
    for_each_element<3>(plan.loops, [&](const std::array<std::int64_t, 3>& at) {
      *to++ = run.input<bool>(0)[at[0]] ? run.input<T>(1)[at[1]] : run.input<T>(2)[at[2]];
    });
  });
}

std::unique_ptr<BoundKernel> bind_reference(const Where&,
                                            const Signature& types,
                                            const core::Machine&) {
  return std::make_unique<PlannedKernel<ReferencePlan>>(
      "reference", run_reference,
      ReferencePlan{types.out[0].dtype,
                    merged_loops<3>(types.out[0], {types.in[0], types.in[1], types.in[2]})});
}

std::vector<ValueId> read_onnx(OnnxNode& node) {
  return {where(node.builder(), node.required_input(0), node.required_input(1),
                node.required_input(2))};
}

std::optional<OnnxForm> write_onnx(const Where&, const Signature&) {
  return OnnxForm{.type = "Where"};
}

}  // namespace

const OpDef& where_op() {
  static const TypedOp<Where> op{{
      .name = "Where",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .alias_rule = sharing,
      .onnx = {{.type = "Where", .read = read_onnx},
               {.type = "OneHot", .read = read_one_hot},
               {.type = "Shrink", .read = read_shrink},
               {.type = "ThresholdedRelu", .read = read_thresholded_relu}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "select", .bind = bind_select},
                  {.name = "reference", .bind = bind_reference}},
  }};
  return op;
}

ValueId where(GraphBuilder& b, ValueId condition, ValueId a, ValueId c) {
  std::vector<ValueId> in = {condition, a, c};
  const std::size_t rank = result_shape(b.type(condition), b.type(a), b.type(c)).rank();
  const auto decides = [&](ValueId id) {
    const TensorType& type = b.type(id);
    return type.shape.rank() == rank && type.layout == Layout::kChannelsLast;
  };
  const Layout layout =
      std::any_of(in.begin(), in.end(), decides) ? Layout::kChannelsLast : Layout::kPlain;
  for (ValueId& id : in) {
    if (b.type(id).shape.rank() == rank) id = to_layout(b, id, layout);
  }
  return b.add_one(where_op(), Attrs::of(Where{.layout = layout}), std::move(in));
}

}  // namespace lowtide::ops
