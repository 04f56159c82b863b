// One place for each state and constant, whichever program's graph it stands in.
#include "train/fit/state_layout.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "lowtide/error.h"

#include "graph/builder.h"
#include "memory/arena.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace lowtide::train {
namespace {

using core::DType;
using core::Shape;
using graph::Graph;
using graph::GraphBuilder;
using graph::Role;
using graph::ValueId;
using support::tensor;

const core::TensorType kVector{DType::kFloat32, Shape{5}};

graph::Content content(const std::vector<float>& elements) {
  return {.tensor = tensor(Shape{5}, elements)};
}

TEST(StateLayout, GivesEveryValueItsOwnAlignedPlace) {
  Graph graph;
  GraphBuilder b(graph);
  const std::vector<ValueId> ids = {
      b.state("w", kVector, Role::kParameter), b.state("m", kVector, Role::kOptimizer),
      b.state("s", kVector, Role::kStatistic), b.constant(Shape{5}, std::vector<float>(5), "c")};
  b.input("x", kVector);
  StateLayout layout;
  const auto offsets = layout.place(graph);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(offsets[ids[i]], Bytes(static_cast<std::int64_t>(i) * 64));
  }
  EXPECT_EQ(layout.bytes(), Bytes(256));
  for (const Role role : {Role::kParameter, Role::kOptimizer, Role::kStatistic, Role::kConstant}) {
    EXPECT_EQ(layout.bytes(role), Bytes(64));
  }
  EXPECT_EQ(layout.offset("s"), Bytes(128));
}

TEST(StateLayout, StateOfOneNameIsOneStateInEveryGraph) {
  StateLayout layout;
  Graph first;
  GraphBuilder a(first);
  const ValueId w = a.state("w", kVector, Role::kParameter, content({1, 2, 3, 4, 5}));
  const auto at = layout.place(first);
  Graph second;
  GraphBuilder b(second);
  const ValueId extra = b.state("extra", kVector, Role::kOptimizer);
  const ValueId again = b.state("w", kVector, Role::kParameter, content({1, 2, 3, 4, 5}));
  const auto there = layout.place(second);
  EXPECT_EQ(there[again], at[w]);
  EXPECT_NE(there[extra], at[w]);
  EXPECT_EQ(layout.bytes(), Bytes(128));
}

// Constants of one name may differ from graph to graph: shapes folded for another batch.
TEST(StateLayout, ConstantsAreSharedWhereTheyAreEqual) {
  StateLayout layout;
  Graph graph;
  GraphBuilder b(graph);
  const ValueId one = b.constant(Shape{5}, std::vector<float>(5, 1.0F), "c");
  const ValueId same = b.constant(Shape{5}, std::vector<float>(5, 1.0F), "c");
  const ValueId other = b.constant(Shape{5}, std::vector<float>(5, 2.0F), "c");
  const auto offsets = layout.place(graph);
  EXPECT_EQ(offsets[one], offsets[same]);
  EXPECT_NE(offsets[one], offsets[other]);
}

TEST(StateLayout, LoadsFromMemoryFromFilesAndZeros) {
  const support::Folder folder;
  const std::vector<float> stored = {9, 8, 7, 6, 5, 4, 3};
  std::string bytes(stored.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), stored.data(), bytes.size());
  support::write_file(folder / "weights", bytes);
  Graph graph;
  GraphBuilder b(graph);
  b.state("memory", kVector, Role::kParameter, content({1, 2, 3, 4, 5}));
  b.state("file", kVector, Role::kParameter, {.file = folder / "weights", .offset = 8});
  b.state("zeros", kVector, Role::kOptimizer);
  StateLayout layout;
  layout.place(graph);
  const memory::Arena arena(layout.bytes());
  layout.load(arena.data());
  const auto found = [&](const std::string& name) {
    std::vector<float> elements(5);
    std::memcpy(elements.data(), arena.data() + layout.offset(name).count(), 20);
    return elements;
  };
  EXPECT_EQ(found("memory"), (std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(found("file"), (std::vector<float>{7, 6, 5, 4, 3}));
  EXPECT_EQ(found("zeros"), std::vector<float>(5));
}

void expect_error(const graph::Content& from, Role role, ErrorCode code, const std::string& part) {
  Graph graph;
  GraphBuilder b(graph);
  b.state("layer.weight", kVector, role, from);
  StateLayout layout;
  layout.place(graph);
  const memory::Arena arena(layout.bytes());
  try {
    layout.load(arena.data());
    ADD_FAILURE() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(StateLayout, WeightsThatAreNotFiniteAreNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_error(content({1, nan, 3, 4, 5}), Role::kParameter, ErrorCode::kNumeric, "'layer.weight'");
  expect_error(content({1, 2, 3, -1 / 0.0F, 5}), Role::kStatistic, ErrorCode::kNumeric,
               "element 3");
  const support::Folder folder;
  std::string bytes(20, '\0');
  std::memcpy(bytes.data() + 8, &nan, sizeof(nan));
  support::write_file(folder / "weights", bytes);
  expect_error({.file = folder / "weights"}, Role::kParameter, ErrorCode::kNumeric, "element 2");
}

TEST(StateLayout, MasksMayBeInfinite) {
  Graph graph;
  GraphBuilder b(graph);
  const float infinity = std::numeric_limits<float>::infinity();
  b.constant(Shape{5}, std::vector<float>(5, -infinity), "mask");
  StateLayout layout;
  layout.place(graph);
  const memory::Arena arena(layout.bytes());
  layout.load(arena.data());
  float first = 0;
  std::memcpy(&first, arena.data(), sizeof(first));
  EXPECT_EQ(first, -infinity);
}

TEST(StateLayout, AFileThatIsGoneIsNamed) {
  expect_error({.file = "/no/such/weights"}, Role::kParameter, ErrorCode::kIo, "/no/such/weights");
}

TEST(StateLayout, AskingForAnUnknownNameIsAnError) {
  EXPECT_THROW(static_cast<void>(StateLayout().offset("w")), Error);
}

// 100,000 floats each: large enough to leave memory.
TEST(StateLayout, SendsMoreAndMoreToTheFileWhatWaitsLongestFirst) {
  const core::TensorType large{DType::kFloat32, Shape{100'000}};
  const Bytes size = Bytes(400'000).rounded_up(plan::kSlotAlignment);
  Graph graph;
  GraphBuilder b(graph);
  const ValueId w = b.state("w", large, Role::kParameter);
  const ValueId small = b.state("small", kVector, Role::kParameter);
  const ValueId m1 = b.state("m1", large, Role::kOptimizer);
  const ValueId m2 = b.state("m2", large, Role::kOptimizer);
  StateLayout layout;
  layout.place(graph);
  EXPECT_EQ(layout.resident().arena_bytes, layout.bytes());
  const std::vector<StatePlaces> places = layout.places({0.1, 1, 0.3, 0.2});
  std::vector<std::int64_t> in_file;
  for (const StatePlaces& one : places) in_file.push_back(one.file_bytes.count() / size.count());
  EXPECT_EQ(in_file, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(places[0].arena_bytes, layout.bytes());
  EXPECT_EQ(places[3].arena_bytes, Bytes(64));
  EXPECT_TRUE(plan::in_file(layout.homes(graph, places[1]).file_offsets, m1));
  const plan::Homes homes = layout.homes(graph, places[2]);
  EXPECT_TRUE(plan::in_file(homes.file_offsets, m1));
  EXPECT_TRUE(plan::in_file(homes.file_offsets, m2));
  EXPECT_FALSE(plan::in_file(homes.file_offsets, w));
  EXPECT_FALSE(plan::in_file(homes.file_offsets, small));
  EXPECT_NE(homes.file_offsets[m1], homes.file_offsets[m2]);
  EXPECT_EQ(layout.bytes(Role::kOptimizer, places[2]), Bytes(0));
  EXPECT_EQ(layout.bytes(Role::kParameter, places[2]), layout.bytes(Role::kParameter));
}

TEST(StateLayout, LoadsIntoTheFileInPieces) {
  std::vector<float> elements(200'000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  const core::TensorType large{DType::kFloat32, Shape{200'000}};
  Graph graph;
  GraphBuilder b(graph);
  b.state("held", large, Role::kParameter, {.tensor = tensor(Shape{200'000}, elements)});
  b.state("drawn", large, Role::kParameter,
          {.draw = core::Draw{core::Distribution::kNormal, 0.5F, 3, 1}});
  b.state("zero", large, Role::kOptimizer);
  StateLayout layout;
  layout.place(graph);
  memory::Arena resident(layout.bytes());
  layout.load(resident.data());
  const StatePlaces places = layout.places({1, 1, 1}).back();
  memory::Arena arena(places.arena_bytes);
  memory::SpillStore file("/tmp");
  file.reserve(places.file_bytes, 1);
  layout.load(arena.data(), places, file);
  for (const char* const name : {"held", "drawn", "zero"}) {
    std::vector<std::byte> found(800'000);
    ASSERT_NE(places.in_file[layout.entry(name)], 0);
    file.read(places.offsets[layout.entry(name)], found);
    EXPECT_TRUE(
        std::equal(found.begin(), found.end(), resident.data() + layout.offset(name).count()))
        << name;
  }
  elements[150'000] = std::numeric_limits<float>::quiet_NaN();
  Graph spoilt;
  GraphBuilder c(spoilt);
  c.state("bad", large, Role::kParameter, {.tensor = tensor(Shape{200'000}, elements)});
  StateLayout bad;
  bad.place(spoilt);
  const StatePlaces there = bad.places({1}).back();
  try {
    bad.load(arena.data(), there, file);
    FAIL() << "a NaN";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric);
    EXPECT_NE(std::string(error.what()).find("element 150000"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lowtide::train
