// Runs every case of every op: kernels against the reference, gradients against differences.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "core/parallel.h"
#include "core/random.h"
#include "kernels/simd/target.h"
#include "ops/case_graph.h"
#include "ops/cases.h"
#include "ops/catalog.h"
#include "support/allocation_counter.h"
#include "support/guarded_buffer.h"

namespace lowtide::ops {
namespace {

using core::DType;
using graph::BoundKernel;
using graph::ConstantTensor;
using graph::Node;
using graph::NodeId;
using graph::Sharing;
using graph::ValueId;
using support::GuardedBuffer;
using Tensors = std::map<ValueId, ConstantTensor>;

constexpr core::Machine kReference{.threads = 1, .isa = core::Isa::kReference};
constexpr core::Machine kNative{.threads = 2, .isa = core::Isa::kNative};
constexpr graph::StepContext kStep{.seed = 11, .step = 3, .first_sample = 5};

// ctest runs the suite once per instruction set.
const bool kHeld = [] {
  const char* const isa = std::getenv("LOWTIDE_TEST_ISA");
  if (isa != nullptr) kernels::hold_to_isa(core::parse_isa(isa));
  // The pool allocates when it starts.
  core::parallel_for(core::parallel_parts(), 1, [](std::int64_t, std::int64_t) {});
  return true;
}();

double element(const ConstantTensor& tensor, std::size_t i) {
  return core::visit(tensor.type.dtype, [&](auto tag) {
    return static_cast<double>(tensor.data<typename decltype(tag)::type>()[i]);
  });
}

std::size_t count(const ConstantTensor& tensor) {
  return static_cast<std::size_t>(tensor.type.shape.elements());
}

double largest(const ConstantTensor& tensor) {
  double result = 0;
  for (std::size_t i = 0; i < count(tensor); ++i) {
    const double magnitude = std::abs(element(tensor, i));
    if (std::isfinite(magnitude)) result = std::max(result, magnitude);
  }
  return result;
}

// One node with its inputs in guarded memory.
class NodeRun {
 public:
  NodeRun(const graph::Graph& graph, const Node& node, const Tensors& values) : node_(node) {
    in_types_ = graph.types(node.inputs);
    out_types_ = graph.types(node.outputs);
    for (const ValueId input : node.inputs) inputs_.push_back(values.at(input));
  }

  [[nodiscard]] graph::Signature types() const { return {in_types_, out_types_}; }

  // Runs with fresh memory; output `shared.output` lies on input `shared.input` where asked.
  std::vector<ConstantTensor> run(const BoundKernel& kernel,
                                  std::optional<graph::Alias> shared = std::nullopt) const {
    std::vector<GuardedBuffer> memory;
    memory.reserve(inputs_.size() + out_types_.size() + 1);
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (const ConstantTensor& input : inputs_) {
      GuardedBuffer& buffer = memory.emplace_back(input.type.bytes());
      std::copy(input.bytes->begin(), input.bytes->end(), buffer.data());
      in.push_back(buffer.data());
    }
    for (std::size_t k = 0; k < out_types_.size(); ++k) {
      if (shared && static_cast<std::size_t>(shared->output) == k) {
        out.push_back(memory[static_cast<std::size_t>(shared->input)].data());
      } else {
        out.push_back(memory.emplace_back(out_types_[k].bytes()).data());
      }
    }
    GuardedBuffer& scratch = memory.emplace_back(kernel.scratch());
    {
      const support::AllocationCounter allocations;
      kernel.run({in, out, scratch.span(), &kStep});
      // Reference kernels may: they are there to be obviously right.
      const bool may_allocate = kernel.name() == "reference";
      EXPECT_TRUE(may_allocate || allocations.count() == 0)
          << kernel.name() << " allocates while it runs";
    }
    for (const GuardedBuffer& buffer : memory) {
      EXPECT_TRUE(buffer.intact()) << kernel.name() << " writes outside its memory";
    }
    std::vector<ConstantTensor> results;
    for (std::size_t k = 0; k < out.size(); ++k) {
      results.push_back({out_types_[k], std::make_shared<const std::vector<std::byte>>(
                                            out[k], out[k] + out_types_[k].bytes().count())});
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const bool overwritten = std::find(out.begin(), out.end(), in[i]) != out.end();
      EXPECT_TRUE(overwritten ||
                  std::equal(inputs_[i].bytes->begin(), inputs_[i].bytes->end(), in[i]))
          << kernel.name() << " changes input " << i;
    }
    return results;
  }

  // Views and state updates always share; other nodes run on separate memory first.
  [[nodiscard]] std::optional<graph::Alias> forced_sharing() const {
    for (const graph::Alias& alias : node_.op->aliases(node_.attrs, types())) {
      if (alias.sharing == Sharing::kView) return alias;
    }
    return std::nullopt;
  }

 private:
  const Node& node_;
  std::vector<core::TensorType> in_types_;
  std::vector<core::TensorType> out_types_;
  std::vector<ConstantTensor> inputs_;
};

void expect_same_bits(const std::vector<ConstantTensor>& a,
                      const std::vector<ConstantTensor>& b,
                      const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_TRUE(*a[k].bytes == *b[k].bytes) << what << ": output " << k << " differs in its bits";
  }
}

void expect_close(const ConstantTensor& actual,
                  const ConstantTensor& expected,
                  double tolerance,
                  const std::string& what) {
  const double scale = std::max(largest(expected), 1e-30);
  for (std::size_t i = 0; i < count(expected); ++i) {
    const double a = element(actual, i);
    const double e = element(expected, i);
    if (std::isnan(e) && std::isnan(a)) continue;
    if (a == e) continue;
    ASSERT_LE(std::abs(a - e), tolerance * scale)
        << what << ": element " << i << " is " << a << ", expected " << e;
  }
}

void check_node(const graph::Graph& graph,
                const Node& node,
                const Tensors& values,
                double tolerance) {
  const NodeRun once(graph, node, values);
  const auto forced = once.forced_sharing();
  const auto reference = node.op->bind(node.attrs, once.types(), kReference);
  const std::vector<ConstantTensor> expected = once.run(*reference, forced);
  for (const auto& kernel : node.op->bind_all(node.attrs, once.types(), kNative)) {
    const std::string what = std::string(node.op->name()) + "/" + std::string(kernel->name());
    const std::vector<ConstantTensor> actual = once.run(*kernel, forced);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const bool exact = !core::is_float(expected[k].type.dtype);
      expect_close(actual[k], expected[k], exact ? 0.0 : tolerance, what);
    }
    expect_same_bits(once.run(*kernel, forced), actual, what + " run again");
    for (const graph::Alias& alias : node.op->aliases(node.attrs, once.types())) {
      if (alias.sharing == Sharing::kView) continue;
      expect_same_bits(once.run(*kernel, alias), actual, what + " in place");
    }
  }
  const graph::Cost cost = node.op->cost(node.attrs, once.types());
  EXPECT_GE(cost.flops, 0.0);
  EXPECT_GE(cost.traffic.count(), 0);
}

class EveryOp : public testing::TestWithParam<OpCase> {};

TEST_P(EveryOp, KernelsAgreeWithTheReference) {
  const OpCase& op_case = GetParam();
  const CaseGraph built = build_case(op_case, DType::kFloat32);
  ASSERT_EQ(graph::verify(built.graph), std::vector<std::string>{});
  const Tensors values =
      graph::interpret(built.graph, draw_inputs(op_case, built), kReference, kStep);
  for (std::size_t i = 0; i < built.graph.node_count(); ++i) {
    SCOPED_TRACE(built.graph.node(NodeId(i)).name);
    check_node(built.graph, built.graph.node(NodeId(i)), values, op_case.tolerance);
  }
}

// The sum of all outputs, each weighted by its seed (a loss counts as it is).
double objective(const CaseGraph& built, const Tensors& values, bool loss) {
  double sum = loss ? element(values.at(built.outputs[0]), 0) : 0.0;
  for (std::size_t k = 0; k < built.outputs.size(); ++k) {
    if (!built.seeds[k].valid()) continue;
    const ConstantTensor& output = values.at(built.outputs[k]);
    const ConstantTensor& seed = values.at(built.seeds[k]);
    for (std::size_t i = 0; i < count(output); ++i) sum += element(output, i) * element(seed, i);
  }
  return sum;
}

Tensors with_moved(const Tensors& given, ValueId input, std::size_t at, double by) {
  Tensors moved = given;
  const ConstantTensor& old = given.at(input);
  std::vector<std::byte> bytes = *old.bytes;
  const double number = element(old, at) + by;
  std::memcpy(bytes.data() + at * sizeof(double), &number, sizeof(double));
  moved[input] = {old.type, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
  return moved;
}

TEST_P(EveryOp, GradientsAgreeWithDifferences) {
  const OpCase& op_case = GetParam();
  const CaseGraph built = build_case(op_case, DType::kFloat64);
  const Tensors given = draw_inputs(op_case, built);
  const Tensors values = graph::interpret(built.graph, given, kReference, kStep);
  constexpr double kMove = 1e-5;
  constexpr std::size_t kSamples = 24;
  core::RandomStream random(7, 0);
  for (std::size_t i = 0; i < built.inputs.size(); ++i) {
    if (!built.gradients[i].valid()) continue;
    const ConstantTensor& gradient = values.at(built.gradients[i]);
    ASSERT_EQ(gradient.type, built.graph.type(built.inputs[i]));
    const double scale = std::max(largest(gradient), 1.0);
    const std::size_t elements = count(gradient);
    for (std::size_t s = 0; s < std::min(elements, kSamples); ++s) {
      const std::size_t at = elements <= kSamples ? s : random.below(elements);
      const double up =
          objective(built,
                    graph::interpret(built.graph, with_moved(given, built.inputs[i], at, kMove),
                                     kReference, kStep),
                    op_case.loss);
      const double down =
          objective(built,
                    graph::interpret(built.graph, with_moved(given, built.inputs[i], at, -kMove),
                                     kReference, kStep),
                    op_case.loss);
      const double difference = (up - down) / (2 * kMove);
      ASSERT_NEAR(element(gradient, at), difference, op_case.gradient_tolerance * scale)
          << "gradient of input " << i << " at element " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         EveryOp,
                         testing::ValuesIn(all_cases()),
                         [](const testing::TestParamInfo<OpCase>& one) {
                           return case_test_name(one.param);
                         });

TEST(Catalog, EveryOpIsInSomeCase) {
  std::set<std::string_view> covered;
  for (const OpCase& op_case : all_cases()) {
    const CaseGraph built = build_case(op_case, DType::kFloat32);
    for (std::size_t i = 0; i < built.graph.node_count(); ++i) {
      covered.insert(built.graph.node(NodeId(i)).op->name());
    }
  }
  for (const graph::OpDef* const op : catalog()) {
    EXPECT_TRUE(covered.contains(op->name())) << op->name() << " has no case";
  }
}

TEST(Catalog, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const graph::OpDef* const op : catalog()) {
    EXPECT_TRUE(names.insert(op->name()).second) << op->name() << " is listed twice";
  }
}

}  // namespace
}  // namespace lowtide::ops
