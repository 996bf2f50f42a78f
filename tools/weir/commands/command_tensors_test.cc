// SPDX-License-Identifier: Apache-2.0
//
// tensor_input.h, tensor_output.h and statistics.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tools/weir/commands/statistics.h"
#include "tools/weir/commands/tensor_input.h"
#include "tools/weir/commands/tensor_output.h"
#include "tools/weir/io/file.h"

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().message();
}

std::string temporary(const std::string& name) {
  return (std::filesystem::path(testing::TempDir()) / ("weir_tensor_test_" + name)).string();
}

template <typename T>
Array array_of(ElementType type, std::vector<int64_t> shape, const std::vector<T>& values) {
  Array array = make_array(type, shape).value();
  std::memcpy(array.data.data(), values.data(), array.data.size());
  return array;
}

const Image kTwoPixels{2, 1, 3, {10, 20, 30, 40, 50, 60}};

TEST(TensorFromImage, BothLayouts) {
  const PixelOptions options{{10, 20, 30}, {0.5f}};
  const auto first = tensor_from_image(kTwoPixels, {ElementType::kFloat32, {1, 3, -1, -1}}, options);
  ASSERT_TRUE(first.has_value()) << first.error().message();
  EXPECT_THAT(first->shape, ElementsAre(1, 3, 1, 2));
  EXPECT_THAT(first->as<float>(), ElementsAre(0, 15, 0, 15, 0, 15));
  const auto last = tensor_from_image(kTwoPixels, {ElementType::kUint8, {-1, 2, 2, 3}}, {});
  ASSERT_TRUE(last.has_value()) << last.error().message();
  EXPECT_THAT(last->shape, ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(last->as<uint8_t>(), ElementsAre(10, 20, 30, 40, 50, 60, 10, 20, 30, 40, 50, 60));
}

TEST(TensorFromImage, ResizesAndConvertsChannels) {
  const auto gray = tensor_from_image(kTwoPixels, {ElementType::kFloat32, {1, 4, 6}}, {});
  ASSERT_TRUE(gray.has_value()) << gray.error().message();
  EXPECT_THAT(gray->shape, ElementsAre(1, 4, 6));
  EXPECT_EQ(gray->as<float>()[0], 18);  // 0.299 · 10 + 0.587 · 20 + 0.114 · 30 = 18.15
  EXPECT_EQ(gray->as<float>()[5], 48);
  const auto four = tensor_from_image(kTwoPixels, {ElementType::kUint8, {1, 4, 1, 2}}, {});
  ASSERT_TRUE(four.has_value()) << four.error().message();
  EXPECT_THAT(four->as<uint8_t>(), ElementsAre(10, 40, 20, 50, 30, 60, 255, 255));
}

TEST(TensorFromImage, RefusesInSentences) {
  struct Case {
    InputType input;
    PixelOptions options;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{ElementType::kFloat32, {8, 3, 4, 4}},
       {},
       "An image does not fit the input float32[8,3,4,4]: a batch of 1 with 1, 3 or 4 channels, before or "
       "after "
       "height and width, is needed."},
      {{ElementType::kFloat32, {1, 128}},
       {},
       "An image does not fit the input float32[1,128]: a batch of 1 with 1, 3 or 4 channels, before or "
       "after "
       "height and width, is needed."},
      {{ElementType::kInt64, {1, 3, -1, -1}},
       {},
       "An image does not become the input int64[1,3,?,?]: float32 and uint8 are made; give an .npy file."},
      {{ElementType::kUint8, {1, 3, 4, 4}},
       {{1}, {1}},
       "The input uint8[1,3,4,4] takes pixels as they are, and --mean or --scale would change them."},
      {{ElementType::kFloat32, {1, 1, 4, 4}},
       {{1, 2, 3}, {1}},
       "The input float32[1,1,4,4] has (1) channels, and --mean or --scale has (3) values; 1 or as many are "
       "taken."},
      {{ElementType::kFloat32, {1, 3, 32769, 1}},
       {},
       "The input float32[1,3,32769,1] is larger than an image may be (32768 a side)."},
      {{ElementType::kFloat32, {1, 1, 40000, 3}},
       {},
       "The input float32[1,1,40000,3] is larger than an image may be (32768 a side)."},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(message_of(tensor_from_image(kTwoPixels, c.input, c.options)), c.message);
  }
}

TEST(ReadInput, ChecksTypeAndShapeOfArrays) {
  const std::string path = temporary("input.npy");
  ASSERT_TRUE(write_npy(path, array_of<float>(ElementType::kFloat32, {1, 2}, {3, 4})).has_value());
  EXPECT_THAT(read_input(path, {ElementType::kFloat32, {-1, 2}}, {})->as<float>(), ElementsAre(3, 4));
  EXPECT_THAT(message_of(read_input(path, {ElementType::kInt64, {1, -1}}, {})),
              HasSubstr("holds float32[1,2], and the input takes int64[1,?]"));
  EXPECT_THAT(message_of(read_input(path, {ElementType::kFloat32, {1, 3}}, {})),
              HasSubstr("takes float32[1,3]"));
  ASSERT_TRUE(write_png(temporary("image.png"), kTwoPixels).has_value());
  EXPECT_THAT(read_input(temporary("image.png"), {ElementType::kFloat32, {1, 3, 1, 2}}, {})->as<float>(),
              ElementsAre(10, 40, 20, 50, 30, 60));
  ASSERT_TRUE(write_file(path, std::string_view("hello")).has_value());
  EXPECT_THAT(message_of(read_input(path, {ElementType::kFloat32, {1, 3}}, {})),
              HasSubstr("is no .npy file"));
}

TEST(RandomArray, IsTheSameForASeedAndInRange) {
  const Array a = random_array(ElementType::kFloat32, {1000}, 7).value();
  EXPECT_EQ(a.data, random_array(ElementType::kFloat32, {1000}, 7)->data);
  EXPECT_NE(a.data, random_array(ElementType::kFloat32, {1000}, 8)->data);
  const Summary summary = summarize(a);
  EXPECT_GE(summary.min, -1);
  EXPECT_LT(summary.max, 1);
  EXPECT_LT(summary.min, -0.95);
  EXPECT_GT(summary.max, 0.95);
  EXPECT_NEAR(summary.mean, 0, 0.1);
  const Summary ids = summarize(random_array(ElementType::kInt64, {1000}, 7).value());
  EXPECT_EQ(ids.min, 0);
  EXPECT_EQ(ids.max, 1);
  EXPECT_EQ(message_of(random_array(ElementType::kInt4, {2}, 1)),
            "Random numbers of type (int4) are not made; give an .npy file.");
}

TEST(Summary, OfEachKindOfValue) {
  const Summary floats = summarize(array_of<float>(ElementType::kFloat32, {4}, {1, -3, INFINITY, NAN}));
  EXPECT_EQ(floats.min, -3);
  EXPECT_EQ(floats.max, 1);
  EXPECT_EQ(floats.mean, -1);
  EXPECT_EQ(floats.not_finite, 2);
  const Summary halves =
      summarize(array_of<uint16_t>(ElementType::kFloat16, {5}, {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00}));
  EXPECT_THAT(halves.first, ElementsAre(1, -2, std::ldexp(1.0, -24), 65504, INFINITY));
  EXPECT_THAT(summarize(array_of<int8_t>(ElementType::kInt8, {2}, {-5, 5})).first, ElementsAre(-5, 5));
  EXPECT_EQ(summarize(make_array(ElementType::kFloat32, std::vector<int64_t>{0}).value()).mean, 0);
}

TEST(Classify, TakesProbabilitiesAndLogits) {
  const std::vector<std::string> labels = {"cat", "dog"};
  const auto given = classify(array_of<float>(ElementType::kFloat32, {1, 3}, {0.2f, 0.1f, 0.7f}), labels, 2);
  ASSERT_TRUE(given.has_value());
  ASSERT_EQ(given->size(), 1u);
  const std::vector<Class>& row = given->front();
  ASSERT_EQ(row.size(), 2u);
  EXPECT_EQ(row[0].index, 2);
  EXPECT_EQ(row[0].label, "");
  EXPECT_NEAR(row[0].score, 0.7, 1e-6);
  EXPECT_EQ(row[1].label, "cat");
  // A batch of logits: softmax is over each row alone.
  const auto logits =
      classify(array_of<float>(ElementType::kFloat32, {2, 2, 1, 1}, {1000, 1001, 5, 4}), labels, 5);
  ASSERT_TRUE(logits.has_value());
  ASSERT_EQ(logits->size(), 2u);
  ASSERT_EQ((*logits)[0].size(), 2u);
  EXPECT_EQ((*logits)[0][0].label, "dog");
  EXPECT_NEAR((*logits)[0][0].score, 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_EQ((*logits)[1][0].label, "cat");
  EXPECT_NEAR((*logits)[1][0].score, 1 / (1 + std::exp(-1.0)), 1e-12);
}

TEST(Classify, RefusesWhatHasNoOrder) {
  const auto refused = [](const Array& output) { return message_of(classify(output, {}, 1)); };
  EXPECT_EQ(refused(make_array(ElementType::kFloat32, std::vector<int64_t>{1, 3, 4}).value()),
            "The output has the shape (1x3x4), and classes are a row of scores for each of a batch, as in "
            "(8x1000) or "
            "(8x1000x1x1); use --task raw.");
  EXPECT_EQ(refused(make_array(ElementType::kFloat32, std::vector<int64_t>{1, 0}).value()),
            "The output has the shape (1x0), and classes are a row of scores for each of a batch, as in "
            "(8x1000) or "
            "(8x1000x1x1); use --task raw.");
  EXPECT_EQ(refused(array_of<float>(ElementType::kFloat32, {1, 2}, {0, NAN})),
            "Score (1) of the output is (nan), and classes are ordered by finite numbers; use --task raw.");
  EXPECT_EQ(refused(array_of<float>(ElementType::kFloat32, {1, 2}, {-INFINITY, 0})),
            "Score (0) of the output is (-inf), and classes are ordered by finite numbers; use --task raw.");
  EXPECT_EQ(refused(make_array(ElementType::kInt4, std::vector<int64_t>{1, 4}).value()),
            "The output has scores of type (int4), which are not read; use --task raw.");
}

TEST(Classify, FindsRowsInAShape) {
  const auto rows_of = [](const std::vector<int64_t>& shape) {
    const auto found = class_rows(shape);
    return found ? std::pair(found->rows, found->classes) : std::pair(int64_t{-1}, int64_t{-1});
  };
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_EQ(rows_of({10}), Pair(1, 10));
  EXPECT_EQ(rows_of({1, 10}), Pair(1, 10));
  EXPECT_EQ(rows_of({3, 10}), Pair(3, 10));
  EXPECT_EQ(rows_of({3, 10, 1, 1}), Pair(3, 10));
  EXPECT_EQ(rows_of({3, 1, 10}), Pair(3, 10));
  EXPECT_EQ(rows_of({10, 1}), Pair(1, 10));  // a column
  EXPECT_EQ(rows_of({1}), Pair(1, 1));
  EXPECT_EQ(rows_of({1, 3, 4}), Pair(-1, -1));
  EXPECT_EQ(rows_of({0, 3}), Pair(-1, -1));
}

TEST(Embed, IsTheMeanOfTheTokensThatTheMaskLetsThrough) {
  const Array tokens = array_of<float>(ElementType::kFloat32, {2, 2, 2}, {3, 0, 3, 8, 0, 5, 7, 7});
  const auto all = embed(tokens, nullptr);
  ASSERT_TRUE(all.has_value());
  EXPECT_THAT((*all)[0], ElementsAre(0.6F, 0.8F));
  const Array mask = array_of<int64_t>(ElementType::kInt64, {2, 2}, {1, 1, 1, 0});
  const auto some = embed(tokens, &mask);
  ASSERT_TRUE(some.has_value());
  EXPECT_THAT((*some)[0], ElementsAre(0.6F, 0.8F));
  EXPECT_THAT((*some)[1], ElementsAre(0.0F, 1.0F));
  EXPECT_THAT(message_of(embed(array_of<float>(ElementType::kFloat32, {2}, {1, 2}), nullptr)),
              HasSubstr("is float32 of rank (1)"));
}

TEST(Frames, HaveOneAxisMoreThanTheInput) {
  const InputType input{ElementType::kFloat32, {1, -1}};
  const Array frames = array_of<float>(ElementType::kFloat32, {3, 1, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(check_frames("x.npy", frames, input).has_value());
  EXPECT_THAT(
      message_of(check_array("x.npy", frames, input)),
      HasSubstr(
          "holds float32[3,1,2], and the input takes float32[1,?]; with --frames each of its (3) frames "
          "is a run."));
  const Array wide = array_of<float>(ElementType::kFloat32, {1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(message_of(check_frames("x.npy", wide, input)),
              HasSubstr("and frames of float32[1,?] are taken"));
  EXPECT_THAT(message_of(check_array("x.npy", wide, input)), Not(HasSubstr("--frames")));
  EXPECT_TRUE(
      check_array("x.npy", array_of<float>(ElementType::kFloat32, {1, 2}, {1, 2}), input).has_value());
}

TEST(Labels, AreLines) {
  const std::string path = temporary("labels.txt");
  ASSERT_TRUE(write_file(path, std::string_view("tench\r\n\ngold fish\n\n")).has_value());
  EXPECT_THAT(*read_labels(path), ElementsAre("tench", "", "gold fish"));
  ASSERT_TRUE(write_file(path, std::string_view("\n")).has_value());
  EXPECT_THAT(message_of(read_labels(path)), HasSubstr("holds no labels"));
}

TEST(FileName, HoldsNoPath) {
  EXPECT_EQ(file_name_of("../a b/c:0"), "_.._a_b_c_0");
  EXPECT_EQ(file_name_of(""), "_");
  EXPECT_EQ(file_name_of("output_0"), "output_0");
  EXPECT_EQ(file_name_of(std::string(300, 'x')).size(), 100u);
}

TEST(Percentiles, Interpolate) {
  const double values[] = {4, 1, 3, 2, 5};
  const Percentiles p = percentiles_of(values);
  EXPECT_EQ(p.min, 1);
  EXPECT_EQ(p.p50, 3);
  EXPECT_NEAR(p.p90, 4.6, 1e-12);
  EXPECT_NEAR(p.p99, 4.96, 1e-12);
  EXPECT_EQ(p.max, 5);
  EXPECT_EQ(p.mean, 3);
  EXPECT_EQ(percentiles_of({}).p50, 0);
  const double one[] = {7};
  EXPECT_EQ(percentiles_of(one).p99, 7);
}

}  // namespace
}  // namespace weir::cli
