// CSV: numbers and labels as written, and everything else refused with its line.
#include "data/source/csv.h"

#include <gtest/gtest.h>

#include "data/convert.h"
#include "data/scratch.h"
#include "data/source/csv_reader.h"

namespace lowtide::data {
namespace {

class Csv : public testing::Test {
 protected:
  std::filesystem::path write(std::string_view text) const {
    return folder_.write("t.csv", FileBytes(text.begin(), text.end()));
  }
  std::shared_ptr<const Dataset> opened(std::string_view text,
                                        const OpenOptions& options = {}) const {
    return open(write(text), options);
  }
  void expect_refused(std::string_view text, const std::vector<std::string>& parts) const {
    expect_error(ErrorCode::kInvalidFile, parts, [&] { opened(text); });
  }
  ScratchFolder folder_;
};

template <class T>
std::vector<T> all(const Dataset& dataset, std::size_t field) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < dataset.samples(); ++i) samples.push_back(i);
  std::vector<T> out(static_cast<std::size_t>(dataset.samples() *
                                              dataset.fields()[field].sample_shape.elements()));
  dataset.read(field, samples, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST_F(Csv, ColumnsAreFeaturesAndOneIsTheLabel) {
  const auto dataset = opened("a,label,b\n1,0,2.5\n-3e2,1, 4 \n+7,1,.5\n");
  EXPECT_EQ(dataset->samples(), 3);
  EXPECT_EQ(dataset->fields()[0].sample_shape, core::Shape({2}));
  EXPECT_EQ(all<float>(*dataset, 0), (std::vector<float>{1, 2.5F, -300, 4, 7, 0.5F}));
  EXPECT_EQ(dataset->fields()[1].dtype, core::DType::kInt64);
  EXPECT_EQ(all<std::int64_t>(*dataset, 1), (std::vector<std::int64_t>{0, 1, 1}));
}

TEST_F(Csv, NumbersTooSmallForFloatsAreZero) {
  const auto dataset = opened("a,b,label\n1e-50,1e-400,0\n-1e-40,1e38,1\n");
  EXPECT_EQ(all<float>(*dataset, 0), (std::vector<float>{0, 0, -1e-40F, 1e38F}));
  expect_refused("a,label\n1e39,0\n", {"line 2", "'a'", "'1e39' is no number"});
  expect_refused("a,label\n1e400,0\n", {"line 2", "'a'", "'1e400' is no number"});
}

TEST_F(Csv, SpacesAroundNamesOfColumnsAreNone) {
  EXPECT_EQ(opened("a, b , label\n1, 2, 0\n")->samples(), 1);
  expect_refused("a, a,label\n1,2,0\n", {"two columns named 'a'"});
}

TEST_F(Csv, LabelsMayBeNumbersOrNames) {
  const auto numbers = opened("x,label\n1,2\n2,2.5\n");
  EXPECT_EQ(all<float>(*numbers, 1), (std::vector<float>{2, 2.5F}));
  EXPECT_TRUE(numbers->class_names().empty());
  const auto names = opened("x,label\n1,dog\n2,cat\n3,dog\n4,7\n");
  EXPECT_EQ(std::vector(names->class_names().begin(), names->class_names().end()),
            (std::vector<std::string>{"7", "cat", "dog"}));
  EXPECT_EQ(all<std::int64_t>(*names, 1), (std::vector<std::int64_t>{2, 1, 2, 0}));
}

TEST_F(Csv, NamesThatAreSettledKeepTheirNumbers) {
  OpenOptions options;
  options.class_names = {"dog", "cat"};
  EXPECT_EQ(all<std::int64_t>(*opened("x,label\n1,cat\n2,dog\n", options), 1),
            (std::vector<std::int64_t>{1, 0}));
  expect_error(ErrorCode::kInvalidArgument, {"'cow'", "dog, cat"},
               [&] { opened("x,label\n1,cow\n", options); });
}

TEST_F(Csv, ColumnsThatAreSettledAreFoundByTheirNames) {
  OpenOptions options;
  options.columns = {"b", "a"};
  const auto dataset = opened("a,label,b\n1,0,2\n3,1,4\n", options);
  EXPECT_EQ(all<float>(*dataset, 0), (std::vector<float>{2, 1, 4, 3}));
  EXPECT_EQ(std::vector(dataset->columns().begin(), dataset->columns().end()), options.columns);
  for (const char* const wrong :
       {"a,label,c\n1,0,2\n", "a,label\n1,0\n", "a,b,c,label\n1,2,3,0\n"}) {
    expect_error(ErrorCode::kInvalidArgument, {"its columns are a, ", "trained on are b, a"},
                 [&] { opened(wrong, options); });
  }
}

TEST_F(Csv, QuotesHoldCommasLinesAndQuotes) {
  const auto dataset =
      opened("\xEF\xBB\xBF\"x, in m\",\"the \"\"label\"\"\"\r\n\r\n\"1\",\"a,\nb\"\r\n2,c",
             {.label = "the \"label\""});
  EXPECT_EQ(all<float>(*dataset, 0), (std::vector<float>{1, 2}));
  EXPECT_EQ(dataset->class_names()[0], "a,\nb");
}

TEST_F(Csv, WhatIsMissingOrNoNumberIsRefusedWithItsLineAndColumn) {
  expect_refused("a,label\n1,0\n,1\n", {"t.csv", "line 3", "'a'", "missing"});
  expect_refused("a,label\n1,0\nNA,1\n", {"line 3", "'a'", "'NA' is no number"});
  expect_refused("a,label\n1,0\n\"x\ny\",1\n", {"line 3"});
  expect_refused("a,label\nnan,0\n", {"line 2", "no number"});
  expect_refused("a,label\n1e999,0\n", {"line 2", "no number"});
  expect_refused("a,label\n1,\n", {"line 2", "label is missing"});
  expect_refused("a,label\n1\n", {"line 2", "1 fields", "2"});
  expect_refused("a,label\n1,2,3\n", {"line 2", "more than 2 fields"});
}

TEST_F(Csv, WhatIsNoTableIsRefused) {
  expect_refused("", {"is empty"});
  expect_refused("a,label\n", {"no samples"});
  expect_refused("label\n1\n", {"no column beside"});
  expect_refused("a,a,label\n1,1,1\n", {"two columns named 'a'"});
  expect_refused("a,label\n\"1,0\n2,1\n", {"line 2", "never ends"});
  expect_refused("a,label\n\"1\"x,0\n", {"line 2", "after a closing quote"});
  expect_refused("a,label\n1\"x\",0\n", {"line 2", "quote inside"});
  expect_refused(std::string_view("a,label\n1\0,0\n", 13), {"line 2", "byte of 0"});
  expect_refused("a,label\n" + std::string(CsvReader::kLongestField + 1, '1') + ",0\n",
                 {"line 2", "more than"});
  expect_error(ErrorCode::kInvalidArgument, {"no column 'label'", "a, b"},
               [&] { opened("a,b\n1,2\n"); });
}

TEST_F(Csv, EachColumnIsNormalizedByItself) {
  const auto dataset = opened("a,b,label\n1,100,0\n3,300,1\n");
  const Normalization normalization = compute_normalization(*dataset, 0);
  EXPECT_EQ(normalization.mean, (std::vector<float>{2, 200}));
  EXPECT_EQ(normalization.deviation, (std::vector<float>{1, 100}));
  std::vector<float> out(4);
  const std::vector<float> raw = all<float>(*dataset, 0);
  to_float32(dataset->fields()[0], std::as_bytes(std::span(raw)), normalization, out);
  EXPECT_EQ(out, (std::vector<float>{-1, -1, 1, 1}));
}

}  // namespace
}  // namespace lowtide::data
