// Verification, dumps and edits of graphs.
#include "graph/graph.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/toy_ops.h"

namespace lowtide::graph {
namespace {

using Faults = std::vector<std::string>;

// x -> Fork -> Add -> update of p.
class GraphOfThree : public testing::Test {
 protected:
  Graph graph;
  GraphBuilder b{graph};
  ValueId x = b.input("x", floats(4));
  ValueId rate = b.input("rate", floats(1), Role::kScalar);
  ValueId p = b.state("p", floats(4), Role::kParameter);
  std::vector<ValueId> halves = fork(b, x, 0.5F);
  ValueId sum = add(b, halves[0], halves[1]);
  ValueId next = update(b, p, sum, rate);
};

TEST_F(GraphOfThree, IsSound) {
  graph.outputs() = {sum};
  EXPECT_EQ(verify(graph), Faults{});
}

TEST_F(GraphOfThree, DumpsALinePerNode) {
  EXPECT_EQ(dump(graph),
            "%3: float32[4], %4: float32[4] = Fork(%0)  # Fork\n"
            "%5: float32[4] = Add(%3, %4)  # Add\n"
            "%6: float32[4] = Update(%2, %5, %1)  # Update\n");
}

TEST_F(GraphOfThree, ReadersAreListedOnceInOrder) {
  add(b, halves[0], halves[0]);
  const auto lists = readers(graph);
  EXPECT_EQ(lists[halves[0]], (std::vector<NodeId>{NodeId(1), NodeId(3)}));
  EXPECT_EQ(lists[halves[1]], (std::vector<NodeId>{NodeId(1)}));
  EXPECT_TRUE(lists[next].empty());
}

TEST_F(GraphOfThree, VerifyFindsReadsBeforeWrites) {
  graph.keep_nodes({NodeId(1), NodeId(0), NodeId(2)});
  EXPECT_EQ(verify(graph), (Faults{"node 'Add' reads 'Fork' before it is written",
                                   "node 'Add' reads 'Fork:1' before it is written"}));
}

TEST_F(GraphOfThree, VerifyFindsASecondProducer) {
  Node copy = graph.node(NodeId(1));
  copy.name = "again";
  graph.add_node(copy);
  EXPECT_EQ(verify(graph),
            (Faults{"value 'Add' is written twice", "value 'Add' does not name its producer"}));
}

// Only nodes of the backward pass have alternatives.
TEST_F(GraphOfThree, AnAlternativeHasTheOutputsOfTheNodeItNames) {
  Node other = graph.node(NodeId(1));
  other.name = "other";
  other.inputs = {halves[1], halves[0]};
  other.alternative_to = NodeId(1);
  graph.node(NodeId(1)).phase = other.phase = Phase::kBackward;
  graph.add_node(other);
  EXPECT_EQ(verify(graph), Faults{});
  EXPECT_EQ(graph.value(sum).producer, NodeId(1));
  EXPECT_NE(dump(graph).find("%5: float32[4] or Add(%4, %3)  # other\n"), std::string::npos);
  const Faults wrong = {"node 'other' is no alternative to the one it names"};
  graph.node(NodeId(3)).phase = Phase::kForward;
  EXPECT_EQ(verify(graph), wrong);
  graph.node(NodeId(3)).phase = Phase::kBackward;
  graph.node(NodeId(3)).outputs = {halves[0]};
  EXPECT_EQ(verify(graph), wrong);
}

TEST_F(GraphOfThree, VerifyFindsTypesTheOpDoesNotInfer) {
  graph.value(next).type = floats(5);
  EXPECT_EQ(verify(graph), (Faults{"node 'Update' (Update) has output types its op does not infer",
                                   "'Update' cannot be the new version of 'p'"}));
}

TEST_F(GraphOfThree, VerifyFindsStateReplacedTwice) {
  update(b, p, sum, rate);
  EXPECT_EQ(verify(graph), (Faults{"state 'p' is replaced twice"}));
}

TEST_F(GraphOfThree, VerifyFindsReplacementOfWhatIsNoState) {
  graph.value(next).previous_version = x;
  EXPECT_EQ(verify(graph), (Faults{"'Update' cannot be the new version of 'x'"}));
}

TEST_F(GraphOfThree, VerifyFindsOutputsNoOneWrites) {
  graph.outputs() = {sum};
  graph.keep_nodes({NodeId(0)});
  EXPECT_EQ(verify(graph), (Faults{"output 'Add' is never written"}));
}

TEST_F(GraphOfThree, KeepNodesRenumbersProducers) {
  add(b, x, x);
  graph.keep_nodes({NodeId(3), NodeId(0)});
  EXPECT_EQ(graph.node_count(), 2U);
  EXPECT_EQ(graph.node(NodeId(0)).name, "Add.1");
  EXPECT_EQ(graph.value(halves[0]).producer, NodeId(1));
  EXPECT_FALSE(graph.value(sum).producer.valid());
}

TEST(Graph, CopiesAreIndependent) {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = b.input("x", floats(4));
  const Graph copy = graph;
  add(b, x, x);
  EXPECT_EQ(copy.node_count(), 0U);
  EXPECT_EQ(graph.node_count(), 1U);
}

}  // namespace
}  // namespace lowtide::graph
