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

}  // namespace
}  // namespace weir::cli
