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

TEST_F(KnownTest, NumbersThatAreNoIntegersAreComparedAndComputed) {
  const auto apply = [](std::string_view op, double a, double b) {
    return text(evaluate_binary(op, kReal, Scalar::number(a), Scalar::number(b)));
  };
  EXPECT_EQ(apply("Add", 0.5, 1.25), "real 1.75");
  EXPECT_EQ(apply("Sub", 0.5, 1.25), "real -0.75");
  EXPECT_EQ(apply("Pow", 2, -1), "real 0.5");
  EXPECT_EQ(apply("Min", 0.5, -0.5), "real -0.5");
  EXPECT_EQ(apply("Max", 0.5, -0.5), "real 0.5");
  EXPECT_EQ(apply("Mod", 5.5, 2), "unknown");
  struct Comparison {
    std::string_view op;
    std::string below, same, above;
  };
  for (const Comparison& one :
       {Comparison{"Equal", "0", "1", "0"}, Comparison{"Less", "1", "0", "0"},
        Comparison{"LessOrEqual", "1", "1", "0"}, Comparison{"Greater", "0", "0", "1"},
        Comparison{"GreaterOrEqual", "0", "1", "1"}}) {
    EXPECT_EQ(apply(one.op, 0.5, 0.75), one.below) << one.op;
    EXPECT_EQ(apply(one.op, 0.5, 0.5), one.same) << one.op;
    EXPECT_EQ(apply(one.op, 0.75, 0.5), one.above) << one.op;
    EXPECT_EQ(apply(one.op, NAN, 0.5), "unknown") << one.op;
    EXPECT_EQ(apply(one.op, 0.5, NAN), "unknown") << one.op;
  }
  const auto of_one = [](std::string_view op, double x) {
    return text(evaluate_unary(op, kReal, Scalar::number(x)));
  };
  EXPECT_EQ(of_one("Neg", 1.5), "real -1.5");
  EXPECT_EQ(of_one("Abs", -1.5), "real 1.5");
  EXPECT_EQ(of_one("Floor", -1.5), "real -2");
  EXPECT_EQ(of_one("Ceil", -1.5), "real -1");
  EXPECT_EQ(of_one("Reciprocal", -0.5), "real -2");
  EXPECT_EQ(of_one("Sqrt", -1), "unknown");
  EXPECT_EQ(text(evaluate_unary("Floor", ElementType::kFloat16, Scalar::number(1.5))), "unknown");
  EXPECT_EQ(text(evaluate_cast(kReal, ElementType::kBool, Scalar::number(0.5))), "1");
  EXPECT_EQ(text(evaluate_cast(kReal, ElementType::kBool, Scalar::number(0))), "0");
}

TEST_F(KnownTest, IntegerExpressionsFollowTheOperator) {
  const auto apply = [&](std::string_view op, int64_t b) {
    return text(evaluate_binary(op, kInt, h(), Scalar::of(b)));
  };
  EXPECT_EQ(apply("Sub", 3), (h_ - 3).to_string());
  EXPECT_EQ(apply("Mod", 3), mod(h_, 3).to_string());
  EXPECT_EQ(apply("Mod", 0), "unknown");
  EXPECT_EQ(apply("Max", 64), max(h_, 64).to_string());
  EXPECT_EQ(apply("Less", 64), less(h_, 64).to_string());
  EXPECT_EQ(apply("Greater", 64), less(64, h_).to_string());
  EXPECT_EQ(apply("LessOrEqual", 4096), "1");
  EXPECT_EQ(apply("GreaterOrEqual", 2), logical_not(less(h_, 2)).to_string());
  EXPECT_EQ(text(evaluate_binary("Div", kInt, Scalar::of(h_ - 5), Scalar::of(2))),
            "unknown");  // may be below 0
  EXPECT_EQ(text(evaluate_unary("Neg", kInt, h())), (Dim(0) - h_).to_string());
  const auto truth = [](std::string_view op, int64_t a, int64_t b) {
    return text(evaluate_binary(op, ElementType::kBool, Scalar::of(a), Scalar::of(b)));
  };
  EXPECT_EQ(truth("And", 1, 0) + truth("And", 1, 1), "01");
  EXPECT_EQ(truth("Or", 1, 0) + truth("Or", 0, 0), "10");
}

TEST_F(KnownTest, QuotientsFollowTheOperator) {
  const auto real = evaluate_cast(kInt, kReal, h());
  const auto half = *evaluate_binary("Div", kReal, *real, Scalar::number(2));
  const auto apply = [&](std::string_view op, const Scalar& b) {
    return text(evaluate_binary(op, kReal, half, b));
  };
  EXPECT_EQ(apply("Sub", Scalar::number(0.5)), "2·h - 2 / 4");
  EXPECT_EQ(apply("Div", Scalar::number(0.25)), "4·h / 2");
  EXPECT_EQ(apply("Div", Scalar::number(-1)), "unknown");
  EXPECT_EQ(apply("Max", Scalar::number(0.5)), max(2 * h_, 2).to_string() + " / 4");
  EXPECT_EQ(apply("Greater", Scalar::number(0.25)), "1");  // h is at least 1
  EXPECT_EQ(apply("Pow", Scalar::number(2)), "unknown");
  EXPECT_EQ(apply("Add", Scalar::number(NAN)), "unknown");
  EXPECT_EQ(apply("Add", Scalar::number(1e9)), "unknown");
  EXPECT_EQ(text(evaluate_unary("Neg", kReal, half)), "-h / 2");
  EXPECT_EQ(text(evaluate_cast(kReal, ElementType::kBool, half)), "unknown");
  EXPECT_EQ(text(evaluate_cast(kReal, ElementType::kFloat16, half)), "unknown");
  EXPECT_EQ(text(evaluate_cast(kReal, kInt, *evaluate_unary("Neg", kReal, half))), "unknown");
}

TEST_F(KnownTest, AChoiceIsMadeOrStaysOne) {
  const auto greater = *evaluate_binary("Greater", kInt, h(), Scalar::of(8));
  EXPECT_EQ(text(evaluate_where(greater, h(), Scalar::of(8))), select(less(8, h_), h_, 8).to_string());
  EXPECT_EQ(text(evaluate_where(greater, Scalar::number(0.5), Scalar::of(8))), "unknown");
  EXPECT_EQ(text(evaluate_where(Scalar::of(1), Scalar::number(0.5), Scalar::of(8))), "real 0.5");
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
