// SPDX-License-Identifier: Apache-2.0
//
// What the comparison with another runtime does not show: results worked out by hand, faults and refusals.
#include "kernels/run_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/testing/results.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
constexpr ElementType kTypeOf = ElementType::kFloat32;
template <>
constexpr ElementType kTypeOf<double> = ElementType::kFloat64;
template <>
constexpr ElementType kTypeOf<int64_t> = ElementType::kInt64;
template <>
constexpr ElementType kTypeOf<int32_t> = ElementType::kInt32;
template <>
constexpr ElementType kTypeOf<uint8_t> = ElementType::kUint8;

// Operands of one call, dense, in order.
class Call {
 public:
  template <typename T>
  Call& in(std::vector<int64_t> shape, std::vector<T> values) {
    inputs_.push_back(TensorSpec::dense(kTypeOf<T>, shape));
    input_bytes_.emplace_back(values.size() * sizeof(T));
    if (!values.empty()) {
      std::memcpy(input_bytes_.back().data(), values.data(), values.size() * sizeof(T));
    }
    return *this;
  }
  Call& absent() {
    inputs_.push_back(absent_operand());
    input_bytes_.emplace_back();
    return *this;
  }
  Call& out(ElementType type, std::vector<int64_t> shape) {
    outputs_.push_back(TensorSpec::dense(type, shape));
    return *this;
  }

  Result<void> run(Op op, const Attributes& attributes) {
    std::vector<TensorView> input_views;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      input_views.push_back(inputs_[i].at(inputs_[i].rank < 0 ? nullptr : input_bytes_[i].data()));
    }
    output_bytes_.clear();
    for (const TensorSpec& spec : outputs_) {
      output_bytes_.emplace_back(static_cast<size_t>(spec.extent_bytes()), std::byte{0xcd});
    }
    std::vector<TensorView> output_views;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      output_views.push_back(outputs_[i].at(output_bytes_[i].data()));
    }
    const ConcreteOp concrete{op, &attributes, inputs_, outputs_};
    return run_reference(concrete, input_views, output_views);
  }

  template <typename T>
  std::vector<T> result(size_t i = 0) const {
    std::vector<T> values(output_bytes_[i].size() / sizeof(T));
    std::memcpy(values.data(), output_bytes_[i].data(), values.size() * sizeof(T));
    return values;
  }

  template <typename T>
  std::vector<T> values(Op op, const Attributes& attributes) {
    const Result<void> ran = run(op, attributes);
    EXPECT_TRUE(ran.has_value()) << (ran ? "" : ran.error().to_string());
    return result<T>();
  }

 private:
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  std::vector<std::vector<std::byte>> input_bytes_;
  std::vector<std::vector<std::byte>> output_bytes_;
};

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(Reference, EveryOperatorHasOneButTheUsersOwn) {
  for (int op = 1; is_valid(static_cast<Op>(op)); ++op) {
    if (static_cast<Op>(op) == Op::kCustom) {
      continue;
    }
    EXPECT_NE(find_reference(static_cast<Op>(op)), nullptr) << to_string(static_cast<Op>(op));
  }
}

TEST(Reference, SaysWhatItHasNoImplementationFor) {
  EXPECT_ERROR(
      Call().in<float>({1}, {1}).out(ElementType::kFloat32, {1}).run(Op::kCustom, CustomAttributes{}),
      StatusCode::kUnimplemented, "Custom has no reference implementation.");
  EXPECT_ERROR(
      Call()
          .in<float>({2, 3}, counted(6))
          .out(ElementType::kFloat32, {3, 2})
          .run(Op::kTranspose, TransposeAttributes{{0, 1, 2}}),
      StatusCode::kUnimplemented,
      "The reference implementation of Transpose does not run it: the permutation and operands differ "
      "in rank.");
}

// One scalar operation over a vector.
template <typename T>
std::vector<T> apply(ScalarOp op, std::vector<T> a, double v0 = 0, double v1 = 0) {
  TileProgram program({kTypeOf<T>});
  program.append(op, {0}, v0, v1);
  const auto count = static_cast<int64_t>(a.size());
  return Call()
      .in<T>({count}, std::move(a))
      .out(kTypeOf<T>, {count})
      .template values<T>(Op::kElementwise, ElementwiseAttributes{program});
}

template <typename T>
std::vector<T> apply2(ScalarOp op, std::vector<T> a, std::vector<T> b) {
  TileProgram program({kTypeOf<T>, kTypeOf<T>});
  program.append(op, {0, 1});
  const auto count = static_cast<int64_t>(a.size());
  return Call()
      .in<T>({count}, std::move(a))
      .template in<T>({count}, std::move(b))
      .out(kTypeOf<T>, {count})
      .template values<T>(Op::kElementwise, ElementwiseAttributes{program});
}

TEST(Reference, ScalarOperationsOnFloats) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(apply<float>(ScalarOp::kRelu, {-1, 0, 2, kInfinity}), ElementsAre(0, 0, 2, kInfinity));
  EXPECT_TRUE(std::isnan(apply<float>(ScalarOp::kRelu, {nan})[0]));
  EXPECT_TRUE(std::isnan(apply<float>(ScalarOp::kClip, {nan}, 0, 6)[0]));
  EXPECT_THAT(apply<float>(ScalarOp::kClip, {-1, 3, 7}, 0, 6), ElementsAre(0, 3, 6));
  EXPECT_THAT(apply<float>(ScalarOp::kRound, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f}), ElementsAre(0, 2, 2, 0, -2));
  EXPECT_THAT(apply<float>(ScalarOp::kHardSwish, {-3, 0, 3, 6}), ElementsAre(0, 0, 3, 6));
  EXPECT_THAT(apply<float>(ScalarOp::kHardSigmoid, {-10, 0, 1, 10}, 0.25, 0.5),
              ElementsAre(0, 0.5f, 0.75f, 1));
  EXPECT_THAT(apply<float>(ScalarOp::kLeakyRelu, {-4, 4}, 0.25), ElementsAre(-1, 4));
  EXPECT_THAT(apply<float>(ScalarOp::kSigmoid, {0, -kInfinity, kInfinity}), ElementsAre(0.5f, 0, 1));
  EXPECT_FLOAT_EQ(apply<float>(ScalarOp::kErf, {0.5f})[0], 0.52049988f);
  EXPECT_FLOAT_EQ(apply<float>(ScalarOp::kGelu, {1})[0], 0.84134475f);
  EXPECT_FLOAT_EQ(apply<float>(ScalarOp::kSilu, {1})[0], 0.73105858f);
  EXPECT_TRUE(std::isnan(apply2<float>(ScalarOp::kMin, {nan}, {1})[0]));
  EXPECT_TRUE(std::isnan(apply2<float>(ScalarOp::kMax, {1}, {nan})[0]));
  EXPECT_THAT(apply2<float>(ScalarOp::kPow, {2, 4, 9}, {10, 0.5f, -1}), ElementsAre(1024, 2, 1.0f / 9));
  // Denormals are flushed.
  EXPECT_THAT(apply2<float>(ScalarOp::kAdd, {1e-40f}, {0}), ElementsAre(0));
}

TEST(Reference, ScalarOperationsOnIntegers) {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  EXPECT_THAT(apply2<int32_t>(ScalarOp::kDiv, {7, -7, 7, kLeast, 5}, {2, 2, -2, -1, 0}),
              ElementsAre(3, -3, -3, kLeast, 0));
  EXPECT_THAT(apply2<int32_t>(ScalarOp::kAdd, {std::numeric_limits<int32_t>::max()}, {1}),
              ElementsAre(kLeast));
  EXPECT_THAT(apply2<int64_t>(ScalarOp::kPow, {3, -2, 5, -1, 2}, {4, 3, 0, -3, -1}),
              ElementsAre(81, -8, 1, -1, 0));
  EXPECT_THAT(apply2<uint8_t>(ScalarOp::kSub, {3}, {5}), ElementsAre(254));
  EXPECT_THAT(apply<int32_t>(ScalarOp::kAbs, {-5, 5, kLeast}), ElementsAre(5, 5, kLeast));
  EXPECT_THAT(apply<int64_t>(ScalarOp::kClip, {-5, 5, 50}, -kInfinity, 9), ElementsAre(-5, 5, 9));
}

TEST(Reference, Casts) {
  const auto cast = [](std::vector<float> values, ElementType type) {
    TileProgram program({ElementType::kFloat32});
    program.append_cast(0, type);
    Call call;
    const auto count = static_cast<int64_t>(values.size());
    call.in<float>({count}, std::move(values)).out(type, {count});
    EXPECT_TRUE(call.run(Op::kElementwise, ElementwiseAttributes{program}).has_value());
    return call;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(cast({-1.75f, 1.75f, 1e20f, -1e20f, nan}, ElementType::kInt32).result<int32_t>(),
              ElementsAre(-1, 1, INT32_MAX, INT32_MIN, 0));
  EXPECT_THAT(cast({255.5f, 256, -1}, ElementType::kUint8).result<uint8_t>(), ElementsAre(255, 255, 0));
  EXPECT_THAT(cast({0, 0.25f, -2, nan}, ElementType::kBool).result<uint8_t>(), ElementsAre(0, 1, 1, 1));
  // 1 + 2^−11 is half-way between 1 and the next half-precision value: to even.
  EXPECT_THAT(
      cast({1, -2, 1.00048828125f, 1.0014648f, 65519, 65520, 0x1p-24f, 0x1p-26f}, ElementType::kFloat16)
          .result<uint16_t>(),
      ElementsAre(0x3c00, 0xc000, 0x3c00, 0x3c02, 0x7bff, 0x7c00, 0x0001, 0x0000));
  EXPECT_THAT(cast({1, 1.00390625f, 1.01171875f}, ElementType::kBFloat16).result<uint16_t>(),
              ElementsAre(0x3f80, 0x3f80, 0x3f82));
}

TEST(Reference, HalfRoundTripsThroughFloat) {
  std::vector<float> wide(65536);
  TileProgram widen({ElementType::kFloat16});
  widen.append_cast(0, ElementType::kFloat32);
  TileProgram narrow({ElementType::kFloat32});
  narrow.append_cast(0, ElementType::kFloat16);
  std::vector<uint16_t> bits(65536);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  const Attributes widening = ElementwiseAttributes{widen};
  const Attributes narrowing = ElementwiseAttributes{narrow};
  const std::array<int64_t, 1> shape = {65536};
  const std::array half = {TensorSpec::dense(ElementType::kFloat16, shape)};
  const std::array single = {TensorSpec::dense(ElementType::kFloat32, shape)};
  std::vector<uint16_t> back(65536);
  const std::array bits_view = {half[0].at(reinterpret_cast<std::byte*>(bits.data()))};
  const std::array wide_view = {single[0].at(reinterpret_cast<std::byte*>(wide.data()))};
  const std::array back_view = {half[0].at(reinterpret_cast<std::byte*>(back.data()))};
  ASSERT_TRUE(run_reference({Op::kElementwise, &widening, half, single}, bits_view, wide_view).has_value());
  ASSERT_TRUE(run_reference({Op::kElementwise, &narrowing, single, half}, wide_view, back_view).has_value());
  EXPECT_EQ(wide[0x3555], 0.333251953125f);
  EXPECT_EQ(wide[0x0001], 0x1p-24f);
  for (size_t i = 0; i < bits.size(); ++i) {
    const bool is_nan = (bits[i] & 0x7c00) == 0x7c00 && (bits[i] & 0x3ff) != 0;
    if (is_nan) {
      EXPECT_TRUE(std::isnan(wide[i])) << i;
    } else {
      EXPECT_EQ(back[i], bits[i]);
    }
  }
}

TEST(Reference, ElementwiseBroadcasts) {
  TileProgram program({ElementType::kFloat32, ElementType::kFloat32});
  program.append(ScalarOp::kSub, {0, 1});
  EXPECT_THAT(Call()
                  .in<float>({2, 1}, {10, 20})
                  .in<float>({3}, {1, 2, 3})
                  .out(ElementType::kFloat32, {2, 3})
                  .values<float>(Op::kElementwise, ElementwiseAttributes{program}),
              ElementsAre(9, 8, 7, 19, 18, 17));
}

TEST(Reference, ConvolutionsByHand) {
  // Kernel (1, 10), stride 2, one element of padding before: (0,1), (2,3), (4,5).
  EXPECT_THAT(Call()
                  .in<float>({1, 1, 5}, counted(5))
                  .in<float>({1, 1, 2}, {1, 10})
                  .in<float>({1}, {0.5f})
                  .out(ElementType::kFloat32, {1, 1, 3})
                  .values<float>(Op::kConv, ConvAttributes{{2}, {1}, {1}, {0}, 1, {}}),
              ElementsAre(10.5f, 32.5f, 54.5f));
  // The transpose spreads each input over two outputs, three apart.
  EXPECT_THAT(Call()
                  .in<float>({1, 1, 2}, {1, 2})
                  .in<float>({1, 1, 2}, {1, 10})
                  .out(ElementType::kFloat32, {1, 1, 5})
                  .values<float>(Op::kConvTranspose, ConvAttributes{{3}, {1}, {0}, {0}, 1, {}}),
              ElementsAre(1, 10, 0, 2, 20));
}

TEST(Reference, EpilogueSeesTheRoundedResult) {
  TileProgram epilogue({ElementType::kFloat32, ElementType::kFloat32});
  epilogue.append(ScalarOp::kRelu, {epilogue.append(ScalarOp::kSub, {0, 1})});
  EXPECT_THAT(Call()
                  .in<float>({1, 2}, {1, 2})
                  .in<float>({2, 3}, counted(6))
                  .in<float>({3}, {100, 200, 300})
                  .in<float>({3}, {0, 1000, 1})
                  .out(ElementType::kFloat32, {1, 3})
                  .values<float>(Op::kMatMul, MatMulAttributes{epilogue}),
              ElementsAre(109, 0, 314));
}

TEST(Reference, PoolsWithWindowsPastTheEnd) {
  // Windows at 0, 2 and 4 of three elements each; the last holds one element.
  Call average;
  average.in<float>({1, 1, 5}, counted(5)).out(ElementType::kFloat32, {1, 1, 3});
  EXPECT_THAT(average.values<float>(Op::kAveragePool, PoolAttributes{{3}, {2}, {1}, {0}, {0}, false}),
              ElementsAre(2, 4, 5));
  // With one element of padding counted the last window has two positions, not three.
  EXPECT_THAT(average.values<float>(Op::kAveragePool, PoolAttributes{{3}, {2}, {1}, {0}, {1}, true}),
              ElementsAre(2, 4, 2.5f));
  EXPECT_THAT(average.values<float>(Op::kMaxPool, PoolAttributes{{2}, {1}, {2}, {0}, {0}, false}),
              ElementsAre(3, 4, 5));
}

TEST(Reference, SoftmaxOfMaskedRows) {
  const auto values = Call()
                          .in<float>({2, 2}, {-kInfinity, 0, -kInfinity, -kInfinity})
                          .out(ElementType::kFloat32, {2, 2})
                          .values<float>(Op::kSoftmax, SoftmaxAttributes{1});
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[1], 1);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST(Reference, PadsByEveryMode) {
  const auto pad = [](PadMode mode, Dims begin, Dims end, int64_t extent) {
    return Call()
        .in<int32_t>({3}, {1, 2, 3})
        .out(ElementType::kInt32, {extent})
        .values<int32_t>(Op::kPad, PadAttributes{mode, std::move(begin), std::move(end), 9});
  };
  EXPECT_THAT(pad(PadMode::kConstant, {2}, {1}, 6), ElementsAre(9, 9, 1, 2, 3, 9));
  EXPECT_THAT(pad(PadMode::kEdge, {2}, {1}, 6), ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(pad(PadMode::kReflect, {2}, {1}, 6), ElementsAre(3, 2, 1, 2, 3, 2));
  EXPECT_THAT(pad(PadMode::kWrap, {2}, {1}, 6), ElementsAre(2, 3, 1, 2, 3, 1));
  EXPECT_THAT(pad(PadMode::kConstant, {-1}, {1}, 3), ElementsAre(2, 3, 9));
  EXPECT_THAT(pad(PadMode::kEdge, {1}, {-2}, 2), ElementsAre(1, 1));
}

TEST(Reference, MovesElements) {
  EXPECT_THAT(Call()
                  .in<int32_t>({5}, {0, 1, 2, 3, 4})
                  .out(ElementType::kInt32, {2})
                  .values<int32_t>(Op::kSlice, SliceAttributes{{4}, {-3}}),
              ElementsAre(4, 1));
  EXPECT_THAT(Call()
                  .in<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6})
                  .out(ElementType::kUint8, {3, 2})
                  .values<uint8_t>(Op::kTranspose, TransposeAttributes{{1, 0}}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Call()
                  .in<int64_t>({2, 1}, {1, 2})
                  .in<int64_t>({2, 2}, {3, 4, 5, 6})
                  .out(ElementType::kInt64, {2, 3})
                  .values<int64_t>(Op::kConcat, ConcatAttributes{1}),
              ElementsAre(1, 3, 4, 2, 5, 6));
  EXPECT_THAT(Call()
                  .in<double>({2, 1}, {1, 2})
                  .out(ElementType::kFloat64, {2, 2})
                  .values<double>(Op::kExpand, NoAttributes{}),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(Call().out(ElementType::kInt64, {4}).values<int64_t>(Op::kRange, RangeAttributes{5, -2}),
              ElementsAre(5, 3, 1, -1));
  EXPECT_THAT(Call()
                  .out(ElementType::kInt64, {2, 2})
                  .values<int64_t>(Op::kDimTensor, DimTensorAttributes{{1, -1, 64, 7}}),
              ElementsAre(1, -1, 64, 7));
  EXPECT_THAT(Call().out(ElementType::kFloat32, {2}).values<float>(Op::kFill, FillAttributes{-0.5}),
              ElementsAre(-0.5f, -0.5f));
}

TEST(Reference, ReadsNegativeStrides) {
  const Attributes attributes = NoAttributes{};
  std::vector<float> x = {1, 2, 3};
  std::vector<float> y(3);
  const std::array<int64_t, 1> shape = {3};
  std::array in = {TensorSpec::dense(ElementType::kFloat32, shape)};
  in[0].strides[0] = -1;
  const std::array out = {TensorSpec::dense(ElementType::kFloat32, shape)};
  const std::array in_view = {in[0].at(reinterpret_cast<std::byte*>(x.data() + 2))};
  const std::array out_view = {out[0].at(reinterpret_cast<std::byte*>(y.data()))};
  ASSERT_TRUE(run_reference({Op::kCopy, &attributes, in, out}, in_view, out_view).has_value());
  EXPECT_THAT(y, ElementsAre(3, 2, 1));
}

TEST(Reference, GatherNamesTheIndexOutOfRange) {
  Call call;
  call.in<float>({3}, {10, 20, 30}).in<int64_t>({3}, {-3, 2, 1}).out(ElementType::kFloat32, {3});
  EXPECT_THAT(call.values<float>(Op::kGather, GatherAttributes{0}), ElementsAre(10, 30, 20));
  Call fault;
  fault.in<float>({3}, {10, 20, 30}).in<int64_t>({2}, {3, 0}).out(ElementType::kFloat32, {2});
  const auto result = fault.run(Op::kGather, GatherAttributes{0});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(result.error().message(),
            "Operand (1) of Gather holds the index (3), and the axis that it indexes has (3) positions.");
  EXPECT_THAT(fault.result<float>(), ElementsAre(30, 10)) << "the access is clamped";
  Call empty;
  empty.in<float>({0}, {}).in<int64_t>({1}, {0}).out(ElementType::kFloat32, {1});
  EXPECT_FALSE(empty.run(Op::kGather, GatherAttributes{0}).has_value());
  EXPECT_THAT(empty.result<float>(), ElementsAre(0));
}

TEST(Reference, LstmByHand) {
  // One feature, one hidden unit, two steps; gates i, o, f, c.
  const auto sigmoid = [](double a) { return 1 / (1 + std::exp(-a)); };
  const std::array<double, 4> w = {0.5, -0.25, 1, 2};
  const std::array<double, 4> r = {0.125, 0.5, -1, 0.25};
  const std::array<double, 8> b = {0.1, 0.2, 0.3, 0.4, 0, 0, 0.5, 0};
  const std::array<double, 2> x = {1, -2};
  double h = 0.5;
  double c = -0.5;
  std::vector<double> expected;
  for (const double value : x) {
    std::array<double, 4> gate;
    for (size_t g = 0; g < 4; ++g) {
      gate[g] = w[g] * value + r[g] * h + b[g] + b[4 + g];
    }
    c = sigmoid(gate[2]) * c + sigmoid(gate[0]) * std::tanh(gate[3]);
    h = sigmoid(gate[1]) * std::tanh(c);
    expected.push_back(h);
  }
  Call call;
  call.in<double>({2, 1, 1}, {1, -2})
      .in<double>({1, 4, 1}, {w.begin(), w.end()})
      .in<double>({1, 4, 1}, {r.begin(), r.end()})
      .in<double>({1, 8}, {b.begin(), b.end()})
      .absent()
      .in<double>({1, 1, 1}, {0.5})
      .in<double>({1, 1, 1}, {-0.5})
      .out(ElementType::kFloat64, {2, 1, 1, 1})
      .out(ElementType::kFloat64, {1, 1, 1})
      .out(ElementType::kFloat64, {1, 1, 1});
  ASSERT_TRUE(call.run(Op::kLstm, LstmAttributes{LstmDirection::kForward, 1}).has_value());
  EXPECT_NEAR(call.result<double>(0)[0], expected[0], 1e-15);
  EXPECT_NEAR(call.result<double>(0)[1], expected[1], 1e-15);
  EXPECT_NEAR(call.result<double>(1)[0], h, 1e-15);
  EXPECT_NEAR(call.result<double>(2)[0], c, 1e-15);
}

TEST(Reference, RefusesWhatItDoesNotRun) {
  Call call;
  call.in<int32_t>({1, 1, 1, 1}, {1}).in<int32_t>({1, 1, 1, 1}, {1}).out(ElementType::kInt32, {1, 1, 1, 1});
  EXPECT_FAILS(call.run(Op::kConv, ConvAttributes{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}}),
               StatusCode::kUnimplemented, "not of one floating-point type");
  const Attributes attributes = NoAttributes{};
  const auto spec = [](ElementType type, std::vector<int64_t> shape) {
    return TensorSpec::dense(type, shape);
  };
  const std::array specs = {spec(ElementType::kFloat32, {2, 3})};
  const ConcreteOp copy{Op::kCopy, &attributes, specs, specs};
  alignas(64) std::array<std::byte, 64> bytes{};
  const auto views = [&](const TensorSpec& other) { return std::array{other.at(bytes.data())}; };
  EXPECT_ERROR(run_reference(copy, {}, {}), StatusCode::kInvalidArgument,
               "Copy has (1) inputs, and (0) views of them are given.");
  const auto fits = views(specs[0]);
  TensorSpec turned = specs[0];
  std::swap(turned.strides[0], turned.strides[1]);
  struct Case {
    TensorView view;
    std::string is;
  };
  for (const Case& c :
       {Case{spec(ElementType::kInt32, {2, 3}).at(bytes.data()), "int32[2,3]"},
        Case{spec(ElementType::kFloat32, {3, 2}).at(bytes.data()), "float32[3,2]"},
        Case{spec(ElementType::kFloat32, {6}).at(bytes.data()), "float32[6]"},
        Case{turned.at(bytes.data()), turned.to_string()}, Case{specs[0].at(nullptr), "absent"}}) {
    const std::array wrong = {c.view};
    EXPECT_ERROR(run_reference(copy, wrong, fits), StatusCode::kInvalidArgument,
                 fmt::format("The view of input (0) of Copy is {}, and its spec is float32[2,3].", c.is));
    EXPECT_ERROR(run_reference(copy, fits, wrong), StatusCode::kInvalidArgument,
                 fmt::format("The view of output (0) of Copy is {}, and its spec is float32[2,3].", c.is));
  }
}

}  // namespace
}  // namespace weir
