#include "ops/recurrence/recurrence.h"

#include <algorithm>
#include <string>

#include "core/text.h"
#include "ops/binary/binary.h"
#include "ops/concat/concat.h"
#include "ops/constant/constant.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/split/split.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"

namespace lowtide::ops {
namespace {

using core::fail;
using core::Shape;
using graph::GraphBuilder;
using graph::OnnxNode;
using graph::ValueId;

ValueId places(GraphBuilder& b, ValueId x, int axis, std::int64_t begin, std::int64_t end) {
  return slice(b, x, {.starts = {begin}, .ends = {end}, .axes = {axis}});
}

// x[i] along the first axis.
ValueId nth(GraphBuilder& b, ValueId x, std::int64_t i) {
  const std::vector<std::int64_t>& dims = b.type(x).shape.dims();
  return reshape(b, places(b, x, 0, i, i + 1), Shape({dims.begin() + 1, dims.end()}));
}

// One direction of the network: its weights, and what it starts with.
struct Direction {
  std::int64_t gates = 1;
  std::int64_t hidden = 0;
  ValueId w;           // (gates * hidden, input)
  ValueId r;           // (gates * hidden, hidden)
  ValueId input_bias;  // (gates * hidden); invalid without biases
  ValueId state_bias;
  ValueId peepholes;  // (3 * hidden), for input, output and forget gate; invalid without
  ValueId h;          // (batch, hidden)
  ValueId c;
};

// How a step goes on from `h` (and `c`): `from_input` is w x + input_bias for the step's x.
using StepFn = void (*)(GraphBuilder& b, Direction& d, ValueId from_input, bool reset_after);

ValueId from_state(GraphBuilder& b, const Direction& d) {
  return gemm(b, d.h, d.r, d.state_bias, {.transpose_b = true});
}

std::vector<ValueId> gates_of(GraphBuilder& b, const Direction& d, ValueId all) {
  const auto count = b.type(all).shape[1] / std::max<std::int64_t>(d.hidden, 1);
  return split(b, all, 1, std::vector<std::int64_t>(static_cast<std::size_t>(count), d.hidden));
}

void step_rnn(GraphBuilder& b, Direction& d, ValueId from_input, bool) {
  d.h = tanh(b, add(b, from_input, from_state(b, d)));
}

// The gates are update, reset and the candidate; with `reset_after` the reset gate meets the
// state's product, else the state itself.
void step_gru(GraphBuilder& b, Direction& d, ValueId from_input, bool reset_after) {
  const std::vector<ValueId> x = gates_of(b, d, from_input);
  Direction first = d;
  Direction last = d;
  first.r = places(b, d.r, 0, 0, 2 * d.hidden);
  last.r = places(b, d.r, 0, 2 * d.hidden, 3 * d.hidden);
  if (d.state_bias.valid()) {
    first.state_bias = places(b, d.state_bias, 0, 0, 2 * d.hidden);
    last.state_bias = places(b, d.state_bias, 0, 2 * d.hidden, 3 * d.hidden);
  }
  const std::vector<ValueId> state = gates_of(b, d, from_state(b, first));
  const ValueId update = sigmoid(b, add(b, x[0], state[0]));
  const ValueId reset = sigmoid(b, add(b, x[1], state[1]));
  if (!reset_after) last.h = mul(b, reset, d.h);
  const ValueId product = from_state(b, last);
  const ValueId candidate = tanh(b, add(b, x[2], reset_after ? mul(b, reset, product) : product));
  d.h = add(b, candidate, mul(b, update, sub(b, d.h, candidate)));
}

// The gates are input, output, forget and the candidate.
void step_lstm(GraphBuilder& b, Direction& d, ValueId from_input, bool) {
  std::vector<ValueId> gates = gates_of(b, d, add(b, from_input, from_state(b, d)));
  const auto peeped = [&](std::size_t gate, int place) {
    if (!d.peepholes.valid()) return gates[gate];
    const ValueId weight = places(b, d.peepholes, 0, place * d.hidden, (place + 1) * d.hidden);
    return add(b, gates[gate], mul(b, weight, d.c));
  };
  const ValueId input = sigmoid(b, peeped(0, 0));
  const ValueId forget = sigmoid(b, peeped(2, 2));
  d.c = add(b, mul(b, forget, d.c), mul(b, input, tanh(b, gates[3])));
  d.h = mul(b, sigmoid(b, peeped(1, 1)), tanh(b, d.c));
}

// ---- What the three have in common

struct Network {
  std::int64_t gates = 1;
  StepFn step = nullptr;
  bool has_cell = false;
};

void check_form(const OnnxNode& node) {
  for (const char* const attribute :
       {"activations", "activation_alpha", "activation_beta", "clip"}) {
    if (node.has(attribute)) throw fail(ErrorCode::kUnsupported, "attribute '{}'", attribute);
  }
  if (node.integer("input_forget", 0) != 0) throw fail(ErrorCode::kUnsupported, "input_forget");
}

// Sequences of different lengths are not unrolled.
void check_lengths(const OnnxNode& node, std::int64_t steps) {
  const auto lengths = node.constant_integers(4);
  if (!lengths) return;
  if (std::any_of(lengths->begin(), lengths->end(), [&](auto n) { return n != steps; })) {
    throw fail(ErrorCode::kUnsupported, "sequences shorter than {}", steps);
  }
}

// An initial state, (directions, batch, hidden), or batch first in the batchwise layout.
ValueId initial(OnnxNode& node, std::size_t input, std::int64_t direction, const Shape& shape) {
  GraphBuilder& b = node.builder();
  ValueId given = node.input(input);
  if (!given.valid()) {
    const ValueId w = node.required_input(1);
    return zeros(b, {b.type(w).dtype, shape, core::Layout::kPlain});
  }
  if (node.integer("layout", 0) != 0) given = transpose(b, given, {1, 0, 2});
  return nth(b, given, direction);
}

Direction make_direction(OnnxNode& node,
                         const Network& network,
                         std::int64_t which,
                         std::int64_t batch) {
  GraphBuilder& b = node.builder();
  Direction d{.gates = network.gates,
              .hidden = b.type(node.required_input(2)).shape[2],
              .w = nth(b, node.required_input(1), which),
              .r = nth(b, node.required_input(2), which)};
  if (node.input(3).valid()) {
    const ValueId both = nth(b, node.input(3), which);
    const std::int64_t half = d.gates * d.hidden;
    d.input_bias = places(b, both, 0, 0, half);
    d.state_bias = places(b, both, 0, half, 2 * half);
  }
  d.h = initial(node, 5, which, Shape{batch, d.hidden});
  if (!network.has_cell) return d;
  d.c = initial(node, 6, which, Shape{batch, d.hidden});
  if (node.input(7).valid()) d.peepholes = nth(b, node.input(7), which);
  return d;
}

// The states after each step, in the order of time.
std::vector<ValueId> run_direction(
    OnnxNode& node, const Network& network, Direction& d, ValueId x, bool backwards) {
  GraphBuilder& b = node.builder();
  const Shape shape = b.type(x).shape;
  const bool reset_after = node.integer("linear_before_reset", 0) != 0;
  const ValueId flat = reshape(b, x, Shape{shape[0] * shape[1], shape[2]});
  const ValueId products = reshape(b, gemm(b, flat, d.w, d.input_bias, {.transpose_b = true}),
                                   Shape{shape[0], shape[1], d.gates * d.hidden});
  std::vector<ValueId> states;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    network.step(b, d, nth(b, products, backwards ? shape[0] - 1 - i : i), reset_after);
    states.push_back(d.h);
  }
  if (backwards) std::reverse(states.begin(), states.end());
  return states;
}

// Values of equal shape along a new axis.
ValueId stacked(GraphBuilder& b, std::vector<ValueId> values, std::size_t axis) {
  for (ValueId& value : values) {
    std::vector<std::int64_t> dims = b.type(value).shape.dims();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    value = reshape(b, value, Shape(std::move(dims)));
  }
  return concat(b, std::move(values), static_cast<std::int64_t>(axis));
}

std::vector<ValueId> read_network(OnnxNode& node, const Network& network) {
  constexpr std::int64_t kMostSteps = 4096;
  GraphBuilder& b = node.builder();
  check_form(node);
  const bool batch_first = node.integer("layout", 0) != 0;
  ValueId x = node.required_input(0);
  if (batch_first) x = transpose(b, x, {1, 0, 2});
  const Shape shape = b.type(x).shape;
  const std::string direction = node.string("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (shape.rank() != 3 || shape[0] < 1 || shape[0] > kMostSteps ||
      b.type(node.required_input(1)).shape[0] != directions) {
    throw fail(ErrorCode::kUnsupported, "{} over {}", node.type(), shape.str());
  }
  check_lengths(node, shape[0]);
  std::vector<ValueId> all;
  std::vector<ValueId> last_h;
  std::vector<ValueId> last_c;
  for (std::int64_t i = 0; i < directions; ++i) {
    Direction d = make_direction(node, network, i, shape[1]);
    const bool backwards = direction == "reverse" || i == 1;
    all.push_back(stacked(b, run_direction(node, network, d, x, backwards), 0));
    last_h.push_back(d.h);
    last_c.push_back(d.c);
  }
  const std::size_t at = batch_first ? 1 : 0;
  ValueId y = stacked(b, std::move(all), 1);
  if (batch_first) y = transpose(b, y, {2, 0, 1, 3});
  std::vector<ValueId> outputs = {y, stacked(b, std::move(last_h), at)};
  if (network.has_cell) outputs.push_back(stacked(b, std::move(last_c), at));
  return outputs;
}

}  // namespace

std::vector<ValueId> read_rnn(OnnxNode& node) {
  return read_network(node, {.gates = 1, .step = step_rnn});
}

std::vector<ValueId> read_gru(OnnxNode& node) {
  return read_network(node, {.gates = 3, .step = step_gru});
}

std::vector<ValueId> read_lstm(OnnxNode& node) {
  return read_network(node, {.gates = 4, .step = step_lstm, .has_cell = true});
}

}  // namespace lowtide::ops
