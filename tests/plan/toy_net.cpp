#include "plan/toy_net.h"

#include <utility>

#include "core/random.h"
#include "core/text.h"

namespace lowtide::plan {

using core::text;
using graph::Phase;
using graph::Role;

void ToyNet::note_values() {
  while (offsets.size() < graph.value_count()) {
    const graph::Value& value = graph.value(ValueId(offsets.size()));
    const bool placed = graph::is_persistent(value.role) && !value.producer.valid();
    offsets.push_back(placed ? persistent_ : Bytes(-1));
    if (placed) persistent_ += value.type.bytes().rounded_up(kAlignment);
  }
}

ValueId ToyNet::input(const std::string& name, std::int64_t bytes) {
  const ValueId id = graph::GraphBuilder(graph).input(name, bytes_type(bytes));
  note_values();
  return id;
}

ValueId ToyNet::scalar(const std::string& name) {
  const ValueId id = graph::GraphBuilder(graph).input(name, bytes_type(4), Role::kScalar);
  note_values();
  return id;
}

ValueId ToyNet::weight(const std::string& name, std::int64_t bytes, Role role) {
  const ValueId id = graph::GraphBuilder(graph).state(name, bytes_type(bytes), role);
  note_values();
  return id;
}

std::vector<ValueId> ToyNet::add(const graph::OpDef& op,
                                 const std::string& name,
                                 std::vector<ValueId> in,
                                 std::vector<std::int64_t> out,
                                 NodeSettings settings) {
  graph::GraphBuilder builder(graph, phase_);
  builder.set_scope(name);
  const Toy toy{static_cast<std::int64_t>(graph.node_count()), std::move(out), settings.scratch};
  std::vector<ValueId> ids = builder.add(op, graph::Attrs::of(toy), std::move(in));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    graph.value(ids[i]).name = i == 0 ? name : text("{}.{}", name, i);
  }
  graph.node(graph.value(ids[0]).producer).name = name;
  costs.push_back({settings.seconds, Bytes(settings.scratch)});
  note_values();
  return ids;
}

ValueId ToyNet::mix(const std::string& name,
                    std::vector<ValueId> in,
                    std::int64_t bytes,
                    NodeSettings settings) {
  return add(mix_op(), name, std::move(in), {bytes}, settings)[0];
}

ValueId ToyNet::blend(const std::string& name, std::vector<ValueId> in, NodeSettings settings) {
  return add(blend_op(), name, std::move(in), {}, settings)[0];
}

ValueId ToyNet::view(const std::string& name, ValueId in) {
  return add(view_op(), name, {in}, {}, {.seconds = 0})[0];
}

ValueId ToyNet::replace(const std::string& name, ValueId state, std::vector<ValueId> in) {
  in.insert(in.begin(), state);
  const ValueId next = add(replace_op(), name, std::move(in), {})[0];
  graph::GraphBuilder(graph).replace_state(state, next);
  return next;
}

void ToyNet::offer_alternatives(double seconds, const std::function<bool()>& wanted) {
  const std::size_t count = graph.node_count();
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId id(i);
    const graph::Node& node = graph.node(id);
    if (node.op != &mix_op() || node.phase != Phase::kBackward) continue;
    const NodeId producer = graph.value(node.inputs[0]).producer;
    if (!producer.valid() || graph.node(producer).op != &blend_op() || !wanted()) continue;
    const graph::Node& blend = graph.node(producer);
    const Through through{blend.attrs.as<Toy>(), node.attrs.as<Toy>(), blend.inputs.size()};
    graph::Node other{.name = node.name + " through " + blend.name,
                      .op = &mix_through_op(),
                      .attrs = graph::Attrs::of(through),
                      .inputs = blend.inputs,
                      .outputs = node.outputs,
                      .phase = Phase::kBackward,
                      .alternative_to = id};
    other.inputs.insert(other.inputs.end(), node.inputs.begin() + 1, node.inputs.end());
    costs.push_back({costs[id].seconds + seconds, costs[id].scratch});
    graph.add_node(std::move(other));
  }
}

Request ToyNet::request(Bytes arena, Policy policy) const {
  return {graph, costs, offsets, persistent_, arena, policy};
}

std::variant<Plan, Infeasible> ToyNet::make(Bytes arena, Policy policy) const {
  return plan::make(request(arena, policy));
}

Plan ToyNet::plan(Policy policy) const {
  return std::get<Plan>(make(Bytes(std::int64_t{1} << 60U), policy));
}

std::vector<std::string> ToyNet::check(const Plan& plan) const {
  return plan::check(graph, costs, offsets, plan);
}

std::string Trained::fresh(const std::string& kind) { return text("{}{}", kind, count_++); }

ValueId Trained::input(std::int64_t bytes) { return net_.input("x", bytes); }

// Adds up the gradients that meet where a value was read more than once.
void Trained::give(ValueId id, ValueId gradient) {
  const auto [it, first] = gradients_.emplace(id, gradient);
  if (!first) {
    it->second = net_.blend("d_" + net_.graph.value(id).name + "_sum", {it->second, gradient});
  }
}

ValueId Trained::conv(ValueId x, std::int64_t out, std::int64_t weight, double seconds) {
  const std::string name = fresh("conv");
  const ValueId w = net_.weight(name + ".w", weight);
  const ValueId y = net_.mix(name, {x, w}, out, {.seconds = seconds});
  backward_.emplace_back([=, this] {
    const ValueId dy = gradients_.at(y);
    updates_.emplace_back(w, net_.mix("d_" + name + ".w", {x, dy}, weight, {.seconds = seconds}));
    if (!net_.graph.value(x).producer.valid()) return;  // data needs no gradient
    give(x, net_.mix("d_" + name + ".x", {dy, w}, bytes(x), {.seconds = seconds}));
  });
  return y;
}

ValueId Trained::norm(ValueId x) {
  const std::string name = fresh("norm");
  const ValueId w = net_.weight(name + ".w", 256);
  const ValueId running = net_.weight(name + ".running", 256, Role::kStatistic);
  const ValueId stats = net_.add(once_op(), name + ".stats", {x}, {256})[0];
  const ValueId y = net_.blend(name, {x, stats, w});
  net_.replace(name + ".running'", running, {stats});
  backward_.emplace_back([=, this] {
    const ValueId dy = gradients_.at(y);
    updates_.emplace_back(w, net_.mix("d_" + name + ".w", {x, stats, dy}, 256));
    give(x, net_.blend("d_" + name, {dy, x, stats, w}));
  });
  return y;
}

ValueId Trained::relu(ValueId x) {
  const std::string name = fresh("relu");
  const ValueId y = net_.blend(name, {x});
  backward_.emplace_back([=, this] { give(x, net_.blend("d_" + name, {gradients_.at(y), y})); });
  return y;
}

ValueId Trained::pool(ValueId x, std::int64_t out) {
  const std::string name = fresh("pool");
  const std::vector<ValueId> y = net_.add(mix_op(), name, {x}, {out, out / 4});
  backward_.emplace_back([=, this] {
    give(x, net_.mix("d_" + name, {gradients_.at(y[0]), y[1]}, bytes(x)));
  });
  return y[0];
}

ValueId Trained::add(ValueId a, ValueId b) {
  const std::string name = fresh("add");
  const ValueId y = net_.blend(name, {a, b});
  backward_.emplace_back([=, this] {
    const ValueId dy = gradients_.at(y);
    give(a, dy);
    give(b, dy);
  });
  return y;
}

ValueId Trained::flatten(ValueId x) {
  const std::string name = fresh("flat");
  const ValueId y = net_.view(name, x);
  backward_.emplace_back([=, this] { give(x, net_.view("d_" + name, gradients_.at(y))); });
  return y;
}

ToyNet Trained::finish(ValueId last) {
  const ValueId target = net_.input("target", 64);
  const ValueId rate = net_.scalar("rate");
  net_.phase(Phase::kLoss);
  const std::vector<ValueId> loss =
      net_.add(once_op(), "loss", {last, target}, {4, net_.graph.type(last).bytes().count()});
  net_.output(loss[0]);
  net_.phase(Phase::kBackward);
  give(last, loss[1]);
  for (auto it = backward_.rbegin(); it != backward_.rend(); ++it) (*it)();
  net_.phase(Phase::kUpdate);
  for (const auto& [weight, gradient] : updates_) {
    net_.replace(net_.graph.value(weight).name + "'", weight, {gradient, rate});
  }
  return std::move(net_);
}

namespace {

// Bytes of float32 planes.
std::int64_t planes(std::int64_t batch, std::int64_t channels, std::int64_t side) {
  return 4 * batch * channels * side * side;
}

std::int64_t filters(std::int64_t in, std::int64_t out, std::int64_t side) {
  return 4 * in * out * side * side;
}

}  // namespace

ToyNet resnet50(std::int64_t batch) {
  Trained t;
  ValueId x = t.input(planes(batch, 3, 224));
  x = t.relu(t.norm(t.conv(x, planes(batch, 64, 112), filters(3, 64, 7))));
  x = t.pool(x, planes(batch, 64, 56));
  std::int64_t in = 64;
  std::int64_t side = 56;
  const std::vector<std::pair<int, std::int64_t>> stages = {{3, 64}, {4, 128}, {6, 256}, {3, 512}};
  for (const auto& [blocks, width] : stages) {
    for (int block = 0; block < blocks; ++block) {
      const std::int64_t out_side = block == 0 && width > 64 ? side / 2 : side;
      ValueId y = t.relu(t.norm(t.conv(x, planes(batch, width, side), filters(in, width, 1))));
      y = t.relu(t.norm(t.conv(y, planes(batch, width, out_side), filters(width, width, 3))));
      y = t.norm(t.conv(y, planes(batch, 4 * width, out_side), filters(width, 4 * width, 1)));
      if (block == 0) {
        x = t.norm(t.conv(x, planes(batch, 4 * width, out_side), filters(in, 4 * width, 1)));
      }
      x = t.relu(t.add(y, x));
      in = 4 * width;
      side = out_side;
    }
  }
  x = t.flatten(t.pool(x, planes(batch, 2048, 1)));
  return t.finish(t.conv(x, 4 * batch * 1000, filters(2048, 1000, 1)));
}

ToyNet vgg16(std::int64_t batch) {
  Trained t;
  ValueId x = t.input(planes(batch, 3, 224));
  std::int64_t in = 3;
  std::int64_t side = 224;
  const std::vector<std::pair<int, std::int64_t>> stages = {
      {2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
  for (const auto& [layers, width] : stages) {
    for (int layer = 0; layer < layers; ++layer) {
      x = t.relu(t.conv(x, planes(batch, width, side), filters(in, width, 3)));
      in = width;
    }
    side /= 2;
    x = t.pool(x, planes(batch, width, side));
  }
  x = t.flatten(x);
  x = t.relu(t.conv(x, 4 * batch * 4096, filters(25088, 4096, 1)));
  x = t.relu(t.conv(x, 4 * batch * 4096, filters(4096, 4096, 1)));
  return t.finish(t.conv(x, 4 * batch * 1000, filters(4096, 1000, 1)));
}

ToyNet wrn28_2(std::int64_t batch) {
  Trained t;
  ValueId x = t.conv(t.input(planes(batch, 3, 32)), planes(batch, 16, 32), filters(3, 16, 3));
  std::int64_t in = 16;
  std::int64_t side = 32;
  for (const std::int64_t width : {32, 64, 128}) {
    for (int block = 0; block < 4; ++block) {
      const std::int64_t out_side = block == 0 && width > 32 ? side / 2 : side;
      const ValueId a = t.relu(t.norm(x));
      ValueId y = t.conv(a, planes(batch, width, out_side), filters(in, width, 3));
      y = t.relu(t.norm(y));
      y = t.conv(y, planes(batch, width, out_side), filters(width, width, 3));
      if (block == 0) x = t.conv(a, planes(batch, width, out_side), filters(in, width, 1));
      x = t.add(x, y);
      in = width;
      side = out_side;
    }
  }
  x = t.flatten(t.pool(t.relu(t.norm(x)), planes(batch, 128, 1)));
  return t.finish(t.conv(x, 4 * batch * 10, filters(128, 10, 1)));
}

ToyNet chain(int layers, std::int64_t bytes) {
  Trained t;
  ValueId x = t.input(bytes);
  for (int i = 0; i < layers; ++i) x = t.relu(t.conv(x, bytes, 64, 1));
  return t.finish(x);
}

ToyNet random_net(std::uint64_t seed) {
  core::RandomStream random(seed, 7);
  Trained t;
  const auto size = [&] { return static_cast<std::int64_t>(random.below(12)) * 50; };
  std::vector<ValueId> values = {t.input(size() + 1)};
  const auto any = [&] {
    const std::size_t back = random.below(std::min<std::size_t>(values.size(), 4));
    return values[values.size() - 1 - back];
  };
  const std::size_t nodes = 3 + random.below(15);
  ValueId trunk = values[0];
  for (std::size_t i = 0; i < nodes; ++i) {
    const ValueId x = any();
    switch (random.below(6)) {
      case 0: values.push_back(t.norm(x)); break;
      case 1: values.push_back(t.relu(x)); break;
      case 2: values.push_back(t.flatten(x)); break;
      case 3: values.push_back(t.pool(x, size())); break;
      default:
        values.push_back(t.conv(x, size(), 1 + size(), static_cast<double>(1 + random.below(9))));
    }
    // Everything joins the trunk, so that every node gets a gradient.
    trunk = i == 0 ? values.back() : t.add(trunk, values.back());
    if (random.below(3) == 0) values.push_back(trunk);
  }
  ToyNet net = t.finish(trunk);
  net.offer_alternatives(0.1, [&] { return random.below(3) != 0; });
  return net;
}

}  // namespace lowtide::plan
