#include "ops/binary/binary.h"
#include "ops/cases.h"
#include "ops/layout/layout.h"

namespace lowtide::ops {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Inputs = std::vector<ValueId>;
using BuildFn = ValueId (*)(GraphBuilder&, ValueId, ValueId);

OpCase pair(std::string name, core::Shape a, core::Shape c, BuildFn build) {
  return {.name = "binary/" + std::move(name),
          .inputs = {{.shape = std::move(a)}, {.shape = std::move(c)}},
          .build = [build](GraphBuilder& b, const Inputs& in) {
            return Inputs{build(b, in[0], in[1])};
          }};
}

// Positive operands: away from the poles of division and where powers are real.
OpCase positive(OpCase one) {
  for (CaseInput& input : one.inputs) {
    input.low = 0.5;
    input.high = 2.5;
  }
  return one;
}

ValueId add_channels_last(GraphBuilder& b, ValueId a, ValueId c) {
  return add(b, to_channels_last(b, a), c);
}

ValueId mul_channels_last_right(GraphBuilder& b, ValueId a, ValueId c) {
  return mul(b, a, to_channels_last(b, c));
}

template <BinaryKind kKind>
ValueId build_kind(GraphBuilder& b, ValueId a, ValueId c) {
  return binary(b, kKind, a, c);
}

ValueId square_by_pow(GraphBuilder& b, ValueId a, ValueId) {
  return pow(b, a, add(b, a, a));  // an exponent that depends on the base
}

void add_shapes(std::vector<OpCase>& cases) {
  for (const std::int64_t n : {0, 1, 7, 8, 15, 16, 17, 1000, 40001}) {
    cases.push_back(pair("add/" + std::to_string(n), {n}, {n}, add));
  }
  cases.push_back(pair("sub/scalar_right", {3, 5}, {}, sub));
  cases.push_back(pair("sub/scalar_left", {}, {3, 17}, sub));
  cases.push_back(pair("mul/row", {5, 33}, {33}, mul));
  cases.push_back(pair("mul/row_left", {33}, {5, 33}, mul));
  cases.push_back(pair("mul/column", {5, 33}, {5, 1}, mul));
  cases.push_back(pair("sub/column_left", {5, 1}, {5, 33}, sub));
  cases.push_back(pair("mul/outer", {4, 1}, {1, 19}, mul));
  cases.push_back(pair("mul/plain_channels", {2, 3, 5, 7}, {3, 1, 1}, mul));
  cases.push_back(pair("mul/middle", {2, 3, 1, 7}, {2, 1, 5, 7}, mul));
  cases.push_back(pair("add/empty", {0, 4}, {4}, add));
  cases.push_back(pair("add/ones", {1, 1, 1}, {1}, add));
  cases.push_back(pair("mul/threads", {2, 150, 151}, {150, 1}, mul));
  cases.push_back(pair("add/images", {2, 3, 5, 7}, {2, 3, 5, 7}, add_channels_last));
  cases.push_back(pair("add/image_channels", {2, 19, 3, 3}, {19, 1, 1}, add_channels_last));
  cases.push_back(pair("add/image_columns", {2, 3, 5, 7}, {7}, add_channels_last));
  cases.push_back(pair("add/image_scalar", {2, 3, 5, 7}, {1, 1, 1, 1}, add_channels_last));
  cases.push_back(pair("mul/image_gates", {2, 19, 3, 3}, {2, 19, 1, 1}, mul_channels_last_right));
  cases.push_back(pair("mul/image_right", {3, 1, 1}, {2, 3, 5, 7}, mul_channels_last_right));
  cases.push_back(pair("add/image_spread", {1, 3, 1, 1}, {2, 1, 4, 4}, add_channels_last));
}

void add_functions(std::vector<OpCase>& cases) {
  cases.push_back(positive(pair("div/same", {3, 17}, {3, 17}, div)));
  cases.push_back(positive(pair("div/row", {3, 17}, {17}, div)));
  cases.push_back(positive(pair("div/row_left", {17}, {3, 17}, div)));
  cases.push_back(positive(pair("pow/same", {3, 17}, {3, 17}, pow)));
  cases.push_back(positive(pair("pow/column", {3, 17}, {3, 1}, pow)));
  cases.push_back(positive(pair("pow/of_itself", {19}, {1}, square_by_pow)));
  cases.push_back(pair("prelu_slope", {19}, {3, 1}, build_kind<BinaryKind::kPReluSlope>));
  cases.push_back(pair("fmod", {19}, {19}, build_kind<BinaryKind::kFmod>));
  cases.push_back(pair("share", {19}, {3, 1}, build_kind<BinaryKind::kShare>));
  cases.push_back(pair("same", {19}, {3, 1}, build_kind<BinaryKind::kSame>));
  cases.push_back(positive(pair("pow_base", {19}, {19}, build_kind<BinaryKind::kPowBase>)));
  cases.push_back(positive(pair("pow_exponent", {19}, {19}, build_kind<BinaryKind::kPowExponent>)));
  for (std::size_t i = cases.size() - 6; i < cases.size(); ++i) {
    for (CaseInput& input : cases[i].inputs) input.differentiable = false;
  }
}

// The second operand is a scalar at 0, which `apart` keeps the others away from.
void add_extremes(std::vector<OpCase>& cases) {
  for (const bool is_max : {false, true}) {
    OpCase one{.name = is_max ? "binary/max" : "binary/min",
               .inputs = {{.shape = {5, 33}, .apart = 0.01}},
               .build = [is_max](GraphBuilder& b, const Inputs& in) {
                 const ValueId zero = sub(b, in[0], in[0]);
                 return Inputs{is_max ? maximum(b, in[0], zero) : minimum(b, zero, in[0])};
               }};
    cases.push_back(std::move(one));
  }
}

void add_prelus(std::vector<OpCase>& cases) {
  const auto add_prelu = [&](const char* name, core::Shape slope) {
    cases.push_back(
        {.name = std::string("binary/prelu_") + name,
         .inputs = {{.shape = {2, 3, 5, 7}, .apart = 0.01}, {.shape = std::move(slope)}},
         .build = [](GraphBuilder& b, const Inputs& in) {
           return Inputs{binary(b, BinaryKind::kPRelu, in[0], in[1])};
         }});
  };
  add_prelu("channels", {3, 1, 1});
  add_prelu("one", {1});
  add_prelu("elements", {2, 3, 5, 7});
}

void add_integers(std::vector<OpCase>& cases) {
  const auto add_kind = [&](const char* name, BinaryKind kind, core::DType dtype, double low,
                            double high) {
    CaseInput input{.shape = {3, 17}, .low = low, .high = high, .dtype = dtype};
    CaseInput row = input;
    row.shape = {17};
    cases.push_back({.name = std::string("binary/") + name,
                     .inputs = {std::move(input), std::move(row)},
                     .build = [kind](GraphBuilder& b, const Inputs& in) {
                       return Inputs{binary(b, kind, in[0], in[1])};
                     }});
  };
  using core::DType;
  add_kind("add_int64", BinaryKind::kAdd, DType::kInt64, -9, 9);
  add_kind("div_int32", BinaryKind::kDiv, DType::kInt32, -9, 9);
  add_kind("mod_int64", BinaryKind::kMod, DType::kInt64, -9, 9);
  add_kind("pow_int64", BinaryKind::kPow, DType::kInt64, -3, 3);
  add_kind("max_int32", BinaryKind::kMax, DType::kInt32, -9, 9);
  add_kind("prelu_int32", BinaryKind::kPRelu, DType::kInt32, -9, 9);
  add_kind("bit_and_int16", BinaryKind::kBitAnd, DType::kInt16, -99, 99);
  add_kind("bit_or_uint8", BinaryKind::kBitOr, DType::kUint8, 0, 255);
  add_kind("bit_xor_int64", BinaryKind::kBitXor, DType::kInt64, -99, 99);
  add_kind("shift_left_uint8", BinaryKind::kShiftLeft, DType::kUint8, 0, 9);
  add_kind("shift_right_uint32", BinaryKind::kShiftRight, DType::kUint32, 0, 40);
  add_kind("equal_int64", BinaryKind::kEqual, DType::kInt64, -3, 3);
  add_kind("less_int64", BinaryKind::kLess, DType::kInt64, -3, 3);
  add_kind("less_or_equal_int64", BinaryKind::kLessOrEqual, DType::kInt64, -3, 3);
  add_kind("greater_float", BinaryKind::kGreater, DType::kFloat32, -3, 3);
  add_kind("greater_or_equal_int8", BinaryKind::kGreaterOrEqual, DType::kInt8, -3, 3);
  add_kind("and", BinaryKind::kAnd, DType::kBool, 0, 1);
  add_kind("or", BinaryKind::kOr, DType::kBool, 0, 1);
  add_kind("xor", BinaryKind::kXor, DType::kBool, 0, 1);
}

}  // namespace

std::vector<OpCase> binary_cases() {
  std::vector<OpCase> cases;
  add_shapes(cases);
  add_functions(cases);
  add_extremes(cases);
  add_prelus(cases);
  add_integers(cases);
  return cases;
}

}  // namespace lowtide::ops
