// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().message();
}

TEST(Shape, WithAndWithoutAName) {
  const auto named = parse_shape("images=1x3x640x480");
  ASSERT_TRUE(named.has_value());
  EXPECT_EQ(named->input, "images");
  EXPECT_THAT(named->shape, ElementsAre(1, 3, 640, 480));
  const auto plain = parse_shape("7");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->input, "");
  EXPECT_THAT(plain->shape, ElementsAre(7));
  EXPECT_EQ(parse_shape("a=b:0=2x0")->input, "a=b:0");
}

TEST(Shape, ErrorsNameThePart) {
  EXPECT_THAT(message_of(parse_shape("x=1x?x3")), HasSubstr("'x=1x?x3' has '?' for an extent"));
  EXPECT_THAT(message_of(parse_shape("x=1x-3")), HasSubstr("has '-3' for an extent"));
  EXPECT_THAT(message_of(parse_shape("x=")), HasSubstr("has '' for an extent"));
  EXPECT_THAT(message_of(parse_shape("x=99999999999999999999")), HasSubstr("for an extent"));
  EXPECT_THAT(message_of(parse_shape("1x1x1x1x1x1x1x1x1")), HasSubstr("has (9) axes, and (8) is the most"));
}

TEST(DimOption, ValueOrRange) {
  EXPECT_EQ(parse_dim("batch=4")->symbol, "batch");
  EXPECT_EQ(parse_dim("batch=4")->range, (Range{4, 4}));
  EXPECT_EQ(parse_dim("seq=1..512")->range, (Range{1, 512}));
  EXPECT_THAT(message_of(parse_dim("4")), HasSubstr("neither a name with a value"));
  EXPECT_THAT(message_of(parse_dim("seq=1..")), HasSubstr("neither a name with a value"));
  EXPECT_THAT(message_of(parse_dim("seq=-1")), HasSubstr("neither a name with a value"));
  EXPECT_THAT(message_of(parse_dim("seq=9..3")), HasSubstr("ends (3) before it starts (9)"));
}

TEST(StateOption, PairsOfInputAndOutput) {
  ASSERT_EQ(parse_states("h=hn")->size(), 1u);
  EXPECT_EQ(parse_states("h=hn")->front().input, "h");
  EXPECT_EQ(parse_states("h=hn")->front().output, "hn");
  ASSERT_EQ(parse_states("h=hn,c/0=cn:0")->size(), 2u);
  EXPECT_EQ(parse_states("h=hn,c/0=cn:0")->back().input, "c/0");
  EXPECT_EQ(parse_states("h=hn,c/0=cn:0")->back().output, "cn:0");
  for (const char* text : {"", "h", "h=", "=hn", "h=hn,", "h=hn,c", "h=hn=c"}) {
    EXPECT_THAT(message_of(parse_states(text)),
                HasSubstr("is no pair of an input and the output that feeds it"))
        << text;
  }
}

TEST(InputOption, FileWithAndWithoutAName) {
  EXPECT_EQ(parse_input("photo.png")->path, "photo.png");
  EXPECT_EQ(parse_input("photo.png")->input, "");
  EXPECT_EQ(parse_input("x=photo.png")->input, "x");
  EXPECT_EQ(parse_input("x=/a/b=c.npy")->path, "/a/b=c.npy");
  EXPECT_EQ(parse_input("/a=b/c.npy")->path, "/a=b/c.npy");
  EXPECT_EQ(parse_input("./a=b.npy")->input, "");
  EXPECT_EQ(parse_input("model/in:0=c.npy")->input, "model/in:0");
  EXPECT_THAT(message_of(parse_input("x=")), HasSubstr("neither a file"));
  EXPECT_THAT(message_of(parse_input("=x.npy")), HasSubstr("neither a file"));
  EXPECT_THAT(message_of(parse_input("")), HasSubstr("neither a file"));
}

TEST(ChannelValues, NumbersAndFractions) {
  EXPECT_THAT(*parse_channel_values("127"), ElementsAre(127.0f));
  EXPECT_THAT(*parse_channel_values("1/255"), ElementsAre(1.0f / 255.0f));
  EXPECT_THAT(*parse_channel_values("123.675,116.28,-1e2"), ElementsAre(123.675f, 116.28f, -100.0f));
  EXPECT_THAT(message_of(parse_channel_values("1,2")), HasSubstr("has (2) values"));
  EXPECT_THAT(message_of(parse_channel_values("1/0")), HasSubstr("'1/0' is neither a number"));
  EXPECT_THAT(message_of(parse_channel_values("1/2/3")), HasSubstr("'1/2/3' is neither"));
  EXPECT_THAT(message_of(parse_channel_values("nan")), HasSubstr("'nan' is neither"));
  EXPECT_THAT(message_of(parse_channel_values("")), HasSubstr("'' is neither"));
}

class ResolveShapes : public testing::Test {
 protected:
  ResolveShapes() {
    const Dim batch = symbols_.add("batch", {1, 64}, {SymbolSource::Kind::kDimension, 0, 0});
    const Dim tokens = symbols_.add("tokens", {1, 512}, {SymbolSource::Kind::kDimension, 0, 1});
    inputs_ = {{"ids", {ElementType::kInt64, {batch, tokens}, {}}},
               {"mask", {ElementType::kInt64, {batch, tokens}, {}}},
               {"table", {ElementType::kFloat32, {Dim(2), Dim(3)}, {}}}};
  }
  Result<std::vector<std::vector<int64_t>>> resolve(const std::vector<std::string>& shapes,
                                                    const std::vector<std::string>& dims) {
    std::vector<ShapeArgument> shape_arguments;
    for (const std::string& text : shapes) shape_arguments.push_back(parse_shape(text).value());
    std::vector<DimArgument> dim_arguments;
    for (const std::string& text : dims) dim_arguments.push_back(parse_dim(text).value());
    return resolve_shapes(inputs_, shape_arguments, dim_arguments);
  }
  SymbolTable symbols_;
  std::vector<NamedType> inputs_;
};

TEST_F(ResolveShapes, FromDimsAndShapes) {
  for (const auto& result : {resolve({}, {"batch=4", "tokens=7"}), resolve({"ids=4x7"}, {}),
                             resolve({"mask=4x7", "table=2x3"}, {"batch=4"})}) {
    ASSERT_TRUE(result.has_value()) << result.error().message();
    EXPECT_THAT(*result, ElementsAre(ElementsAre(4, 7), ElementsAre(4, 7), ElementsAre(2, 3)));
  }
}

TEST_F(ResolveShapes, ErrorsSayWhatTheModelHas) {
  EXPECT_THAT(message_of(resolve({}, {"batch=4"})),
              HasSubstr("dimension 'tokens' has no value; give --dim tokens=V"));
  EXPECT_THAT(message_of(resolve({"x=1"}, {})),
              HasSubstr("no input 'x' for --shape; its inputs are 'ids', 'mask' and"));
  EXPECT_THAT(message_of(resolve({"1x2"}, {})), HasSubstr("models of one input, and this has (3)"));
  EXPECT_THAT(message_of(resolve({"ids=1x2", "ids=1x2"}, {})), HasSubstr("'ids' has two shapes"));
  EXPECT_THAT(message_of(resolve({"ids=1x2x3"}, {})), HasSubstr("--shape gives it (3) axes"));
  EXPECT_THAT(message_of(resolve({"table=2x4"}, {})),
              HasSubstr("extent (3) on axis (1), and --shape gives (4)"));
  EXPECT_THAT(message_of(resolve({}, {"seq=3"})), HasSubstr("dimensions are 'batch' and 'tokens'"));
  EXPECT_THAT(message_of(resolve({}, {"batch=1..4"})), HasSubstr("gives a range (1..4)"));
  EXPECT_THAT(message_of(resolve({}, {"batch=1", "batch=1"})), HasSubstr("two values"));
  EXPECT_THAT(message_of(resolve({"ids=2x5", "mask=3x5"}, {})),
              HasSubstr("'batch' is (2) by --shape of 'ids', and (3) by --shape of 'mask'"));
  EXPECT_THAT(message_of(resolve({"ids=2x5"}, {"batch=3"})),
              HasSubstr("'batch' is (3) by --dim, and (2) by"));
  EXPECT_THAT(message_of(resolve({"ids=65x5"}, {})), HasSubstr("is (65), and (1..64) is allowed"));
}

}  // namespace
}  // namespace weir::cli
