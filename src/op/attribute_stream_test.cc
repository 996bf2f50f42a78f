// SPDX-License-Identifier: Apache-2.0
#include "op/attribute_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TileProgram scaled_relu() {
  TileProgram program({ElementType::kFloat32, ElementType::kFloat32});
  const int scaled = program.append(ScalarOp::kMul, {0, program.immediate(0.25)});
  const int sum = program.append(ScalarOp::kAdd, {scaled, 1});
  program.append(ScalarOp::kClip, {sum}, 0, INFINITY);
  return program;
}

CustomAttributes custom() {
  using Kind = CustomAttribute::Kind;
  CustomAttributes attributes;
  attributes.domain = "com.example";
  attributes.name = "Clip";
  attributes.opset = 3;
  attributes.version = 7;
  attributes.outputs = 2;
  attributes.attributes = {
      {.name = "i", .kind = Kind::kInteger, .integers = {-5}},
      {.name = "r", .kind = Kind::kReal, .reals = {0.5}},
      {.name = "s", .kind = Kind::kText, .text = "a text"},
      {.name = "is", .kind = Kind::kIntegers, .integers = {1, 2, 3}},
      {.name = "rs", .kind = Kind::kReals, .reals = {}},
      {.name = "t",
       .kind = Kind::kTensor,
       .integers = {2, 1},
       .text = std::string("\0\1\2\3", 4),
       .element_type = ElementType::kInt16},
  };
  return attributes;
}

// Attributes of every operator, away from their defaults.
std::vector<std::pair<Op, Attributes>> examples() {
  return {
      {Op::kElementwise, ElementwiseAttributes{scaled_relu()}},
      {Op::kConv, ConvAttributes{{2, 1}, {1, 3}, {1, 0}, {2, 5}, 4, scaled_relu()}},
      {Op::kConvTranspose, ConvAttributes{{2}, {1}, {0}, {1}, 1, {}}},
      {Op::kMatMul, MatMulAttributes{scaled_relu()}},
      {Op::kLstm, LstmAttributes{LstmDirection::kBidirectional, 128}},
      {Op::kMaxPool, PoolAttributes{{3, 3}, {2, 2}, {1, 2}, {1, 1}, {0, 1}, false}},
      {Op::kAveragePool, PoolAttributes{{2}, {2}, {1}, {0}, {1}, true}},
      {Op::kReduce, ReduceAttributes{ReduceKind::kMax, {1, 3}, false}},
      {Op::kSoftmax, SoftmaxAttributes{3}},
      {Op::kLayerNormalization, LayerNormalizationAttributes{2, 1e-12}},
      {Op::kResize, ResizeAttributes{ResizeMode::kCubic,
                                     CoordinateMode::kAlignCorners,
                                     NearestMode::kCeil,
                                     -0.5,
                                     true,
                                     {1, 1, 2, 0.5}}},
      {Op::kPad, PadAttributes{PadMode::kReflect, {0, 1}, {-1, 2}, -0.0}},
      {Op::kGather, GatherAttributes{1}},
      {Op::kReshape, NoAttributes{}},
      {Op::kTranspose, TransposeAttributes{{0, 2, 3, 1}}},
      {Op::kSlice, SliceAttributes{{3, 0}, {-1, 2}}},
      {Op::kConcat, ConcatAttributes{1}},
      {Op::kExpand, NoAttributes{}},
      {Op::kCopy, NoAttributes{}},
      {Op::kFill, FillAttributes{-7.5}},
      {Op::kRange, RangeAttributes{5, -2}},
      {Op::kDimTensor, DimTensorAttributes{{1, -1, 64}}},
      {Op::kCustom, custom()},
  };
}

// Positions in a table in which every Dim has a new entry.
struct Written {
  AttributeStream stream;
  std::vector<Dim> dims;
};

Written write(const Attributes& attributes) {
  Written written;
  written.stream = write_attributes(attributes, [&](const Dim& dim) {
    written.dims.push_back(dim);
    return static_cast<int32_t>(written.dims.size()) - 1;
  });
  return written;
}

std::string error_of(Op op, const AttributeStream& stream, std::span<const Dim> dims) {
  auto result = read_attributes(op, stream, dims);
  return result ? "no error" : result.error().to_string();
}

TEST(AttributeStream, ReadsWhatItWrote) {
  uint32_t seen = 0;
  for (const auto& [op, attributes] : examples()) {
    SCOPED_TRACE(to_string(op));
    seen |= 1u << static_cast<int>(op);
    EXPECT_EQ(attributes.index(), default_attributes(op).index());
    const Written written = write(attributes);
    const auto read = read_attributes(op, written.stream, written.dims);
    ASSERT_TRUE(read.has_value()) << read.error().to_string();
    EXPECT_EQ(*read, attributes);
    if (op == Op::kCustom) {
      continue;  // has a name at least
    }
    const Written defaults = write(default_attributes(op));
    EXPECT_EQ(read_attributes(op, defaults.stream, defaults.dims).value(), default_attributes(op));
  }
  EXPECT_EQ(seen, (2u << static_cast<int>(Op::kCustom)) - 2) << "an operator has no example";
}

TEST(AttributeStream, KeepsItsOrder) {
  const Written written = write(ConvAttributes{{2, 1}, {1, 3}, {10, 11}, {12, 13}, 4, {}});
  EXPECT_THAT(written.stream.integers, ElementsAre(2, 2, 1, 2, 1, 3, 2, 2, 4, 0, 0));
  EXPECT_THAT(written.stream.dims, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(written.dims, ElementsAre(Dim(10), Dim(11), Dim(12), Dim(13)));
  EXPECT_TRUE(written.stream.reals.empty());
}

TEST(AttributeStream, RefusesEveryTruncationAndExcess) {
  for (const auto& [op, attributes] : examples()) {
    SCOPED_TRACE(to_string(op));
    const Written written = write(attributes);
    const auto refuses = [&](const AttributeStream& stream) {
      EXPECT_FALSE(read_attributes(op, stream, written.dims).has_value());
    };
    for (size_t length = 0; length < written.stream.integers.size(); ++length) {
      AttributeStream cut = written.stream;
      cut.integers.resize(length);
      refuses(cut);
    }
    for (size_t length = 0; length < written.stream.reals.size(); ++length) {
      AttributeStream cut = written.stream;
      cut.reals.resize(length);
      refuses(cut);
    }
    for (size_t length = 0; length < written.stream.dims.size(); ++length) {
      AttributeStream cut = written.stream;
      cut.dims.resize(length);
      refuses(cut);
    }
    for (size_t length = 0; length < written.stream.strings.size(); ++length) {
      AttributeStream cut = written.stream;
      cut.strings.resize(length);
      refuses(cut);
    }
    AttributeStream more = written.stream;
    more.integers.push_back(0);
    EXPECT_THAT(error_of(op, more, written.dims), HasSubstr("its operator takes"));
    more = written.stream;
    more.reals.push_back(0);
    refuses(more);
    more = written.stream;
    more.dims.push_back(0);
    refuses(more);
    more = written.stream;
    const size_t texts = more.strings.size();
    more.strings.emplace_back();
    EXPECT_THAT(error_of(op, more, written.dims),
                ::testing::StartsWith(fmt::format(
                    "An attribute stream has ({}) texts, and its operator takes ({}).", texts + 1, texts)));
  }
}

TEST(AttributeStream, RefusesUnknownEnumeratorsAndPositions) {
  EXPECT_THAT(error_of(Op::kReduce, {{4, 0, 1}, {}, {}}, {}), HasSubstr("only (0) to (3) are allowed"));
  EXPECT_THAT(error_of(Op::kReduce, {{4, 0, 1}, {}, {}}, {}), HasSubstr("while reading attribute 'kind'"));
  EXPECT_THAT(error_of(Op::kReduce, {{0, 0, 2}, {}, {}}, {}), HasSubstr("only (0) to (1)"));
  EXPECT_THAT(error_of(Op::kReduce, {{0, -1, 1}, {}, {}}, {}), HasSubstr("value (-1)"));
  EXPECT_THAT(error_of(Op::kReduce, {{0, INT64_MAX, 1}, {}, {}}, {}), HasSubstr("only (0) to (1)"));
  const Dim one = 1;
  EXPECT_THAT(error_of(Op::kRange, {{}, {}, {0, 1}}, {&one, 1}), HasSubstr("names dimension (1)"));
  EXPECT_THAT(error_of(Op::kRange, {{}, {}, {0, -1}}, {&one, 1}), HasSubstr("names dimension (-1)"));
  for (const int unknown : {0, 24, 255}) {
    EXPECT_EQ(error_of(static_cast<Op>(unknown), {}, {}),
              fmt::format("An attribute stream belongs to an unknown operator ({}).", unknown));
  }
  EXPECT_THAT(error_of(Op::kElementwise, {{1, 1, 1, 19, 1, 1, 0, 0}, {0, 0}, {}}, {}),
              HasSubstr("reads operand (1)"));
}

TEST(AttributeStream, RefusesInconsistentAttributes) {
  const auto with = [](const std::function<void(CustomAttributes&)>& change) {
    CustomAttributes attributes = custom();
    change(attributes);
    return attributes;
  };
  const std::string elements = "an attribute of the custom operator holds other elements than its kind";
  const std::string name = "the name of the operator or of its domain is empty or too long";
  const std::string version = "the version of the operator is out of range";
  const std::string axes = "the axes are out of range, out of order or not distinct";
  struct Case {
    Op op;
    Attributes attributes;
    std::string defect;
  };
  std::vector<Case> cases = {
      {Op::kConv, ConvAttributes{{1}, {1, 1}, {0}, {0}, 1, {}},
       "strides, dilations and pads differ in number"},
      {Op::kConv, ConvAttributes{{0}, {1}, {0}, {0}, 1, {}}, "a stride or dilation is out of range"},
      {Op::kConv, ConvAttributes{{1}, {int64_t{1} << 31}, {0}, {0}, 1, {}},
       "a stride or dilation is out of range"},
      {Op::kConv, ConvAttributes{{1}, {1}, {0}, {0}, 0, {}},
       "the number of groups is less than 1 or too large"},
      {Op::kMaxPool, PoolAttributes{{1, 1}, {1}, {1}, {0}, {0}, false},
       "kernel, strides, dilations and pads differ in number"},
      {Op::kMaxPool, PoolAttributes{{-1}, {1}, {1}, {0}, {0}, false},
       "a kernel extent, stride or dilation is out of range"},
      {Op::kReduce, ReduceAttributes{ReduceKind::kSum, {1, 1}, true}, axes},
      {Op::kReduce, ReduceAttributes{ReduceKind::kSum, {2, 1}, true}, axes},
      {Op::kReduce, ReduceAttributes{ReduceKind::kSum, {8}, true}, axes},
      {Op::kTranspose, TransposeAttributes{{0, 2}}, "the permutation does not name every axis once"},
      {Op::kSlice, SliceAttributes{{0, 0}, {1}}, "starts and steps differ in number"},
      {Op::kSlice, SliceAttributes{{0}, {0}}, "a step is zero or out of range"},
      {Op::kSoftmax, SoftmaxAttributes{-1}, "the axis is out of range"},
      {Op::kConcat, ConcatAttributes{8}, "the axis is out of range"},
      {Op::kGather, GatherAttributes{9}, "the axis is out of range"},
      {Op::kLstm, LstmAttributes{LstmDirection::kForward, -1}, "the hidden size is out of range"},
      {Op::kLayerNormalization, LayerNormalizationAttributes{-1, 0}, "the axis is out of range"},
      {Op::kLayerNormalization, LayerNormalizationAttributes{1, NAN},
       "the epsilon is negative or not finite"},
      {Op::kPad, PadAttributes{PadMode::kEdge, {0}, {0, 0}, 0}, "the pads differ in number"},
      {Op::kResize,
       ResizeAttributes{
           ResizeMode::kLinear, CoordinateMode::kHalfPixel, NearestMode::kFloor, -0.75, false, {0}},
       "a scale is not a positive number"},
      {Op::kResize,
       ResizeAttributes{
           ResizeMode::kLinear, CoordinateMode::kHalfPixel, NearestMode::kFloor, NAN, false, {1}},
       "the cubic coefficient is not finite"},
      {Op::kCustom, with([](auto& a) { a.name = ""; }), name},
      {Op::kCustom, with([](auto& a) { a.domain = std::string(300, 'x'); }), name},
      {Op::kCustom, with([](auto& a) { a.opset = 0; }), version},
      {Op::kCustom, with([](auto& a) { a.version = -1; }), version},
      {Op::kCustom, with([](auto& a) { a.outputs = 25; }), "the number of outputs is out of range"},
      {Op::kCustom, with([](auto& a) { a.attributes[0].integers = {}; }), elements},
      {Op::kCustom, with([](auto& a) { a.attributes[1].reals = {1, 2}; }), elements},
      {Op::kCustom, with([](auto& a) { a.attributes[5].text = "short"; }), elements},
      {Op::kCustom, with([](auto& a) { a.attributes[5].integers = {INT64_MAX, INT64_MAX}; }), elements},
      {Op::kCustom, with([](auto& a) { a.attributes[5].integers = {-2, -1}; }), elements},
  };
  for (const int64_t pad : {kDimMax + 1, -kDimMax - 1, std::numeric_limits<int64_t>::min()}) {
    cases.push_back({Op::kConv, ConvAttributes{{1}, {1}, {pad}, {0}, 1, {}}, "a pad is out of range"});
    cases.push_back(
        {Op::kMaxPool, PoolAttributes{{1}, {1}, {1}, {0}, {pad}, false}, "a pad is out of range"});
    cases.push_back({Op::kPad, PadAttributes{PadMode::kConstant, {pad}, {0}, 0}, "a pad is out of range"});
  }
  for (const Case& c : cases) {
    const Written written = write(c.attributes);
    EXPECT_EQ(error_of(c.op, written.stream, written.dims),
              fmt::format(
                  "An attribute stream holds attributes in which {}.\n  - while reading the attributes of {}",
                  c.defect, to_string(c.op)));
  }
}

TEST(Attributes, PrintsWhatDiffersFromDefaults) {
  EXPECT_EQ(to_string(Attributes(ConvAttributes{{2, 2}, {1, 1}, {1, 0}, {1, 0}, 1, {}})),
            "strides=[2,2] dilations=[1,1] pads_begin=[1,0] pads_end=[1,0]");
  EXPECT_EQ(to_string(Attributes(MatMulAttributes{scaled_relu()})), "epilogue=\"mul add clip\"");
  EXPECT_EQ(to_string(Attributes(ResizeAttributes{ResizeMode::kLinear,
                                                  CoordinateMode::kHalfPixel,
                                                  NearestMode::kRoundPreferFloor,
                                                  -0.75,
                                                  true,
                                                  {1, 0.5}})),
            "mode=linear exclude_outside=true scales=[1,0.5]");
  EXPECT_EQ(to_string(Attributes(NoAttributes{})), "");
  EXPECT_EQ(to_string(Attributes(custom())),
            "domain=com.example name=Clip opset=3 version=7 outputs=2 "
            "attributes=[i=-5,r=0.5,s=\"a text\",is=[1,2,3],rs=[],t=int16[2,1]]");
}

TEST(Op, HasNames) {
  EXPECT_EQ(to_string(Op::kElementwise), "Elementwise");
  EXPECT_EQ(to_string(Op::kLayerNormalization), "LayerNormalization");
  EXPECT_EQ(to_string(Op::kGather), "Gather");
  EXPECT_EQ(to_string(Op::kDimTensor), "DimTensor");
  EXPECT_EQ(to_string(static_cast<Op>(24)), "invalid");
  EXPECT_FALSE(is_valid(static_cast<Op>(0)));
  EXPECT_NE(epilogue_of(Attributes(ConvAttributes{})), nullptr);
  EXPECT_EQ(epilogue_of(Attributes(NoAttributes{})), nullptr);
}

}  // namespace
}  // namespace weir
