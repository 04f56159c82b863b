// Types of tensors: bytes, and where elements lie in either layout.
#include "core/tensor_type.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace lowtide::core {
namespace {

using Dims = std::vector<std::int64_t>;

TEST(TensorType, BytesFollowTheDtype) {
  EXPECT_EQ((TensorType{DType::kFloat32, Shape({2, 3})}).bytes(), 24_B);
  EXPECT_EQ((TensorType{DType::kInt64, Shape()}).bytes(), 8_B);
  EXPECT_EQ((TensorType{DType::kBool, Shape({5})}).bytes(), 5_B);
  EXPECT_EQ((TensorType{DType::kOpaque, Shape({5})}).bytes(), 5_B);
  EXPECT_EQ((TensorType{DType::kFloat64, Shape({0, 7})}).bytes(), 0_B);
}

TEST(TensorType, PrintsDtypeShapeAndLayout) {
  EXPECT_EQ((TensorType{DType::kInt8, Shape({2, 3})}).str(), "int8[2, 3]");
  EXPECT_EQ((TensorType{DType::kFloat32, Shape({2, 3, 8, 9}), Layout::kChannelsLast}).str(),
            "float32[2, 3, 8, 9] channels-last");
}

TEST(TensorType, PlainStridesAreRowMajor) {
  const TensorType type{DType::kFloat32, Shape({2, 3, 4, 5})};
  EXPECT_EQ(physical_dims(type), (Dims{2, 3, 4, 5}));
  EXPECT_EQ(strides(type), (Dims{60, 20, 5, 1}));
}

TEST(TensorType, ChannelsLastPutsChannelsInnermost) {
  const TensorType type{DType::kFloat32, Shape({2, 3, 4, 5}), Layout::kChannelsLast};
  EXPECT_EQ(physical_dims(type), (Dims{2, 4, 5, 3}));
  EXPECT_EQ(strides(type), (Dims{60, 1, 15, 3}));
  const TensorType line{DType::kFloat32, Shape({2, 3, 4}), Layout::kChannelsLast};
  EXPECT_EQ(strides(line), (Dims{12, 1, 3}));
}

TEST(TensorType, LayoutsCoincideWhereOneAxisIsTrivial) {
  EXPECT_TRUE(layouts_coincide(Shape({2, 3})));
  EXPECT_TRUE(layouts_coincide(Shape({2, 1, 4, 5})));
  EXPECT_TRUE(layouts_coincide(Shape({2, 3, 1, 1})));
  EXPECT_TRUE(layouts_coincide(Shape({0, 3, 4, 5})));
  EXPECT_FALSE(layouts_coincide(Shape({2, 3, 1, 5})));
}

TEST(DType, NamesAreNumpys) {
  EXPECT_EQ(name(DType::kFloat32), "float32");
  EXPECT_EQ(name(DType::kUint8), "uint8");
  EXPECT_EQ(name(DType::kBool), "bool");
}

TEST(DType, VisitGivesTheStoredType) {
  const auto size = [](DType dtype) {
    return visit(dtype, [](auto tag) { return sizeof(typename decltype(tag)::type); });
  };
  EXPECT_EQ(size(DType::kInt16), 2U);
  EXPECT_EQ(size(DType::kFloat64), 8U);
  EXPECT_EQ(size(DType::kOpaque), 1U);
}

TEST(DType, FloatsAndIntegersAreToldApart) {
  EXPECT_TRUE(is_float(DType::kFloat64));
  EXPECT_FALSE(is_float(DType::kInt8));
  EXPECT_TRUE(is_integer(DType::kUint64));
  EXPECT_FALSE(is_integer(DType::kBool));
  EXPECT_FALSE(is_integer(DType::kOpaque));
}

}  // namespace
}  // namespace lowtide::core
