// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/known.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace weir::onnx_import {
namespace {

constexpr ElementType kInt = ElementType::kInt64;
constexpr ElementType kReal = ElementType::kFloat32;

// As text: "5", "h / 2", "real 0.5", "unknown".
std::string text(const std::optional<Scalar>& scalar) {
  if (!scalar) {
    return "unknown";
  }
  if (scalar->real) {
    return fmt::format("real {}", *scalar->real);
  }
  const std::string numerator = scalar->numerator.to_string();
  return scalar->denominator.is_constant(1) ? numerator : numerator + " / " + scalar->denominator.to_string();
}

class KnownTest : public ::testing::Test {
 protected:
  SymbolTable symbols_;
  Dim h_ = symbols_.add("h", {1, 4096}, {});
  Scalar h() const { return Scalar::of(h_); }
};

TEST_F(KnownTest, IntegersFollowOnnx) {
  const auto apply = [](std::string_view op, int64_t a, int64_t b) {
    return text(evaluate_binary(op, kInt, Scalar::of(a), Scalar::of(b)));
  };
  EXPECT_EQ(apply("Div", -7, 2), "-3");  // towards zero
  EXPECT_EQ(apply("Div", 7, 0), "unknown");
  EXPECT_EQ(apply("Mod", -7, 3), "2");  // the divisor's sign
  EXPECT_EQ(apply("Mod", -7, -3), "-1");
  EXPECT_EQ(apply("Min", 4, -2), "-2");
  EXPECT_EQ(apply("GreaterOrEqual", 4, 4), "1");
  EXPECT_EQ(apply("Less", 4, 4), "0");
  EXPECT_EQ(apply("Xor", 1, 1), "0");
  EXPECT_EQ(apply("Erf", 1, 1), "unknown");
  EXPECT_EQ(text(evaluate_binary("Add", ElementType::kInt32, Scalar::of(INT32_MAX), Scalar::of(1))),
            "unknown");
  EXPECT_EQ(text(evaluate_unary("Abs", kInt, Scalar::of(-3))), "3");
  EXPECT_EQ(text(evaluate_unary("Not", ElementType::kBool, Scalar::of(0))), "1");
}

TEST_F(KnownTest, ExpressionsStayExact) {
  EXPECT_EQ(text(evaluate_binary("Div", kInt, h(), Scalar::of(2))), floor_div(h_, 2).to_string());
  // ⌊h · 0.5⌋ in floating point is ⌊h / 2⌋.
  const auto real = evaluate_cast(kInt, kReal, h());
  ASSERT_TRUE(real);
  const auto half = evaluate_binary("Mul", kReal, *real, Scalar::number(0.5));
  ASSERT_TRUE(half);
  EXPECT_EQ(text(half), "h / 2");
  EXPECT_EQ(text(evaluate_unary("Floor", kReal, *half)), floor_div(h_, 2).to_string());
  EXPECT_EQ(text(evaluate_unary("Ceil", kReal, *half)), ceil_div(h_, 2).to_string());
  EXPECT_EQ(text(evaluate_cast(kReal, kInt, *half)), floor_div(h_, 2).to_string());
  EXPECT_EQ(text(evaluate_binary("Add", kReal, *half, Scalar::number(0.25))), "4·h + 2 / 8");
  EXPECT_EQ(text(evaluate_binary("Less", kReal, *half, Scalar::number(5000))), "1");
  // 0.7 is no short binary fraction: what float32 makes of the product is not known.
  EXPECT_EQ(text(evaluate_binary("Mul", kReal, *real, Scalar::number(round_to(kReal, 0.7)))), "unknown");
  EXPECT_EQ(text(evaluate_unary("Sqrt", kReal, *real)), "unknown");
  EXPECT_EQ(text(evaluate_unary("Reciprocal", kReal, *real)), "1 / h");
}

TEST_F(KnownTest, NumbersAreRoundedToTheirType) {
  const auto third = evaluate_binary("Div", kReal, Scalar::number(1), Scalar::number(3));
  EXPECT_EQ(*third->real, static_cast<double>(1.0F / 3.0F));
  EXPECT_EQ(*evaluate_unary("Sqrt", kReal, Scalar::number(2))->real, static_cast<double>(std::sqrt(2.0F)));
  EXPECT_EQ(*evaluate_unary("Round", kReal, Scalar::number(2.5))->real, 2);
  EXPECT_EQ(text(evaluate_cast(kReal, kInt, Scalar::number(-2.9))), "-2");
  EXPECT_EQ(text(evaluate_cast(kReal, kInt, Scalar::number(1e30))), "unknown");
  EXPECT_EQ(text(evaluate_cast(kReal, kInt, Scalar::number(NAN))), "unknown");
  EXPECT_EQ(text(evaluate_cast(kInt, ElementType::kInt8, Scalar::of(200))), "unknown");
  EXPECT_EQ(text(evaluate_cast(kInt, ElementType::kBool, Scalar::of(200))), "1");
  EXPECT_EQ(text(evaluate_cast(kInt, kReal, Scalar::of(5))), "real 5");
}

TEST_F(KnownTest, ReadsSixteenBits) {
  EXPECT_EQ(float16_value(0x3c00), 1.0);
  EXPECT_EQ(float16_value(0xc500), -5.0);
  EXPECT_EQ(float16_value(0x7bff), 65504.0);
  EXPECT_EQ(float16_value(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(float16_value(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(float16_value(0x7e00)));
  EXPECT_EQ(bfloat16_value(0xc0a0), -5.0);
}

TEST_F(KnownTest, BroadcastsTransposesAndSlices) {
  const auto list = [](std::vector<int64_t> shape, const std::vector<int64_t>& elements) {
    Known known{std::move(shape), {}};
    for (int64_t element : elements) {
      known.elements.push_back(Scalar::of(element));
    }
    return known;
  };
  const auto elements = [](const Known& known) {
    std::vector<int64_t> numbers;
    for (const Scalar& scalar : known.elements) {
      numbers.push_back(scalar.numerator.constant());
    }
    return numbers;
  };
  using ::testing::ElementsAre;
  const Known matrix = list({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto sum = evaluate_binary("Add", kInt, matrix, list({2, 1}, {10, 20}));
  ASSERT_TRUE(sum);
  EXPECT_THAT(elements(*sum), ElementsAre(11, 12, 13, 24, 25, 26));
  EXPECT_FALSE(evaluate_binary("Add", kInt, matrix, list({2}, {1, 2})));
  EXPECT_THAT(elements(transpose(matrix, {1, 0})), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(elements(slice(matrix, {1, 2}, {-1, -2}, {2, 2})), ElementsAre(6, 4, 3, 1));
  EXPECT_THAT(elements(*broadcast_to(list({2, 1}, {7, 8}), {2, 2})), ElementsAre(7, 7, 8, 8));
  EXPECT_FALSE(broadcast_to(matrix, {3}));
  EXPECT_FALSE(broadcast_to(list({1}, {0}), {2000}));
  EXPECT_THAT(elements(*evaluate_where(list({2}, {1, 0}), list({}, {5}), list({2}, {6, 7}))),
              ElementsAre(5, 7));
}

}  // namespace
}  // namespace weir::onnx_import
