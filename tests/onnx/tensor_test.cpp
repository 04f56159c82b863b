// Tensors of a file: every way to store elements, every lie about them, and external data.
#include "onnx/bytes/tensor.h"

#include <sys/stat.h>

#include <cstring>

#include <gtest/gtest.h>

#include "onnx/model_file.h"
#include "onnx/toy.h"

namespace lowtide::onnx {
namespace {

TensorRef only_tensor(const WireWriter& tensor) {
  toy::Parts parts = toy::small_network();
  parts.initializers = {tensor};
  return toy::parse_text(toy::model(parts)).graph.initializers.at(0);
}

template <class T>
std::vector<T> elements(const TensorRef& tensor) {
  const auto bytes = load(tensor);
  std::vector<T> result(bytes->size() / sizeof(T));
  std::memcpy(result.data(), bytes->data(), bytes->size());
  return result;
}

std::string refusal(const WireWriter& tensor, ErrorCode code = ErrorCode::kInvalidFile) {
  return toy::message_of([&] { only_tensor(tensor); }, code);
}

WireWriter typed(std::int64_t type, std::int64_t count) {
  return WireWriter().integer(1, count).integer(2, type).text(8, "t");
}

TEST(Tensor, ElementsInEveryField) {
  const std::vector<std::int64_t> integers = {-1, 2};
  const std::vector<float> reals = {0.5F, 2.0F};
  EXPECT_EQ(elements<float>(only_tensor(typed(1, 2).packed(4, reals))), reals);
  EXPECT_EQ(elements<float>(only_tensor(typed(1, 2).real(4, 0.5F).real(4, 2.0F))), reals);
  EXPECT_EQ(elements<std::int64_t>(only_tensor(typed(7, 2).packed(7, integers))), integers);
  EXPECT_EQ(elements<std::int64_t>(only_tensor(typed(7, 2).integer(7, -1).integer(7, 2))),
            integers);
  EXPECT_EQ(elements<std::int32_t>(only_tensor(typed(6, 2).packed(5, integers))),
            (std::vector<std::int32_t>{-1, 2}));
  EXPECT_EQ(elements<std::int8_t>(only_tensor(typed(3, 2).packed(5, integers))),
            (std::vector<std::int8_t>{-1, 2}));
  EXPECT_EQ(elements<std::uint8_t>(only_tensor(typed(9, 1).integer(5, 1))),
            (std::vector<std::uint8_t>{1}));
  EXPECT_EQ(elements<std::uint64_t>(only_tensor(typed(13, 1).integer(11, 9))),
            (std::vector<std::uint64_t>{9}));
  EXPECT_EQ(only_tensor(typed(1, 0)).type.shape.elements(), 0);
}

TEST(Tensor, SizesMustBeExactBeforeAnythingIsAllocated) {
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_NE(refusal(typed(1, huge)).find("tensor 't': float32[1099511627776] needs"),
            std::string::npos);
  EXPECT_NE(refusal(typed(1, 2).text(9, "1234567")).find("needs 8 bytes, the file gives 7"),
            std::string::npos);
  EXPECT_NE(refusal(typed(7, 3).integer(7, 1)).find("needs 24 bytes, the file gives 8"),
            std::string::npos);
  EXPECT_NE(refusal(typed(1, -1)).find("negative dimension"), std::string::npos);
  EXPECT_NE(refusal(typed(1, huge).integer(1, huge).integer(1, huge)).find("too many elements"),
            std::string::npos);
}

TEST(Tensor, LiesAreNamed) {
  EXPECT_NE(refusal(typed(1, 1).text(9, "1234").text(9, "1234")).find("given twice"),
            std::string::npos);
  EXPECT_NE(refusal(typed(1, 1).text(9, "1234").real(4, 1)).find("given twice"), std::string::npos);
  EXPECT_NE(refusal(typed(1, 1).integer(7, 1)).find("data in field 7"), std::string::npos);
  EXPECT_NE(refusal(typed(3, 1).integer(5, 300)).find("element 300 is outside"), std::string::npos);
  EXPECT_NE(refusal(typed(9, 1).text(9, "\x07")).find("neither 0 nor 1"), std::string::npos);
  EXPECT_NE(refusal(typed(10, 2).integer(5, 0)).find("needs 4 bytes"), std::string::npos);
  EXPECT_NE(
      refusal(typed(14, 1), ErrorCode::kUnsupported).find("tensor 't': element type complex64"),
      std::string::npos);
  EXPECT_NE(refusal(typed(8, 1), ErrorCode::kUnsupported).find("string"), std::string::npos);
  WireWriter deep = typed(1, 1);
  for (int i = 0; i < 40; ++i) deep.integer(1, 1);
  EXPECT_NE(refusal(deep.text(9, "1234")).find("41 dimensions"), std::string::npos);
}

// A model in its folder, whose weight "w" lies wherever the location says.
class ExternalData : public ::testing::Test {
 protected:
  ExternalData() {
    std::filesystem::create_directories(folder_ / "model/sub");
    std::filesystem::create_directories(folder_ / "outside");
    const std::string bytes = toy::raw({1, 2, 3, 4});
    toy::write_file(folder_ / "secret.bin", bytes);
    toy::write_file(folder_ / "outside/data.bin", bytes);
    toy::write_file(folder_ / "model/data.bin", bytes);
    toy::write_file(folder_ / "model/sub/ok.bin", bytes);
  }

  TensorRef load_from(const std::string& location, std::int64_t offset = 0) {
    toy::Parts parts = toy::small_network();
    parts.initializers = {toy::external("w", 2, location, offset)};
    toy::write_file(folder_ / "model/model.onnx", toy::model(parts));
    return parse_file(folder_ / "model/model.onnx").graph.initializers.at(0);
  }

  std::string refusal(const std::string& location,
                      ErrorCode code = ErrorCode::kInvalidFile,
                      std::int64_t offset = 0) {
    const std::string message = toy::message_of([&] { load_from(location, offset); }, code);
    EXPECT_NE(message.find("tensor 'w'"), std::string::npos) << location << ": " << message;
    return message;
  }

  toy::Folder folder_;
};

TEST_F(ExternalData, ReadsUnderTheModelsFolder) {
  EXPECT_EQ(elements<float>(load_from("data.bin")), (std::vector<float>{1, 2}));
  EXPECT_EQ(elements<float>(load_from("sub/ok.bin", 8)), (std::vector<float>{3, 4}));
  EXPECT_EQ(elements<float>(load_from("./sub//ok.bin", 4)), (std::vector<float>{2, 3}));
}

TEST_F(ExternalData, RefusesToLeaveTheFolder) {
  for (const char* location : {"../secret.bin", "/etc/hostname", "sub/../../secret.bin", "", ".",
                               "..", "sub/", "sub/../data.bin"}) {
    EXPECT_NE(refusal(location).find("refused"), std::string::npos) << location;
  }
  refusal(std::string("data.bin\0x", 10));
  refusal("\xff\xfe.bin");
}

TEST_F(ExternalData, RefusesLinksAndWhatIsNoFile) {
  std::filesystem::create_symlink(folder_ / "secret.bin", folder_ / "model/link");
  std::filesystem::create_symlink("data.bin", folder_ / "model/inner_link");
  std::filesystem::create_directory_symlink(folder_ / "outside", folder_ / "model/linked");
  std::filesystem::create_hard_link(folder_ / "secret.bin", folder_ / "model/hard");
  ASSERT_EQ(::mkfifo((folder_ / "model/pipe").c_str(), 0600), 0);
  for (const char* location : {"link", "inner_link", "linked/data.bin", "hard", "sub", "pipe"}) {
    EXPECT_NE(refusal(location).find("refused"), std::string::npos) << location;
  }
  refusal("missing.bin", ErrorCode::kIo);
}

TEST_F(ExternalData, RefusesPlacesOutsideTheFile) {
  EXPECT_NE(refusal("data.bin", ErrorCode::kInvalidFile, 9).find("has 16 bytes, 8 needed"),
            std::string::npos);
  refusal("data.bin", ErrorCode::kInvalidFile, std::numeric_limits<std::int64_t>::max());
  refusal("data.bin", ErrorCode::kInvalidFile, -1);
}

TEST_F(ExternalData, AModelInMemoryHasNoFolder) {
  toy::Parts parts = toy::small_network();
  parts.initializers = {toy::external("w", 2, "data.bin")};
  const std::string message =
      toy::message_of([&] { toy::parse_text(toy::model(parts)); }, ErrorCode::kInvalidFile);
  EXPECT_NE(message.find("model: tensor 'w': external data, but the model has no folder"),
            std::string::npos)
      << message;
}

TEST(ModelFile, RefusesWhatIsNoModel) {
  const toy::Folder folder;
  toy::write_file(folder / "empty", "");
  toy::write_file(folder / "text", "This is not a model.");
  EXPECT_NE(toy::message_of([&] { parse_file(folder / "empty"); }, ErrorCode::kInvalidFile)
                .find("the graph is missing"),
            std::string::npos);
  toy::message_of([&] { parse_file(folder / "text"); }, ErrorCode::kInvalidFile);
  EXPECT_NE(toy::message_of([&] { parse_file(folder / "absent"); }, ErrorCode::kIo).find("absent"),
            std::string::npos);
  EXPECT_THROW(parse_file("/"), Error);
}

}  // namespace
}  // namespace lowtide::onnx
