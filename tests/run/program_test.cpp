// Bound programs against the same graph without any plan, bit by bit, under every policy.
#include "run/program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "autodiff/differentiate.h"
#include "core/parallel.h"
#include "graph/evaluate.h"
#include "memory/arena.h"
#include "memory/spill/store.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/matmul/matmul.h"
#include "ops/pool/pool.h"
#include "ops/reshape/reshape.h"
#include "ops/unary/unary.h"
#include "optim/updates.h"
#include "plan/planner.h"
#include "run/costs.h"
#include "support/allocation_counter.h"
#include "support/tensors.h"

namespace lowtide::run {
namespace {

using core::DType;
using core::Shape;
using graph::ConstantTensor;
using graph::Graph;
using graph::GraphBuilder;
using graph::Role;
using graph::ValueId;
using support::tensor;
using support::wave;

// A training step of a small residual network: convolutions, batch norm, pooling, a shared branch.
class TrainingGraph {
 public:
  TrainingGraph() {
    GraphBuilder b(graph);
    images_ = b.input("images", {DType::kFloat32, Shape{4, 3, 8, 8}});
    labels_ = b.input("labels", {DType::kInt64, Shape{4}});
    normalizer_ = b.input("normalizer", {DType::kFloat32, Shape{}}, Role::kScalar);
    ValueId x =
        norm(b, "bn0", ops::conv(b, images_, weight(b, "w0", Shape{8, 3, 3, 3}), {}, kSame));
    for (const char* const name : {"w1", "w2", "w3"}) {
      const ValueId y = ops::conv(b, x, weight(b, name, Shape{8, 8, 3, 3}), {}, kSame);
      x = ops::relu(b, ops::add(b, norm(b, std::string("bn.") + name, y), x));
    }
    x = ops::max_pool(b, x, {.kernel = {2, 2}, .strides = {2, 2}});
    x = ops::reshape(b, x, Shape{4, 8 * 16});
    x = ops::gemm(b, x, weight(b, "fc", Shape{128, 5}), weight(b, "fc.bias", Shape{5}));
    b.set_phase(graph::Phase::kLoss);
    const ops::LossValues loss = ops::cross_entropy(b, x, labels_, normalizer_, {});
    graph.outputs() = {loss.loss, loss.correct, x};
    const autodiff::Seed seed{.output = loss.loss, .gradient = {}};
    const std::vector<ValueId> gradients = autodiff::differentiate(b, {&seed, 1}, parameters_);
    std::vector<optim::Trained> trained;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      trained.push_back({parameters_[i], gradients[i]});
    }
    b.set_phase(graph::Phase::kUpdate);
    const OptimizerSettings settings{.lr = 0.1, .momentum = 0.9};
    scalars_ = optim::add_updates(b, trained, settings).scalars;
    scalar_values_ = optim::scalars_for(settings, 0.1, 1);
  }

  [[nodiscard]] std::map<ValueId, ConstantTensor> inputs() const {
    return {{images_, tensor(Shape{4, 3, 8, 8}, wave<float>(4 * 3 * 64))},
            {labels_, tensor(Shape{4}, std::vector<std::int64_t>{4, 0, 2, 1})},
            {normalizer_, tensor(Shape{}, std::vector<float>{0.25F})},
            {scalars_, tensor(graph.type(scalars_).shape,
                              std::vector<float>(scalar_values_.begin(), scalar_values_.end()))}};
  }

  Graph graph;

 private:
  inline static const ops::Conv kSame{.pads_begin = {1, 1}, .pads_end = {1, 1}};

  ValueId weight(GraphBuilder& b, const std::string& name, const Shape& shape) {
    std::vector<float> elements =
        wave<float>(shape.elements(), static_cast<double>(parameters_.size()));
    for (float& element : elements) element *= 0.3F;
    parameters_.push_back(b.state(name, {DType::kFloat32, shape}, Role::kParameter,
                                  {.tensor = tensor(shape, elements)}));
    return parameters_.back();
  }

  ValueId norm(GraphBuilder& b, const std::string& name, ValueId x) {
    const auto statistic = [&](const char* part, float element) {
      return b.state(name + part, {DType::kFloat32, Shape{8}}, Role::kStatistic,
                     {.tensor = tensor(Shape{8}, std::vector<float>(8, element))});
    };
    return ops::batch_norm_train(b, x, weight(b, name + ".scale", Shape{8}),
                                 weight(b, name + ".bias", Shape{8}), statistic(".mean", 0),
                                 statistic(".var", 1), {}, ops::RunningRule::kPyTorch);
  }

  ValueId images_;
  ValueId labels_;
  ValueId normalizer_;
  ValueId scalars_;
  optim::Scalars scalar_values_{};
  std::vector<ValueId> parameters_;
};

// A graph with its kernels, costs and places: everything that does not depend on the plan.
struct Prepared {
  Prepared(const Graph& of, const core::Machine& machine)
      : graph(of),
        kernels(Kernels::bind(graph, machine)),
        costs(model_costs(graph, kernels, machine)),
        offsets(graph.value_count()) {
    for (std::size_t i = 0; i < graph.value_count(); ++i) {
      const graph::Value& value = graph.value(ValueId(i));
      if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
      offsets[ValueId(i)] = persistent;
      persistent += value.type.bytes().rounded_up(plan::kAlignment);
    }
  }

  [[nodiscard]] plan::Planner planner(plan::Policy policy) const {
    return {graph, costs, offsets, persistent, policy};
  }

  // Every other persistent value lives in the spill file.
  [[nodiscard]] plan::Homes homes() const {
    plan::Homes result{.offsets = offsets, .arena_bytes = persistent};
    result.file_offsets = plan::FileOffsets(graph.value_count(), plan::kInArena);
    for (std::size_t i = 0; i < graph.value_count(); i += 2) {
      const graph::Value& value = graph.value(ValueId(i));
      if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
      result.file_offsets[ValueId(i)] = result.file_bytes;
      result.file_bytes += value.type.bytes().rounded_up(plan::kSlotAlignment);
    }
    return result;
  }

  const Graph& graph;
  Kernels kernels;
  plan::Costs costs;
  core::IdVector<ValueId, Bytes> offsets;
  Bytes persistent;
};

// A plan bound to an arena of its own, state loaded.
struct Bound {
  Bound(const Prepared& prepared,
        const plan::Plan& plan,
        plan::FileOffsets in_file = {},
        const std::string& directory = "/tmp")
      : arena(plan.arena_bytes), file_offsets(std::move(in_file)), graph(prepared.graph) {
    if (plan.spill_bytes > Bytes(0)) {
      store.emplace(directory);
      store->reserve(plan.spill_bytes, plan.transfers.size());
    }
    program = Program::bind(prepared.graph, plan, prepared.kernels, arena.data(),
                            store ? &*store : nullptr);
    for (std::size_t i = 0; i < prepared.graph.value_count(); ++i) {
      const graph::Value& value = prepared.graph.value(ValueId(i));
      if (value.producer.valid() || !graph::is_persistent(value.role)) continue;
      const ConstantTensor content = graph::load_content(value);
      if (plan::in_file(file_offsets, ValueId(i))) {
        EXPECT_TRUE(program.bytes(ValueId(i)).empty());
        store->write(file_offsets[ValueId(i)], *content.bytes);
      } else {
        std::memcpy(program.bytes(ValueId(i)).data(), content.bytes->data(), content.bytes->size());
      }
    }
  }

  // What an output or a state value holds.
  [[nodiscard]] std::vector<std::byte> read(ValueId id) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(graph.type(id).bytes().count()));
    if (plan::in_file(file_offsets, id)) {
      store->read(file_offsets[id], bytes);
    } else {
      const std::span<std::byte> place = program.bytes(id);
      EXPECT_EQ(place.size(), bytes.size());
      std::copy(place.begin(), place.end(), bytes.begin());
    }
    return bytes;
  }

  void feed(const std::map<ValueId, ConstantTensor>& inputs) const {
    for (const auto& [id, content] : inputs) {
      const std::span<std::byte> place = program.bytes(id);
      if (!place.empty()) std::memcpy(place.data(), content.bytes->data(), content.bytes->size());
    }
  }

  memory::Arena arena;
  plan::FileOffsets file_offsets;
  const Graph& graph;
  Program program;
  std::optional<memory::SpillStore> store;  // goes before what it transfers
};

class Programs : public testing::Test {
 protected:
  static void SetUpTestSuite() { core::use_threads(1); }

  // Every output and new state value of two steps, the second on the state that the first left.
  void expect_equal(const Bound& bound, const std::string& what) const {
    const Graph& graph = net.graph;
    std::map<ValueId, ConstantTensor> given = net.inputs();
    for (std::int64_t step = 0; step < 2; ++step) {
      const auto expected = graph::interpret(graph, given, machine, {.step = step});
      bound.feed(net.inputs());
      bound.program.step({.step = step});
      for (std::size_t i = 0; i < graph.value_count(); ++i) {
        const ValueId id(i);
        const ValueId state = graph.value(id).previous_version;
        const bool output =
            std::find(graph.outputs().begin(), graph.outputs().end(), id) != graph.outputs().end();
        if (!output && !state.valid()) continue;
        EXPECT_TRUE(bound.read(state.valid() ? state : id) == *expected.at(id).bytes)
            << what << ", step " << step << ": " << graph.value(id).name;
        if (state.valid()) given[state] = expected.at(id);
      }
    }
  }

  core::Machine machine{.threads = 1};
  TrainingGraph net;
  Prepared prepared{net.graph, machine};
};

TEST_F(Programs, EveryPolicyAndSizeGivesTheBitsOfTheGraphItself) {
  ASSERT_EQ(verify(net.graph), std::vector<std::string>());
  int recomputed = 0;
  for (const plan::Policy policy :
       {plan::Policy::kKeep, plan::Policy::kChen, plan::Policy::kLowtide}) {
    plan::Planner planner = prepared.planner(policy);
    const Bytes smallest = planner.smallest_arena();
    for (const Bytes size : {smallest, Bytes(smallest.count() * 5 / 4), Bytes(1 << 30)}) {
      const auto made = planner.make(size);
      ASSERT_TRUE(std::holds_alternative<plan::Plan>(made));
      const plan::Plan& plan = std::get<plan::Plan>(made);
      ASSERT_EQ(plan::check(net.graph, prepared.costs, prepared.offsets, plan),
                std::vector<std::string>());
      EXPECT_LE(plan.arena_bytes, size);
      recomputed = std::max(recomputed, plan.recomputed);
      expect_equal(Bound(prepared, plan), std::string(plan::name(policy)) + " in " + size.str());
    }
  }
  EXPECT_GT(recomputed, 0);
}

TEST_F(Programs, AStepAllocatesNothing) {
  plan::Planner planner = prepared.planner(plan::Policy::kLowtide);
  const auto made = planner.make(planner.smallest_arena());
  const Bound bound(prepared, std::get<plan::Plan>(made));
  bound.feed(net.inputs());
  bound.program.step({});
  const support::AllocationCounter counter;
  for (std::int64_t step = 1; step < 4; ++step) bound.program.step({.step = step});
  EXPECT_EQ(counter.count(), 0);
}

// A tier of any rates, on disk and in the page cache: what waits for what is the plan's business.
TEST_F(Programs, SpillingGivesTheBitsOfTheGraphItself) {
  int spilled = 0;
  for (const double rate : {1e7, 1e9}) {
    const plan::SpillTier tier{
        .rates = {.store = rate, .fetch = rate}, .limit = Bytes(1 << 30), .smallest = Bytes(1)};
    const std::vector<plan::Homes> where = {
        {.offsets = prepared.offsets, .arena_bytes = prepared.persistent}, prepared.homes()};
    plan::Planner planner(net.graph, prepared.costs, where, plan::Policy::kLowtide, tier);
    for (std::size_t h = 0; h < where.size(); ++h) {
      const Bytes smallest = planner.smallest_arena(h);
      for (const Bytes size : {smallest, Bytes(smallest.count() * 5 / 4), Bytes(1 << 30)}) {
        const auto made = planner.make(size, h);
        ASSERT_TRUE(std::holds_alternative<plan::Plan>(made));
        const plan::Plan& plan = std::get<plan::Plan>(made);
        ASSERT_EQ(
            plan::check(net.graph, prepared.costs, where[h].offsets, plan, where[h].file_offsets),
            std::vector<std::string>());
        spilled += static_cast<int>(plan.slots.size());
        for (const char* const directory : {"/tmp", "/dev/shm"}) {
          expect_equal(Bound(prepared, plan, where[h].file_offsets, directory),
                       std::string(directory) + " in " + size.str());
        }
      }
    }
  }
  EXPECT_GT(spilled, 20);
}

TEST_F(Programs, ASpillingStepAllocatesNothing) {
  const plan::SpillTier tier{
      .rates = {.store = 1e9, .fetch = 1e9}, .limit = Bytes(1 << 30), .smallest = Bytes(1)};
  const plan::Homes where = prepared.homes();
  plan::Planner planner(net.graph, prepared.costs, {where}, plan::Policy::kLowtide, tier);
  const auto made = planner.make(planner.smallest_arena());
  const Bound bound(prepared, std::get<plan::Plan>(made), where.file_offsets);
  bound.feed(net.inputs());
  bound.program.step({});
  const support::AllocationCounter counter;
  for (std::int64_t step = 1; step < 4; ++step) bound.program.step({.step = step});
  EXPECT_EQ(counter.count(), 0);
}

TEST(Costs, GrowWithTheWorkAndVanishForViews) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {DType::kFloat32, Shape{64, 64}});
  const ValueId large = b.input("large", {DType::kFloat32, Shape{1024, 1024}});
  ops::matmul(b, x, x);
  ops::matmul(b, large, large);
  ops::reshape(b, x, Shape{4096});
  const core::Machine machine{.threads = 1};
  const Kernels kernels = Kernels::bind(graph, machine);
  const plan::Costs costs = model_costs(graph, kernels, machine);
  const auto seconds = [&](std::size_t node) { return costs[graph::NodeId(node)].seconds; };
  EXPECT_GT(seconds(0), 0);
  EXPECT_GT(seconds(1), 100 * (seconds(0) - Roofline().seconds_per_node));
  EXPECT_EQ(seconds(2), 0);
  const plan::Costs four = model_costs(graph, kernels, {.threads = 4});
  EXPECT_LT(four[graph::NodeId(1)].seconds, seconds(1));
}

TEST(KernelBinding, IsSharedByEqualNodesOnly) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", {DType::kFloat32, Shape{4, 4}});
  const ValueId y = b.input("y", {DType::kFloat32, Shape{4, 4}});
  const ValueId z = b.input("z", {DType::kFloat32, Shape{2, 8}});
  ops::relu(b, x);
  ops::relu(b, y);  // the same work
  ops::relu(b, z);  // another shape of the same size
  ops::tanh(b, x);  // another op
  const Kernels kernels = Kernels::bind(graph, {});
  const auto of = [&](std::size_t i) { return &kernels.of(graph::NodeId(i)); };
  EXPECT_EQ(of(0), of(1));
  EXPECT_NE(of(0), of(2));
  EXPECT_NE(of(0), of(3));
  EXPECT_EQ(kernels.distinct(), 3U);
}

}  // namespace
}  // namespace lowtide::run
