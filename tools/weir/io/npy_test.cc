// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> file(const std::string& header, const std::string& payload, int version = 1) {
  std::string text("\x93NUMPY", 6);
  text += {static_cast<char>(version), 0};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  text += header + payload;
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string message_of(const std::vector<std::byte>& bytes) {
  const auto result = parse_npy(bytes);
  return result ? "no error" : result.error().message();
}

TEST(Npy, ReadsAFileWrittenByHand) {
  const auto array = parse_npy(file("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }   \n",
                                    {"\1\0\2\0\3\0\4\0\xff\xff\0\x80", 12}));
  ASSERT_TRUE(array.has_value()) << array.error().to_string();
  EXPECT_EQ(array->type, ElementType::kInt16);
  EXPECT_THAT(array->shape, ElementsAre(2, 3));
  EXPECT_THAT(array->as<int16_t>(), ElementsAre(1, 2, 3, 4, -1, -32768));
}

TEST(Npy, ReadsVersionTwoScalarsAndOtherKeyOrders) {
  const auto array =
      parse_npy(file("{\"shape\":(),'fortran_order':True,'descr':'<f4'}", {"\0\0\x80\x3f", 4}, 2));
  ASSERT_TRUE(array.has_value()) << array.error().to_string();
  EXPECT_TRUE(array->shape.empty());
  EXPECT_THAT(array->as<float>(), ElementsAre(1.0f));
}

TEST(Npy, MakesBooleansZeroOrOne) {
  const auto array = parse_npy(file("{'descr':'|b1','fortran_order':False,'shape':(3,)}", {"\0\7\1", 3}));
  ASSERT_TRUE(array.has_value());
  EXPECT_THAT(array->as<uint8_t>(), ElementsAre(0, 1, 1));
}

TEST(Npy, WritesWhatNumpyWrites) {
  const float values[] = {1, 2, 3};
  const auto bytes =
      format_npy(ElementType::kFloat32, std::vector<int64_t>{3}, std::as_bytes(std::span(values)));
  ASSERT_TRUE(bytes.has_value());
  ASSERT_EQ(bytes->size(), 128u + 12u);
  const std::string text(reinterpret_cast<const char*>(bytes->data()), 128);
  EXPECT_EQ(text.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(text.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } ");
  EXPECT_EQ(text[127], '\n');
}

TEST(Npy, EveryTypeAndShapeSurvives) {
  for (ElementType type :
       {ElementType::kFloat16, ElementType::kFloat32, ElementType::kFloat64, ElementType::kInt8,
        ElementType::kUint8, ElementType::kInt16, ElementType::kUint16, ElementType::kInt32,
        ElementType::kUint32, ElementType::kInt64, ElementType::kUint64, ElementType::kBool}) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {0}, {5}, {1, 3, 2}, {2, 0, 4}, {1, 2, 1, 2, 1, 2, 1, 3}}) {
      Array array = make_array(type, shape).value();
      for (size_t i = 0; i < array.data.size(); ++i)
        array.data[i] = std::byte(type == ElementType::kBool ? i & 1 : i * 37);
      const auto bytes = format_npy(type, shape, array.data);
      ASSERT_TRUE(bytes.has_value());
      const auto back = parse_npy(*bytes);
      ASSERT_TRUE(back.has_value()) << back.error().to_string();
      EXPECT_EQ(back->type, type);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->data, array.data);
    }
  }
}

TEST(Npy, RefusesInSentences) {
  const auto array = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return file("{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}", "abcd");
  };
  const auto shaped = [&](const std::string& shape) { return array("'|u1'", "False", shape); };
  std::vector<std::byte> cut = file(std::string(100, ' '), "");
  cut.resize(50);
  std::vector<std::byte> beheaded = file("{}", "", 2);
  beheaded.resize(11);
  struct Case {
    std::vector<std::byte> bytes;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{}, "The file is no .npy file: its first bytes are not '\\x93NUMPY'."},
      {file("{}", "", 3), "The .npy file has version (3), and 1 and 2 are read."},
      {beheaded, "The .npy file has (11) bytes, and its header alone takes (12) or more."},
      {cut, "The .npy header says that it has (100) bytes, and the file has (40) left; (65536) is the most."},
      {file("", "abcd"), "The .npy header has something else than '{' at character (0)."},
      {file("{'descr': '|u1', 'descr': '|u1'}", ""),
       "The .npy header has the key 'descr' twice or one that the format does not know."},
      {file("{'descr': '|u1'}", ""),
       "The .npy header lacks the key 'fortran_order', and it has 'descr', 'fortran_order' and 'shape'."},
      {file("{'fortran_order': False, 'descr': '|u1'}", ""),
       "The .npy header lacks the key 'shape', and it has 'descr', 'fortran_order' and 'shape'."},
      {file("{'fortran_order': False, 'shape': ()}", ""),
       "The .npy header lacks the key 'descr', and it has 'descr', 'fortran_order' and 'shape'."},
      {array("'>f4'", "False", "(1,)"),
       "The .npy array has big-endian elements ('>f4'), and only little-endian ones are read; save "
       "array.astype('<f4')."},
      {array("'|O'", "False", "(1,)"),
       "The .npy array has element type ('|O'), and float16, float32, float64, integers of 8 to 64 bits and "
       "bool "
       "are read."},
      {array("'|u1'", "True", "(2, 2)"),
       "The .npy array is in Fortran order, and only C order is read; save numpy.ascontiguousarray(array)."},
      {array("'|u1'", "Maybe", "(4,)"),
       "The .npy header has something else than True or False at character (34)."},
      {array("3", "False", "(4,)"), "The .npy header has something else than a string at character (10)."},
      {shaped("(5,)"), "The .npy array needs (5) bytes of elements, and the file has (4)."},
      {shaped("(-4,)"), "The .npy header has something else than an extent of at least 0 at character (51)."},
      {shaped("(99999999999999999999,)"),
       "The .npy header has something else than an extent of at least 0 at character (51)."},
      {shaped("(1,1,1,1,1,1,1,1,4)"), "The .npy array has more than (8) axes."},
      {array("'<f8'", "False", "(4294967296, 4294967296)"),
       "The product of (4294967296) and (4294967296) does not fit in 64 bits."},
      {array("'<f8'", "False", "(1000000, 1000000)"),
       "The array has (1000000000000) elements of float64, and (4294967296) bytes is the most."},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(message_of(c.bytes), c.message);
  }
}

TEST(Npy, HeadersEndAtTheirLimit) {
  const auto of = [](size_t size) {
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}";
    header.resize(size, ' ');
    return file(header, "abcd", 2);
  };
  EXPECT_EQ(message_of(of(65536)), "no error");
  EXPECT_EQ(
      message_of(of(65537)),
      "The .npy header says that it has (65537) bytes, and the file has (65541) left; (65536) is the most.");
}

TEST(Npy, RefusesWhatItCannotHold) {
  const auto made = [](ElementType type, std::vector<int64_t> shape) {
    const auto array = make_array(type, shape);
    return array ? "no error" : array.error().message();
  };
  EXPECT_EQ(made(ElementType::kFloat32, {2, -3}),
            "Axis (1) of an array has the extent (-3), and (0) is the least.");
  EXPECT_EQ(made(ElementType::kFloat32, {1 << 15, 1 << 15, 2}),
            "The array has (2147483648) elements of float32, and (4294967296) bytes is the most.");
  const std::vector<std::byte> six(6);
  const auto formatted = [&](ElementType type, std::vector<int64_t> shape) {
    const auto bytes = format_npy(type, shape, six);
    return bytes ? "no error" : bytes.error().message();
  };
  EXPECT_EQ(formatted(ElementType::kInt4, {12}), "The .npy format has no name for element type (int4).");
  EXPECT_EQ(formatted(ElementType::kInt16, {2, 2}),
            "An array of type (int16) has (6) bytes, and its shape (2, 2) needs (8).");
}

TEST(Npy, MutationsAreErrorsOrArraysThatFit) {
  const std::vector<std::byte> good =
      file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", std::string(16, 'x'));
  std::mt19937 random(7);
  int errors = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = good;
    for (int i = 0; i < 1 + round % 3; ++i) bytes[random() % bytes.size()] = std::byte(random());
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    const auto array = parse_npy(bytes);
    if (!array) {
      ++errors;
    } else {
      ASSERT_EQ(array->data.size(), static_cast<size_t>(byte_size(array->type, array->element_count())));
    }
  }
  EXPECT_GT(errors, 10000);
}

TEST(Npy, NamesTheFileInErrors) {
  const auto missing = read_npy("no-such-folder/array.npy");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.error().message(),
              HasSubstr("'no-such-folder/array.npy' cannot be opened (No such file"));
  const auto folder = read_npy("/");
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().message(), "'/' is a folder, and a regular file is needed.");
}

}  // namespace
}  // namespace weir::cli
