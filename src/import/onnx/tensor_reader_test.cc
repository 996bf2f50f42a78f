// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/tensor_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "import/testing/model_builder.h"

namespace weir::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using weir::testing::ModelBuilder;

template <typename T>
std::vector<T> elements_of(const Constant& constant) {
  std::vector<T> elements(constant.bytes().size() / sizeof(T));
  std::memcpy(elements.data(), constant.data(), elements.size() * sizeof(T));
  return elements;
}

// Reads the tensor as the only initialiser of a model.
class TensorReaderTest : public ::testing::Test {
 protected:
  // `more` is appended to the tensor as it is written: fields that protobuf would write otherwise.
  Result<Constant> read(const onnx::TensorProto& tensor, const std::string& more = "") {
    const std::string written = tensor.SerializeAsString() + more;
    ModelBuilder builder(13);
    model_ = builder.bytes();
    model_ += std::string("\x3a") + static_cast<char>(written.size() + 2);  // ModelProto.graph, again
    model_ += std::string("\x2a") + static_cast<char>(written.size()) + written;
    const auto bytes = std::as_bytes(std::span(model_.data(), model_.size()));
    WEIR_ASSIGN(StrippedModel stripped, strip_payloads(bytes));
    parsed_.ParseFromString(stripped.message);
    TensorReader reader(bytes, nullptr, std::move(stripped.payloads), folders_);
    return reader.read(parsed_.graph().initializer(0));
  }
  std::string error(const onnx::TensorProto& tensor, const std::string& more = "") {
    const auto constant = read(tensor, more);
    return constant ? "read" : constant.error().to_string();
  }

  std::string model_;
  onnx::ModelProto parsed_;
  std::vector<std::string> folders_;
};

onnx::TensorProto tensor(int32_t type, std::vector<int64_t> dims) {
  onnx::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(type);
  proto.mutable_dims()->Add(dims.begin(), dims.end());
  return proto;
}

TEST_F(TensorReaderTest, RawAndPackedFloatsAreViewsOfTheModel) {
  onnx::TensorProto raw = tensor(onnx::TensorProto::FLOAT, {2});
  const std::array<float, 2> elements = {1.5F, -2};
  raw.set_raw_data(elements.data(), 8);
  const auto in_model = [this](const Constant& constant) {
    const auto* begin = reinterpret_cast<const std::byte*>(model_.data());
    return constant.data() >= begin && constant.data() + constant.bytes().size() <= begin + model_.size();
  };
  auto constant = read(raw);
  ASSERT_TRUE(constant) << constant.error().to_string();
  EXPECT_TRUE(in_model(*constant));
  EXPECT_THAT(elements_of<float>(*constant), ElementsAre(1.5F, -2));

  onnx::TensorProto packed = tensor(onnx::TensorProto::DOUBLE, {2, 1});
  packed.add_double_data(0.1);
  packed.add_double_data(7);
  constant = read(packed);
  ASSERT_TRUE(constant) << constant.error().to_string();
  EXPECT_TRUE(in_model(*constant));
  EXPECT_THAT(elements_of<double>(*constant), ElementsAre(0.1, 7));
}

TEST_F(TensorReaderTest, NumbersOfVariableLengthAreDecoded) {
  onnx::TensorProto int64 = tensor(onnx::TensorProto::INT64, {3});
  for (int64_t element : {int64_t{-1}, int64_t{300}, INT64_MIN}) {
    int64.add_int64_data(element);
  }
  EXPECT_THAT(elements_of<int64_t>(*read(int64)), ElementsAre(-1, 300, INT64_MIN));
  onnx::TensorProto int8 = tensor(onnx::TensorProto::INT8, {2});
  int8.add_int32_data(-128);
  int8.add_int32_data(127);
  EXPECT_THAT(elements_of<int8_t>(*read(int8)), ElementsAre(-128, 127));
  onnx::TensorProto half = tensor(onnx::TensorProto::FLOAT16, {1});
  half.add_int32_data(0x3c00);
  EXPECT_THAT(elements_of<uint16_t>(*read(half)), ElementsAre(0x3c00));
  onnx::TensorProto uint32 = tensor(onnx::TensorProto::UINT32, {1});
  uint32.add_uint64_data(4'000'000'000);
  EXPECT_THAT(elements_of<uint32_t>(*read(uint32)), ElementsAre(4'000'000'000u));
  onnx::TensorProto boolean = tensor(onnx::TensorProto::BOOL, {2});
  boolean.add_int32_data(1);
  boolean.add_int32_data(0);
  EXPECT_THAT(elements_of<uint8_t>(*read(boolean)), ElementsAre(1, 0));
}

TEST_F(TensorReaderTest, ScalarsAndEmptyTensors) {
  onnx::TensorProto scalar = tensor(onnx::TensorProto::FLOAT, {});
  scalar.add_float_data(4);
  EXPECT_THAT(elements_of<float>(*read(scalar)), ElementsAre(4));
  const auto empty = read(tensor(onnx::TensorProto::FLOAT, {0, 3}));
  ASSERT_TRUE(empty) << empty.error().to_string();
  EXPECT_EQ(empty->bytes().size(), 0u);
}

TEST_F(TensorReaderTest, WrongCountsAndFieldsAreErrors) {
  const std::string context = "\n  - while reading tensor 't'";
  onnx::TensorProto few = tensor(onnx::TensorProto::FLOAT, {3});
  few.set_raw_data("12345678");
  EXPECT_EQ(error(few), "The tensor has type (float32[3]), and its raw_data holds (8) bytes." + context);
  EXPECT_EQ(error(tensor(onnx::TensorProto::FLOAT, {3})),
            "The tensor has type (float32[3]), and its raw_data holds (0) elements." + context);
  onnx::TensorProto other = tensor(onnx::TensorProto::FLOAT, {1});
  other.add_int64_data(1);
  EXPECT_EQ(error(other),
            "The tensor has type (float32[1]), which int64_data can't hold; float_data can." + context);
  EXPECT_EQ(error(tensor(onnx::TensorProto::FLOAT, {1}), "\x38\x01"),
            "The tensor has type (float32[1]), which int64_data can't hold; float_data can." + context);
  onnx::TensorProto many = tensor(onnx::TensorProto::INT64, {1});
  many.add_int64_data(1);
  many.add_int64_data(2);
  EXPECT_EQ(error(many),
            "The tensor has type (int64[1]), and its int64_data holds (2) elements or more." + context);
  onnx::TensorProto less = tensor(onnx::TensorProto::INT64, {3});
  less.add_int64_data(300);
  less.add_int64_data(2);
  EXPECT_EQ(error(less), "The tensor has type (int64[3]), and its int64_data holds (2) elements." + context);
  onnx::TensorProto narrow = tensor(onnx::TensorProto::INT8, {1});
  narrow.add_int32_data(128);
  EXPECT_EQ(error(narrow), "Element (0) does not fit into type (int8)." + context);
  onnx::TensorProto boolean = tensor(onnx::TensorProto::BOOL, {1});
  boolean.set_raw_data("\x02");
  EXPECT_EQ(error(boolean), "Tensor 't' is bool, and has elements other than 0 and 1.");
  // Elements that are not packed: each has a tag of its own, as old writers do it.
  onnx::TensorProto unpacked = tensor(onnx::TensorProto::INT64, {1});
  EXPECT_EQ(error(unpacked, "\x38\x07"), "read");
  EXPECT_EQ(error(unpacked, "\x38\x07\x38\x08"),
            "The tensor has type (int64[1]), and its int64_data holds (2) elements." + context);
  EXPECT_EQ(error(unpacked, "\x38\x07\x58\x08"),
            "The tensor holds elements in two fields, and takes one." + context);
  unpacked.set_raw_data("12345678");
  EXPECT_EQ(error(unpacked, "\x38\x07"),
            "The tensor holds elements in raw_data, and (1) in int64_data that are not packed, and takes one "
            "packed field." +
                context);
}

TEST_F(TensorReaderTest, WrongTypesAndDimensionsAreErrors) {
  EXPECT_EQ(error(tensor(onnx::TensorProto::STRING, {1})),
            "Tensor 't' has element type (STRING), and numbers and bool are supported.");
  EXPECT_EQ(error(tensor(99, {1})), "Tensor 't' has element type (99), and numbers and bool are supported.");
  EXPECT_EQ(error(tensor(onnx::TensorProto::FLOAT, {-1})),
            "Tensor 't' has a dimension (-1), and it takes (0) to (281474976710656).");
  EXPECT_EQ(error(tensor(onnx::TensorProto::FLOAT, {int64_t{1} << 47, int64_t{1} << 47})),
            "Tensor 't' has type (float32[140737488355328, 140737488355328]), and extents with a product of "
            "up to (281474976710656) are the most.");
  EXPECT_EQ(error(tensor(onnx::TensorProto::FLOAT, {int64_t{1} << 25, int64_t{1} << 25})),
            "Tensor 't' has type (float32[33554432, 33554432]), and extents with a product of up to "
            "(281474976710656) are the most.");
  EXPECT_EQ(error(tensor(onnx::TensorProto::FLOAT, std::vector<int64_t>(9, 1))),
            "Tensor 't' has rank (9), and (8) is the most.");
  // A size that no file backs is refused before memory is asked for.
  EXPECT_EQ(error(tensor(onnx::TensorProto::INT64, {int64_t{1} << 46})),
            "The tensor has type (int64[70368744177664]), and its raw_data holds (0) elements.\n  - while "
            "reading tensor 't'");
}

class ExternalDataTest : public TensorReaderTest {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "tensor_reader_test_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(root_ + "/model/sub");
    folders_ = {root_ + "/model"};
    write("model/w.bin", std::string("0123") + std::string("\0\0\x80\x3f", 4));
    write("outside.bin", "12345678");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& content) {
    std::ofstream(root_ + "/" + path, std::ios::binary) << content;
  }
  static onnx::TensorProto external(const std::string& location, const std::string& offset,
                                    const std::string& length) {
    onnx::TensorProto proto = tensor(onnx::TensorProto::FLOAT, {1});
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>("location", location),
                                     {"offset", offset},
                                     {"length", length}}) {
      if (!value.empty()) {
        onnx::StringStringEntryProto& entry = *proto.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      }
    }
    return proto;
  }
  std::string root_;
};

TEST_F(ExternalDataTest, IsMappedAtItsOffset) {
  for (const std::string length : {"4", ""}) {
    const auto constant = read(external("w.bin", "4", length));
    ASSERT_TRUE(constant) << constant.error().to_string();
    EXPECT_THAT(elements_of<float>(*constant), ElementsAre(1.0F));
  }
}

TEST_F(ExternalDataTest, RangesAndMissingFilesAreErrors) {
  const std::string context = "\n  - while reading tensor 't'";
  EXPECT_EQ(error(external("w.bin", "5", "")), "External data takes (4) bytes at offset (5) of file '" +
                                                   root_ + "/model/w.bin', which has (8)." + context);
  EXPECT_EQ(error(external("w.bin", "9223372036854775807", "")),
            "External data takes (4) bytes at offset (9223372036854775807) of file '" + root_ +
                "/model/w.bin', which has (8)." + context);
  EXPECT_EQ(
      error(external("w.bin", "0", "8")),
      "The tensor has type (float32[1]), which takes (4) bytes, and its external data has (8)." + context);
  EXPECT_EQ(error(external("w.bin", "-4", "")),
            "External data has offset (-4), and it takes a number from 0." + context);
  EXPECT_EQ(error(external("w.bin", "0", "4x")),
            "External data has length (4x), and it takes a number from 0." + context);
  EXPECT_THAT(error(external("none.bin", "", "")), HasSubstr("cannot be opened"));
  EXPECT_THAT(error(external("sub", "", "")), HasSubstr("is not a regular file"));
}

TEST_F(ExternalDataTest, StaysInTheFolderOfTheModel) {
  EXPECT_THAT(error(external("../outside.bin", "", "")), HasSubstr("has to lie in the model's folder"));
  EXPECT_THAT(error(external("sub/../../outside.bin", "", "")),
              HasSubstr("has to lie in the model's folder"));
  EXPECT_THAT(error(external(root_ + "/outside.bin", "", "")), HasSubstr("has to lie in the model's folder"));
  EXPECT_THAT(error(external("", "", "")), HasSubstr("has to lie in the model's folder"));
  std::filesystem::create_symlink(root_ + "/outside.bin", root_ + "/model/link.bin");
  EXPECT_EQ(error(external("link.bin", "", "")), "External data has location 'link.bin', which leads to '" +
                                                     root_ + "/outside.bin' outside the model's folder '" +
                                                     root_ + "/model'.\n  - while reading tensor 't'");
  // As a store of files by their content links to them: the model itself leads there.
  folders_.push_back(root_);
  EXPECT_TRUE(read(external("link.bin", "", "")));
  folders_.clear();
  EXPECT_EQ(error(external("w.bin", "", "")),
            "The model keeps elements in file 'w.bin', and a model from memory has no folder to find it "
            "in.\n  - while reading tensor 't'");
}

}  // namespace
}  // namespace weir::onnx_import
