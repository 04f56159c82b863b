#include "ops/dropout/dropout.h"

#include <cmath>
#include <cstring>
#include <string>

#include "core/random.h"
#include "core/text.h"

namespace lowtide::ops {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): a card is written in graph's words
using core::fail;

void check(const Dropout& a) {
  if (!(a.ratio >= 0 && a.ratio < 1)) {
    throw fail(ErrorCode::kInvalidArgument, "a dropout ratio must lie in [0, 1), not {}", a.ratio);
  }
}

std::vector<TensorType> infer(const Dropout& a, Types in) {
  check(a);
  if (!core::is_float(in[0].dtype)) {
    throw fail(ErrorCode::kInvalidArgument, "cannot drop out elements of {}", in[0].str());
  }
  return {in[0]};
}

std::vector<TensorType> infer_mask(const Dropout& a, Types in) {
  check(a);
  return {{core::DType::kBool, in[0].shape, in[0].layout}};
}

InputGradients gradient(const Dropout& a, GradientContext& g) {
  return {dropout(g.builder(), g.out_gradient(0), a)};
}

// Ten rounds of a few operations for every four elements.
constexpr double kFlopsPerElement = 20;

Cost cost(const Dropout& a, const Signature& types) {
  if (!a.active) return {};
  return {.flops = kFlopsPerElement * static_cast<double>(types.in[0].shape.elements()),
          .traffic = types.in[0].bytes() + types.out[0].bytes()};
}

std::vector<Alias> sharing(const Dropout& a, const Signature&) {
  return {{.output = 0, .input = 0, .sharing = a.active ? Sharing::kInPlace : Sharing::kView}};
}

// A bijection that spreads every bit over all others (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

kernels::DropoutShape shape_of(const TensorType& type) {
  const core::Shape& shape = type.shape;
  kernels::DropoutShape result{.samples = shape.rank() == 0 ? 1 : shape[0]};
  if (shape.elements() == 0) return result;
  result.channels_last = type.layout == core::Layout::kChannelsLast;
  if (result.channels_last) result.channels = shape[1];
  result.pixels = shape.elements() / result.samples / result.channels;
  return result;
}

bool in_float(const Dropout& a, const Signature& types) {
  return a.active && types.in[0].dtype == core::DType::kFloat32;
}

void run_simd(const Dropout& a, const Signature& types, const Run& run) {
  kernels::dropout(run.input<float>(0), run.output<float>(0), static_cast<float>(1 / (1 - a.ratio)),
                   stream_at(a, *run.step), shape_of(types.in[0]));
}

// Calls f(place in memory, whether it is kept) for every element.
template <class F>
void for_each_place(const Dropout& a, const TensorType& type, const StepContext& step, F&& f) {
  const kernels::DropoutStream stream = stream_at(a, step);
  const kernels::DropoutShape shape = shape_of(type);
  const std::int64_t elements = shape.channels * shape.pixels;
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    const std::uint64_t high =
        stream.step << 32U | (stream.first_sample + static_cast<std::uint64_t>(sample));
    for (std::int64_t e = 0; e < elements; ++e) {
      const core::Philox words = core::philox(stream.key, static_cast<std::uint64_t>(e) / 4, high);
      const std::int64_t place =
          shape.channels_last ? e % shape.pixels * shape.channels + e / shape.pixels : e;
      f(sample * elements + place, words[static_cast<std::size_t>(e % 4)] >= stream.threshold);
    }
  }
}

void run_reference(const Dropout& a, const Signature& types, const Run& run) {
  if (!a.active) {
    const auto bytes = static_cast<std::size_t>(types.in[0].bytes().count());
    if (run.in[0] != run.out[0]) std::memcpy(run.out[0], run.in[0], bytes);
    return;
  }
  core::visit_float(types.in[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T factor = static_cast<T>(1 / (1 - a.ratio));
    for_each_place(a, types.in[0], *run.step, [&](std::int64_t i, bool kept) {
      run.output<T>(0)[i] = kept ? run.input<T>(0)[i] * factor : T{0};
    });
  });
}

void run_mask(const Dropout& a, const Signature& types, const Run& run) {
  for_each_place(a, types.in[0], *run.step,
                 [&](std::int64_t i, bool kept) { run.output<bool>(0)[i] = kept || !a.active; });
}

// Before opset 12 the ratio is an attribute; from then on ratio and training mode are inputs. The
// second output is the mask.
std::vector<ValueId> read_onnx(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const ValueId x = node.required_input(0);
  Dropout attributes{.stream = dropout_stream(b.scope())};
  if (node.opset() < 12) {
    attributes.ratio = static_cast<double>(node.real("ratio", 0.5F));
  } else {
    const auto ratio = node.constant_reals(1);
    if (ratio && !ratio->empty()) attributes.ratio = ratio->front();
    const auto training = node.constant_integers(2);
    attributes.active = training && !training->empty() && training->front() != 0;
  }
  std::vector<ValueId> outputs = {dropout(b, x, attributes)};
  if (node.output_used(1)) outputs.push_back(dropout_mask(b, x, attributes));
  return outputs;
}

// An active one draws by its name, which a file need not keep.
std::optional<OnnxForm> write_onnx(const Dropout& a, const Signature&) {
  if (a.active) return std::nullopt;
  return OnnxForm{.type = "Dropout",
                  .constant_inputs = {OnnxScalar{core::DType::kFloat32, a.ratio}}};
}

}  // namespace

const OpDef& dropout_op() {
  static const TypedOp<Dropout> op{{
      .name = "Dropout",
      .infer = infer,
      .gradient = gradient,
      .cost = cost,
      .repeat = Repeat::kExact,
      .alias_rule = sharing,
      .onnx = {{.type = "Dropout", .read = read_onnx}},
      .onnx_form = write_onnx,
      .kernels = {{.name = "simd", .supports = in_float, .run = run_simd},
                  {.name = "reference", .run = run_reference}},
  }};
  return op;
}

const OpDef& dropout_mask_op() {
  static const TypedOp<Dropout> op{{
      .name = "DropoutMask",
      .infer = infer_mask,
      .gradient = not_differentiable,
      .cost = cost,
      .repeat = Repeat::kExact,
      .kernels = {{.name = "reference", .run = run_mask}},
  }};
  return op;
}

ValueId dropout(GraphBuilder& b, ValueId x, Dropout attributes) {
  check(attributes);
  if (attributes.ratio == 0) return x;
  return b.add_one(dropout_op(), Attrs::of(attributes), {x});
}

ValueId dropout_mask(GraphBuilder& b, ValueId x, Dropout attributes) {
  return b.add_one(dropout_mask_op(), Attrs::of(attributes), {x});
}

// FNV-1a, then mixed: the same on every machine, whatever the order of nodes.
std::uint64_t dropout_stream(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return mixed(hash);
}

kernels::DropoutStream stream_at(const Dropout& a, const StepContext& step) {
  constexpr std::uint64_t kLowHalf = 0xFFFFFFFFU;
  return {
      .key = mixed(mixed(step.seed + 0x9E3779B97F4A7C15U) ^ a.stream),
      .step = static_cast<std::uint64_t>(step.step) & kLowHalf,
      .first_sample = static_cast<std::uint64_t>(step.first_sample * a.rows_per_sample) & kLowHalf,
      .threshold = static_cast<std::uint32_t>(std::ldexp(a.ratio, 32))};
}

int activate_dropout(Graph& graph, std::int64_t batch) {
  int count = 0;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    Node& node = graph.node(NodeId(i));
    if (node.op != &dropout_op() && node.op != &dropout_mask_op()) continue;
    if (node.op == &dropout_op()) ++count;
    Dropout attributes = node.attrs.as<Dropout>();
    const core::Shape& shape = graph.type(node.inputs[0]).shape;
    const bool merged = shape.rank() > 0 && batch > 0 && shape[0] % batch == 0;
    attributes.active = true;
    attributes.rows_per_sample = merged && shape[0] > 0 ? shape[0] / batch : 1;
    node.attrs = Attrs::of(attributes);
  }
  return count;
}

}  // namespace lowtide::ops
