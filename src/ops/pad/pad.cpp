#include "ops/pad/pad.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/text.h"
#include "ops/movement.h"
#include "ops/pad/center_crop_pad.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

constexpr std::int64_t kNowhere = -1;

// Which place of an axis of `dim` elements the place `at` (0 is the first element, padding lies
// below 0 and from dim on) repeats; kNowhere for a constant.
std::int64_t source_of(std::int64_t at, std::int64_t dim, PadMode mode) {
  const auto modulo = [](std::int64_t a, std::int64_t n) { return (a % n + n) % n; };
  switch (mode) {
    case PadMode::kConstant: return at >= 0 && at < dim ? at : kNowhere;
    case PadMode::kEdge: return std::clamp<std::int64_t>(at, 0, dim - 1);
    case PadMode::kWrap: return modulo(at, dim);
    case PadMode::kReflect: break;
  }
  if (dim == 1) return 0;
  const std::int64_t folded = modulo(at, 2 * (dim - 1));
  return folded < dim ? folded : 2 * (dim - 1) - folded;
}

// For each place along an axis of the padded tensor the place it takes its element from.
std::vector<std::int64_t> sources(const Pad& a, const core::Shape& shape, std::size_t axis) {
  std::vector<std::int64_t> result;
  for (std::int64_t at = -a.before[axis]; at < shape[axis] + a.after[axis]; ++at) {
    result.push_back(source_of(at, shape[axis], a.mode));
  }
  return result;
}

core::Shape padded(const Pad& a, const core::Shape& shape) {
  const auto refuse = [&](const char* why) {
    throw fail(ErrorCode::kInvalidArgument, "cannot pad {} by {} and {}: {}", shape.str(),
               core::text("{}", a.before), core::text("{}", a.after), why);
  };
  if (a.before.size() != shape.rank() || a.after.size() != shape.rank()) {
    refuse("two counts for each axis are needed");
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::vector<std::int64_t> dims = shape.dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    for (const std::int64_t pads : {a.before[i], a.after[i]}) {
      if (pads > kMost || pads < -kMost) refuse("too much");
    }
    dims[i] += a.before[i] + a.after[i];
    if (dims[i] < 0) refuse("more is cut off than there is");
    if (dims[i] > 0 && shape[i] == 0 && a.mode != PadMode::kConstant) {
      refuse("there is nothing to repeat");
    }
  }
  return core::Shape(std::move(dims));
}

std::vector<TensorType> infer(const Pad& a, Types in) {
  return {{in[0].dtype, padded(a, in[0].shape), in[0].layout}};
}

std::vector<std::int64_t> negated(std::vector<std::int64_t> counts) {
  for (std::int64_t& count : counts) count = -count;
  return counts;
}

InputGradients gradient(const Pad& a, GradientContext& g) {
  const ValueId dy = g.out_gradient(0);
  if (a.mode == PadMode::kConstant) {
    return {pad(g.builder(), dy, {.before = negated(a.before), .after = negated(a.after)})};
  }
  return {g.builder().add_one(
      pad_gradient_op(), Attrs::of(PadGradient{.pad = a, .shape = g.type(g.in(0)).shape}), {dy})};
}

// A run of places along one axis whose sources lie `step` apart.
struct Stretch {
  std::int64_t first = 0;
  std::int64_t length = 0;
  std::int64_t source = 0;
  std::int64_t step = 0;
};

std::vector<Stretch> runs_of(const std::vector<std::int64_t>& sources) {
  std::vector<Stretch> runs;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (!runs.empty()) {
      Stretch& run = runs.back();
      const std::int64_t step = sources[i] - sources[i - 1];
      const bool both_here = (sources[i] == kNowhere) == (sources[i - 1] == kNowhere);
      if (both_here && std::abs(step) <= 1 && (run.length == 1 || step == run.step)) {
        run.step = step;
        ++run.length;
        continue;
      }
    }
    runs.push_back({at, 1, sources[i], 0});
  }
  return runs;
}

// One movement for each combination of runs along the axes from `axis` on.
void combine(const std::vector<std::vector<Stretch>>& runs,
             std::size_t axis,
             const Movement& so_far,
             std::vector<Movement>& all) {
  if (axis == runs.size()) {
    all.push_back(so_far);
    return;
  }
  for (const Stretch& run : runs[axis]) {
    Movement next = so_far;
    next.dims[axis] = run.length;
    next.to.first += run.first * next.to.strides[axis];
    if (next.input != Movement::kLiteral && run.source != kNowhere) {
      next.from.first += run.source * next.from.strides[axis];
      next.from.strides[axis] *= run.step;
    } else {
      next.input = Movement::kLiteral;
      next.from = {0, std::vector<std::int64_t>(runs.size(), 0)};
    }
    combine(runs, axis + 1, next, all);
  }
}

std::vector<Movement> movements(const Pad& a, const Signature& types) {
  const core::Shape& shape = types.in[0].shape;
  std::vector<std::vector<Stretch>> runs;
  for (std::size_t i = 0; i < shape.rank(); ++i) runs.push_back(runs_of(sources(a, shape, i)));
  std::vector<Movement> all;
  combine(runs, 0,
          {.dims = shape.dims(),
           .from = view_of(types.in[0]),
           .to = view_of(types.out[0]),
           .literal = literal_of(types.in[0].dtype, a.value)},
          all);
  return all;
}

std::vector<TensorType> infer_gradient(const PadGradient& a, Types in) {
  return {{in[0].dtype, a.shape, in[0].layout}};
}

// Adds every element of dy to where the padding took it from.
class AddToSources final : public BoundKernel {
 public:
  AddToSources(const PadGradient& a, const Signature& types)
      : dtype_(types.in[0].dtype),
        from_(core::strides(types.in[0])),
        to_(core::strides(types.out[0])),
        elements_(a.shape.elements()) {
    for (std::size_t i = 0; i < a.shape.rank(); ++i) {
      sources_.push_back(sources(a.pad, a.shape, i));
    }
  }

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] Bytes scratch() const override { return {}; }

  void run(const Run& run) const override {
    core::visit_float(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::fill_n(run.output<T>(0), elements_, T{0});
      add(0, run.input<T>(0), run.output<T>(0));
    });
  }

 private:
  template <class T>
  void add(std::size_t axis, const T* dy, T* dx) const {
    if (axis == sources_.size()) {
      *dx += *dy;
      return;
    }
    const std::vector<std::int64_t>& along = sources_[axis];
    for (std::size_t i = 0; i < along.size(); ++i) {
      add(axis + 1, dy + static_cast<std::int64_t>(i) * from_[axis], dx + along[i] * to_[axis]);
    }
  }

  core::DType dtype_;
  std::vector<std::int64_t> from_;
  std::vector<std::int64_t> to_;
  std::int64_t elements_;
  std::vector<std::vector<std::int64_t>> sources_;
};

std::unique_ptr<BoundKernel> bind_gradient(const PadGradient& a,
                                           const Signature& types,
                                           const core::Machine&) {
  return std::make_unique<AddToSources>(a, types);
}

PadMode read_mode(const OnnxNode& node) {
  const std::string mode = node.string("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  throw fail(ErrorCode::kUnsupported, "Pad with mode '{}'", mode);
}

// The value has the data's dtype.
double read_value(OnnxNode& node) {
  if (node.has("value")) return static_cast<double>(node.real("value", 0));
  if (!node.input(2).valid()) return 0;
  if (core::is_float(node.builder().type(node.input(2)).dtype)) {
    const auto value = node.constant_reals(2);
    return value && !value->empty() ? value->front() : 0;
  }
  const auto value = node.constant_integers(2);
  return value && !value->empty() ? static_cast<double>(value->front()) : 0;
}

// Before opset 11 pads and value are attributes, from then on inputs; opset 18 adds axes.
std::vector<ValueId> read_onnx(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  const std::size_t rank = b.type(x).shape.rank();
  const auto counts = node.has("pads") ? node.integers("pads") : node.constant_integers(1);
  if (!counts) throw fail(ErrorCode::kInvalidFile, "Pad without pads");
  std::vector<std::size_t> axes;
  if (const auto named = node.constant_integers(3)) {
    for (const std::int64_t axis : *named) axes.push_back(core::normalized_axis(axis, rank));
  } else {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (counts->size() != 2 * axes.size()) {
    throw fail(ErrorCode::kInvalidFile, "Pad has {} counts for {} axes", counts->size(),
               axes.size());
  }
  Pad attributes{.mode = read_mode(node),
                 .before = std::vector<std::int64_t>(rank, 0),
                 .after = std::vector<std::int64_t>(rank, 0),
                 .value = read_value(node)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    attributes.before[axes[i]] = (*counts)[i];
    attributes.after[axes[i]] = (*counts)[axes.size() + i];
  }
  return {pad(b, x, std::move(attributes))};
}

std::optional<OnnxForm> write_onnx(const Pad& a, const Signature& types) {
  const std::array<const char*, 4> names = {"constant", "reflect", "edge", "wrap"};
  std::vector<std::int64_t> counts = a.before;
  counts.insert(counts.end(), a.after.begin(), a.after.end());
  OnnxForm form{.type = "Pad",
                .attributes = {{"mode", names.at(static_cast<std::size_t>(a.mode))}},
                .constant_inputs = {std::move(counts)}};
  if (a.value != 0) form.constant_inputs.emplace_back(OnnxScalar{types.in[0].dtype, a.value});
  return form;
}

}  // namespace

const OpDef& pad_op() {
  static const TypedOp<Pad> op{{
      .name = "Pad",
      .infer = infer,
      .gradient = gradient,
      .cost = cost_of_moving<Pad>,
      .repeat = Repeat::kExact,
      .onnx = {{.type = "Pad", .read = read_onnx},
               {.type = "CenterCropPad", .read = read_center_crop_pad}},
      .onnx_form = write_onnx,
      .kernels = {copies<Pad, movements>(), element_by_element<Pad, movements>()},
  }};
  return op;
}

const OpDef& pad_gradient_op() {
  static const TypedOp<PadGradient> op{{
      .name = "PadGradient",
      .infer = infer_gradient,
      .gradient = not_differentiable,
      .cost = cost_of_moving<PadGradient>,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "reference", .bind = bind_gradient}},
  }};
  return op;
}

ValueId pad(GraphBuilder& b, ValueId x, Pad attributes) {
  const auto is_zero = [](std::int64_t count) { return count == 0; };
  const bool nothing = attributes.before.size() == b.type(x).shape.rank() &&
                       std::all_of(attributes.before.begin(), attributes.before.end(), is_zero) &&
                       std::all_of(attributes.after.begin(), attributes.after.end(), is_zero);
  if (nothing && attributes.after.size() == attributes.before.size()) return x;
  return b.add_one(pad_op(), Attrs::of(std::move(attributes)), {x});
}

}  // namespace lowtide::ops
