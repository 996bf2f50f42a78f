// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/request_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Tokens, their mask, and a picture whose width is twice the number of tokens.
class RequestShapeTest : public testing::Test {
 protected:
  RequestShapeTest() {
    const Dim batch = symbols_.add("batch", {2, 64}, {SymbolSource::Kind::kDimension, 0, 0});
    const Dim tokens = symbols_.add("tokens", {1, kDimMax}, {SymbolSource::Kind::kDimension, 0, 1});
    inputs_ = {{"ids", {ElementType::kInt64, {batch, tokens}, {}}},
               {"mask", {ElementType::kInt64, {batch, tokens}, {}}},
               {"picture", {ElementType::kFloat32, {Dim(3), tokens * 2}, {}}}};
  }
  RequestShape open() const { return {inputs_, symbols_}; }
  static Result<void> take(RequestShape& shape, const std::vector<std::string>& shapes,
                           const std::vector<std::string>& dims) {
    std::vector<ShapeArgument> shape_arguments;
    for (const std::string& text : shapes) {
      shape_arguments.push_back(parse_shape(text).value());
    }
    std::vector<DimArgument> dim_arguments;
    for (const std::string& text : dims) {
      dim_arguments.push_back(parse_dim(text).value());
    }
    return shape.take_options(shape_arguments, dim_arguments);
  }
  std::string refusal(const std::vector<std::string>& shapes, const std::vector<std::string>& dims) const {
    RequestShape shape = open();
    const Result<void> taken = take(shape, shapes, dims);
    return taken ? "" : taken.error().message();
  }
  SymbolTable symbols_;
  std::vector<NamedType> inputs_;
};

TEST_F(RequestShapeTest, ValuesFromShapesAndDims) {
  using Texts = std::vector<std::string>;
  for (const auto& [shapes, dims] :
       {std::pair<Texts, Texts>{{}, {"batch=4", "tokens=7"}}, std::pair<Texts, Texts>{{"ids=4x7"}, {}},
        std::pair<Texts, Texts>{{"mask=4x7", "picture=3x14"}, {"batch=4"}}}) {
    RequestShape shape = open();
    const Result<void> taken = take(shape, shapes, dims);
    ASSERT_TRUE(taken.has_value()) << taken.error().message();
    EXPECT_TRUE(shape.is_complete());
    EXPECT_THAT(*shape.symbols(), ElementsAre(4, 7));
    EXPECT_THAT(shape.shapes(), ElementsAre(ElementsAre(4, 7), ElementsAre(4, 7), ElementsAre(3, 14)));
    EXPECT_THAT(shape.describe(),
                ElementsAre("ids int64[4, 7]", "mask int64[4, 7]", "picture float32[3, 14]"));
  }
}

TEST_F(RequestShapeTest, WhatIsOpenHasItsName) {
  RequestShape shape = open();
  EXPECT_THAT(shape.describe(), ElementsAre("ids int64[batch, tokens]", "mask int64[batch, tokens]",
                                            "picture float32[3, 2·tokens]"));
  ASSERT_TRUE(take(shape, {}, {"batch=3"}).has_value());
  EXPECT_FALSE(shape.is_complete());
  EXPECT_THAT(shape.shapes(), ElementsAre(ElementsAre(3, -1), ElementsAre(3, -1), ElementsAre(3, -1)));
  EXPECT_EQ(
      shape.symbols().error().message(),
      "Dimension 'tokens' (axis 1 of input 'ids') is open, and this needs a number: give --dim tokens=N or "
      "--shape ids=….");

  SymbolTable symbols;
  const Dim rows = symbols.add("rows", {1, 64}, {SymbolSource::Kind::kElement, 0, 1});
  const std::vector<NamedType> inputs = {{"sizes", {ElementType::kInt64, {Dim(2)}, {}}},
                                         {"x", {ElementType::kFloat32, {rows}, {}}}};
  EXPECT_EQ(
      RequestShape(inputs, symbols).symbols().error().message(),
      "Dimension 'rows' (element 1 of input 'sizes') is open, and this needs a number: give --dim rows=N "
      "or --shape sizes=….");
}

TEST_F(RequestShapeTest, FilesGiveTheOthersTheirShapes) {
  RequestShape shape = open();
  const std::vector<int64_t> mask = {5, 9};
  ASSERT_TRUE(shape.take_input(1, mask, "file 'mask.npy'").has_value());
  EXPECT_THAT(shape.shapes(), ElementsAre(ElementsAre(5, 9), ElementsAre(5, 9), ElementsAre(3, 18)));
  const std::vector<int64_t> ids = {5, 8};
  EXPECT_EQ(
      shape.take_input(0, ids, "file 'ids.npy'").error().message(),
      "Dimension 'tokens' (axis 1 of input 'ids') is (9) by file 'mask.npy', and (8) by file 'ids.npy'.");
}

TEST_F(RequestShapeTest, AnOpenFirstDimensionIsOneOrTheLeast) {
  RequestShape shape = open();
  shape.assume_batch_of_one();
  EXPECT_THAT(shape.shape(0), ElementsAre(2, -1));  // the range begins with 2
  RequestShape given = open();
  ASSERT_TRUE(take(given, {}, {"batch=8", "tokens=1"}).has_value());
  given.assume_batch_of_one();
  EXPECT_THAT(given.shape(0), ElementsAre(8, 1));
}

TEST_F(RequestShapeTest, ErrorsNameDimensionRangeAndValue) {
  EXPECT_EQ(refusal({}, {"batch=65"}),
            "Dimension 'batch' (axis 0 of input 'ids') is (65) by --dim, and the program was compiled for (2 "
            "to 64).");
  EXPECT_THAT(refusal({"mask=1x5"}, {}),
              HasSubstr("is (1) by --shape, and the program was compiled for (2 to 64)"));
  EXPECT_THAT(refusal({}, {"tokens=0"}),
              HasSubstr("is (0) by --dim, and the program was compiled for (1 or more)"));
  EXPECT_EQ(refusal({"picture=4x14"}, {}),
            "Axis 0 of input 'picture' is (4) by --shape, and the program was compiled for (3).");
  EXPECT_THAT(refusal({"ids=2x5", "mask=3x5"}, {}), HasSubstr("is (2) by --shape, and (3) by --shape"));
  EXPECT_THAT(refusal({"ids=2x5"}, {"batch=3"}),
              HasSubstr("'batch' (axis 0 of input 'ids') is (2) by --shape, and (3) by --dim"));
  EXPECT_THAT(refusal({}, {"batch=3", "batch=4"}), HasSubstr("is (3) by --dim, and (4) by --dim"));
}

TEST_F(RequestShapeTest, ErrorsSayWhatTheProgramHas) {
  EXPECT_THAT(refusal({"x=1"}, {}),
              HasSubstr("no input 'x' for --shape; its inputs are 'ids', 'mask' and 'picture'"));
  EXPECT_THAT(refusal({"1x2"}, {}), HasSubstr("programs of one input, and this has (3)"));
  EXPECT_EQ(refusal({"ids=2x2", "ids=3x2"}, {}), "Input 'ids' is given two shapes, (2x2) and (3x2).");
  EXPECT_EQ(refusal({"ids=2x2x3"}, {}),
            "Input 'ids' is int64[batch, tokens], and --shape gives it (3) axes.");
  EXPECT_EQ(
      refusal({}, {"token=3"}),
      "The program has no open dimension 'token' for --dim (did you mean 'tokens'?); its open dimensions are "
      "'batch' (2 to 64), 'tokens' (1 or more).");
  EXPECT_EQ(refusal({}, {"batch=2..4"}),
            "Dimension 'batch' is given as (2) to (4), and a program that is compiled already takes one "
            "number, as in "
            "--dim batch=4.");
}

TEST(RequestShape, OfNumbersAlone) {
  RequestShape shape({{"x", {ElementType::kFloat32, {Dim(1), Dim(3)}, {}}}}, SymbolTable());
  EXPECT_TRUE(shape.is_complete());
  EXPECT_TRUE(shape.symbols()->empty());
  EXPECT_TRUE(shape.take_options(std::vector{ShapeArgument{"", {1, 3}}}, {}).has_value());
  EXPECT_EQ(shape.take_options({}, std::vector{DimArgument{"n", {3, 3}}}).error().message(),
            "The program has no open dimension 'n' for --dim: it takes x float32[1, 3]; other shapes need "
            "the model to "
            "be compiled again.");
}

// The compiler keeps the place of a dimension that it was given a number for.
TEST(RequestShape, ADimensionWithOneValueIsKnown) {
  SymbolTable symbols;
  const Dim batch = symbols.add("batch", {4, 4}, {SymbolSource::Kind::kDimension, 0, 0});
  const RequestShape shape({{"x", {ElementType::kFloat32, {batch}, {}}}}, symbols);
  EXPECT_TRUE(shape.is_complete());
  EXPECT_THAT(*shape.symbols(), ElementsAre(4));
}

}  // namespace
}  // namespace weir::cli
