// Writing: byte-equal copies, new weights, training flags, external data, and nothing half done.
#include "onnx/write.h"

#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "onnx/model_file.h"
#include "onnx/read.h"
#include "onnx/toy.h"

namespace lowtide::onnx {
namespace {

using toy::node;
using toy::Parts;

std::span<const std::byte> bytes_in(const std::vector<float>& elements) {
  return std::as_bytes(std::span(elements));
}

std::vector<float> floats(const TensorRef& tensor) {
  const auto bytes = load(tensor);
  std::vector<float> result(bytes->size() / sizeof(float));
  std::memcpy(result.data(), bytes->data(), bytes->size());
  return result;
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class WriteTrained : public ::testing::Test {
 protected:
  ModelFile written(const Parts& parts, const TrainedTensors& trained) {
    toy::write_file(folder_ / "in.onnx", toy::model(parts));
    write_trained(folder_ / "in.onnx", folder_ / "out.onnx", trained);
    return parse_file(folder_ / "out.onnx");
  }

  toy::Folder folder_;
};

TEST_F(WriteTrained, IsByteEqualWhereNothingChanges) {
  written(toy::small_network(), {});
  EXPECT_EQ(toy::read_file(folder_ / "out.onnx"), toy::read_file(folder_ / "in.onnx"));
}

TEST_F(WriteTrained, ChangesNothingButTheWeights) {
  const std::vector<float> weights = {7, 8};
  const ModelFile model =
      written(toy::small_network(), {.tensors = {{"w", bytes_of(bytes_in(weights))}}});
  EXPECT_EQ(floats(model.graph.initializers.at(0)), weights);
  std::string expected = toy::read_file(folder_ / "in.onnx");
  const std::string old = toy::raw({1, -2});
  expected.replace(expected.find(old), old.size(), toy::raw(weights));
  EXPECT_EQ(toy::read_file(folder_ / "out.onnx"), expected);
}

TEST_F(WriteTrained, MayReplaceItsSource) {
  const std::vector<float> weights = {7, 8};
  toy::write_file(folder_ / "in.onnx", toy::model(toy::small_network()));
  write_trained(folder_ / "in.onnx", folder_ / "in.onnx",
                {.tensors = {{"w", bytes_of(bytes_in(weights))}}});
  EXPECT_EQ(floats(parse_file(folder_ / "in.onnx").graph.initializers.at(0)), weights);
}

TEST_F(WriteTrained, ReachesWeightsStoredElementByElementAndInConstants) {
  const std::vector<float> weights = {7, 8};
  Parts parts = toy::small_network();
  parts.initializers = {
      WireWriter().integer(1, 2).integer(2, 1).real(4, 1).real(4, 2).text(8, "w")};
  const TensorRef spread =
      written(parts, {.tensors = {{"w", bytes_of(bytes_in(weights))}}}).graph.initializers.at(0);
  EXPECT_EQ(spread.name, "w");
  EXPECT_EQ(floats(spread), weights);

  parts.initializers.clear();
  parts.nodes.insert(
      parts.nodes.begin(),
      node("Constant", {}, {"w"}, {toy::tensor_attribute("value", toy::tensor("", {1, 2}))}));
  const ModelFile model = written(parts, {.tensors = {{"w", bytes_of(bytes_in(weights))}}});
  EXPECT_EQ(floats(std::get<TensorRef>(model.graph.nodes.at(0).attributes.at(0).value)), weights);
}

TEST_F(WriteTrained, SplitsMergedInitializersAndSetsMetadata) {
  const std::vector<float> own = {5, 6};
  TrainedTensors trained;
  trained.splits = {{.name = "w.1",
                     .merged = "w",
                     .node_output = "h",
                     .input = 1,
                     .shape = {2},
                     .bytes = bytes_of(bytes_in(own))}};
  trained.metadata = {{"lowtide.steps", "12"}};
  Parts parts = toy::small_network();
  parts.ir_version = 3;
  const ModelFile model = written(parts, trained);
  EXPECT_EQ(model.graph.nodes.at(0).inputs, (std::vector<std::string>{"x", "w.1"}));
  EXPECT_EQ(model.graph.nodes.at(0).name, "add");
  ASSERT_EQ(model.graph.initializers.size(), 2U);
  EXPECT_EQ(floats(model.graph.initializers[1]), own);
  EXPECT_EQ(model.graph.inputs.back().name, "w.1");  // as IR version 3 wants it
  EXPECT_EQ(model.metadata.at("lowtide.steps"), "12");
  // A second time, the metadata is replaced.
  write_trained(folder_ / "out.onnx", folder_ / "again.onnx",
                {.metadata = {{"lowtide.steps", "13"}}});
  EXPECT_EQ(parse_file(folder_ / "again.onnx").metadata.at("lowtide.steps"), "13");
}

// A call stays a call, and the nodes after it are still told apart.
TEST_F(WriteTrained, KeepsFunctions) {
  Parts parts = toy::small_network();
  parts.nodes = {node("Twice", {"x"}, {"h"}).text(7, "local"),
                 node("BatchNormalization", {"h", "w", "w", "w", "w"}, {"y", "mean", "var"},
                      {toy::int_attribute("training_mode", 1)}, "bn")};
  const WireWriter twice = WireWriter()
                               .text(1, "Twice")
                               .text(4, "a")
                               .text(5, "c")
                               .message(7, node("Add", {"a", "a"}, {"b"}))
                               .message(7, node("Relu", {"b"}, {"c"}))
                               .message(9, WireWriter().integer(2, 17))
                               .text(10, "local");
  toy::write_file(folder_ / "in.onnx", toy::model(parts) + WireWriter().message(25, twice).bytes());
  const std::vector<float> weights = {7, 8};
  write_trained(folder_ / "in.onnx", folder_ / "out.onnx",
                {.tensors = {{"w", bytes_of(bytes_in(weights))}}});
  const ModelFile kept = parse_file(folder_ / "out.onnx", Calls::kKeep);
  ASSERT_EQ(kept.graph.nodes.size(), 2U);
  EXPECT_EQ(kept.graph.nodes[0].type, "Twice");
  EXPECT_EQ(kept.graph.nodes[1].outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(floats(kept.graph.initializers.at(0)), weights);
  EXPECT_EQ(parse_file(folder_ / "out.onnx").graph.nodes.size(), 3U);
}

TEST_F(WriteTrained, TurnsTrainingOff) {
  Parts parts = toy::small_network();
  parts.nodes = {
      node("BatchNormalization", {"x", "w", "w", "w", "w"}, {"h", "mean", "var"},
           {toy::int_attribute("axis", 3), toy::int_attribute("training_mode", 1)}, "bn"),
      node("Dropout", {"h", "w", "w"}, {"y"})};
  const ModelFile model = written(parts, {});
  const FileNode& norm = model.graph.nodes.at(0);
  EXPECT_EQ(norm.outputs, std::vector<std::string>{"h"});
  EXPECT_EQ(std::get<std::int64_t>(norm.attribute("training_mode")->value), 0);
  EXPECT_EQ(std::get<std::int64_t>(norm.attribute("axis")->value), 3);
  EXPECT_EQ(model.graph.nodes.at(1).inputs, (std::vector<std::string>{"h", "w"}));
  parts.outputs.push_back(toy::value_info("mean", {"2"}));
  const std::string message = toy::message_of([&] { written(parts, {}); }, ErrorCode::kUnsupported);
  EXPECT_NE(message.find("node 'bn' (BatchNormalization): output 'mean'"), std::string::npos);
}

TEST_F(WriteTrained, ExternalDataKeepsItsLayoutUnderANewName) {
  std::filesystem::create_directory(folder_ / "sub");
  toy::write_file(folder_ / "sub/a.bin", toy::raw({1, 2, 3, 4}));
  toy::write_file(folder_ / "b.bin", toy::raw({5, 6}));
  Parts parts = toy::small_network();
  parts.initializers = {toy::external("w", 2, "sub/a.bin", 8), toy::external("v", 2, "b.bin"),
                        toy::external("u", 2, "sub/a.bin")};
  parts.nodes[1] = node("Add", {"h", "v"}, {"y"});
  const std::vector<float> weights = {7, 8};
  const ModelFile model = written(parts, {.tensors = {{"w", bytes_of(bytes_in(weights))}}});
  ASSERT_EQ(model.graph.initializers.size(), 3U);
  EXPECT_EQ(floats(model.graph.initializers[0]), weights);
  EXPECT_EQ(floats(model.graph.initializers[1]), (std::vector<float>{5, 6}));
  EXPECT_EQ(floats(model.graph.initializers[2]), (std::vector<float>{1, 2}));
  for (const TensorRef& tensor : model.graph.initializers) {
    EXPECT_EQ(tensor.location, "out.onnx.data");
  }
  EXPECT_EQ(toy::read_file(folder_ / "sub/a.bin"), toy::raw({1, 2, 3, 4}));
}

TEST_F(WriteTrained, RefusesTensorsThatShareTheirBytes) {
  toy::write_file(folder_ / "a.bin", toy::raw({1, 2, 3, 4}));
  Parts parts = toy::small_network();
  parts.initializers = {toy::external("w", 2, "a.bin"), toy::external("v", 2, "a.bin", 4)};
  const std::vector<float> weights = {7, 8};
  EXPECT_NO_THROW(written(parts, {}));
  for (const char* name : {"w", "v"}) {
    const TrainedTensors trained = {.tensors = {{name, bytes_of(bytes_in(weights))}}};
    const std::string message =
        toy::message_of([&] { written(parts, trained); }, ErrorCode::kUnsupported);
    EXPECT_NE(message.find("shares its bytes"), std::string::npos);
  }
}

TEST_F(WriteTrained, RefusesNamesThatAreNotThere) {
  const std::vector<float> weights = {7, 8};
  const ByteSource bytes = bytes_of(bytes_in(weights));
  const std::vector<TrainedTensors> cases = {
      {.tensors = {{"nothing", bytes}}},
      {.splits =
           {{.name = "n", .node_output = "nothing", .input = 0, .shape = {2}, .bytes = bytes}}},
      {.splits = {{.name = "n", .node_output = "h", .input = 2, .shape = {2}, .bytes = bytes}}},
      {.splits = {{.name = "w", .node_output = "h", .input = 1, .shape = {2}, .bytes = bytes}}},
      {.splits = {{.name = "y", .node_output = "h", .input = 1, .shape = {2}, .bytes = bytes}}},
  };
  for (const TrainedTensors& trained : cases) {
    EXPECT_NE(toy::message_of([&] { written(toy::small_network(), trained); },
                              ErrorCode::kInvalidArgument),
              "");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
  }
}

TEST_F(WriteTrained, ReplacesALinkWithoutFollowingIt) {
  toy::write_file(folder_ / "victim", "precious");
  std::filesystem::create_symlink(folder_ / "victim", folder_ / "out.onnx");
  written(toy::small_network(), {});
  EXPECT_EQ(toy::read_file(folder_ / "victim"), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "out.onnx"));
}

TEST_F(WriteTrained, LeavesNothingBehindWhenItFails) {
  toy::write_file(folder_ / "in.onnx", toy::model(toy::small_network()));
  const std::string nowhere = toy::message_of(
      [&] { write_trained(folder_ / "in.onnx", folder_ / "no/out.onnx", {}); }, ErrorCode::kIo);
  EXPECT_NE(nowhere.find("no/out.onnx: cannot create"), std::string::npos) << nowhere;

  // A full disk, played by a limit on the size of files.
  toy::write_file(folder_ / "out.onnx", "the old one");
  const std::size_t files = files_in(folder_ / "");
  struct ::rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct ::rlimit small { .rlim_cur = 10, .rlim_max = old.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string full = toy::message_of(
      [&] { write_trained(folder_ / "in.onnx", folder_ / "out.onnx", {}); }, ErrorCode::kIo);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(full.find("out.onnx: cannot write"), std::string::npos) << full;
  EXPECT_EQ(toy::read_file(folder_ / "out.onnx"), "the old one");
  EXPECT_EQ(files_in(folder_ / ""), files);
}

// Adds nodes for the toy ops by reading them from a model of that text.
Model toy_model(const Parts& parts) {
  return build(toy::parse_text(toy::model(parts)), {.batch = 3, .catalog = toy::catalog()});
}

TEST(WriteGraph, ComesBackAsTheSameGraph) {
  Parts parts = toy::small_network();
  parts.nodes[1] = node("Ramp", {"h"}, {"y"}, {toy::int_attribute("times", 2)});
  const Model model = toy_model(parts);
  for (const Bytes limit : {Bytes(1024), Bytes(1)}) {
    const toy::Folder folder;
    write_graph(model.graph, folder / "m.onnx", {.inline_limit = limit});
    EXPECT_EQ(std::filesystem::exists(folder / "m.onnx.data"), limit == Bytes(1));
    const Model back = read(folder / "m.onnx", {.batch = 3, .catalog = toy::catalog()});
    ASSERT_EQ(back.graph.node_count(), model.graph.node_count());
    for (std::size_t i = 0; i < model.graph.node_count(); ++i) {
      const graph::Node& node = model.graph.node(graph::NodeId(i));
      const graph::Node& again = back.graph.node(graph::NodeId(i));
      EXPECT_EQ(again.op, node.op);
      EXPECT_EQ(back.graph.types(again.outputs), model.graph.types(node.outputs));
    }
    EXPECT_EQ(back.input_names, model.input_names);
    EXPECT_EQ(back.output_names, model.output_names);
    const ModelFile file = parse_file(folder / "m.onnx");
    EXPECT_EQ(file.opsets.at(""), 20);
    EXPECT_EQ(file.graph.inputs.at(0).dims->at(0).symbol, "batch");
    EXPECT_EQ(file.graph.inputs.at(0).dims->at(1).value, 2);
    const FileNode& relu = file.graph.nodes.at(1);
    EXPECT_EQ(std::get<std::int64_t>(relu.attribute("times")->value), 2);
    ASSERT_EQ(relu.inputs.size(), 2U);
    bool found = false;
    for (const TensorRef& tensor : file.graph.initializers) {
      if (tensor.name == "w") {
        found = true;
        EXPECT_EQ(floats(tensor), (std::vector<float>{1, -2}));
      }
    }
    EXPECT_TRUE(found);
  }
}

TEST(WriteGraph, PassesLayoutChangesThroughAndNamesOutputs) {
  Parts parts = toy::small_network();
  parts.nodes = {node("Add", {"x", "w"}, {"a"}), node("ToPlain", {"a"}, {"y"}).text(7, "toy")};
  parts.outputs = {toy::value_info("y", {"batch", "2"}), toy::value_info("x", {"batch", "2"})};
  const Model model = toy_model(parts);
  ASSERT_EQ(model.graph.node_count(), 2U);
  const toy::Folder folder;
  write_graph(model.graph, folder / "m.onnx", {.output_names = {"logits", "same"}});
  const ModelFile file = parse_file(folder / "m.onnx");
  EXPECT_EQ(file.graph.outputs.at(0).name, "logits");
  EXPECT_EQ(file.graph.outputs.at(1).name, "same");
  std::vector<std::string> types;
  for (const FileNode& written : file.graph.nodes) types.push_back(written.type);
  EXPECT_EQ(types, (std::vector<std::string>{"Add", "Identity", "Identity"}));
  EXPECT_NO_THROW(read(folder / "m.onnx", {.batch = 1, .catalog = toy::catalog()}));
}

}  // namespace
}  // namespace lowtide::onnx
