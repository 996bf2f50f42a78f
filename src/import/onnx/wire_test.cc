// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstring>

#include "import/onnx/limits.h"
#include "import/testing/model_builder.h"

namespace weir::onnx_import {
namespace {

using ::testing::HasSubstr;
using weir::testing::ModelBuilder;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string payload_bytes(const std::string& model, const TensorPayload& payload) {
  std::string bytes;
  for (const FileRange& range : payload.chunks) {
    bytes += model.substr(static_cast<size_t>(range.offset), static_cast<size_t>(range.size));
  }
  return bytes;
}

TEST(WireTest, CutsEveryPayloadAndKeepsTheStructure) {
  ModelBuilder builder(13);
  builder.floats("w", {2}, {1.5F, 2.5F});
  onnx::TensorProto& packed = *builder.graph().add_initializer();
  packed.set_name("p");
  packed.add_float_data(3.5F);
  onnx::NodeProto& node = builder.node("Constant", {}, {"c"});
  onnx::AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.mutable_t()->set_raw_data("in a node");
  onnx::NodeProto& branch = builder.node("If", {"x"}, {"y"});
  onnx::AttributeProto& body = *branch.add_attribute();
  body.set_name("then_branch");
  body.mutable_g()->add_initializer()->set_raw_data("in a subgraph");
  builder.graph().set_doc_string("dropped");
  builder.graph().add_value_info()->set_name("dropped");
  const std::string model = builder.bytes();

  const auto stripped = strip_payloads(bytes_of(model));
  ASSERT_TRUE(stripped) << stripped.error().to_string();
  ASSERT_EQ(stripped->payloads.size(), 4u);
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(stripped->message));
  EXPECT_THAT(stripped->message, Not(HasSubstr("dropped")));
  EXPECT_THAT(stripped->message, Not(HasSubstr("in a")));
  EXPECT_EQ(parsed.graph().name(), "test");
  EXPECT_EQ(parsed.graph().initializer(0).name(), "w");

  const auto payload = [&](const onnx::TensorProto& tensor) -> const TensorPayload& {
    return stripped->payloads[*payload_index(tensor.raw_data())];
  };
  const TensorPayload& w = payload(parsed.graph().initializer(0));
  EXPECT_EQ(w.field, TensorPayload::Field::kRaw);
  float element = 0;
  std::memcpy(&element, payload_bytes(model, w).data() + 4, 4);
  EXPECT_EQ(element, 2.5F);
  EXPECT_EQ(payload_bytes(model, payload(parsed.graph().node(0).attribute(0).t())), "in a node");
  EXPECT_EQ(payload_bytes(model, payload(parsed.graph().node(1).attribute(0).g().initializer(0))),
            "in a subgraph");
}

TEST(WireTest, PackedFieldsKeepTheirKindAndChunks) {
  onnx::TensorProto first;
  first.add_int64_data(1);
  first.add_int64_data(300);
  onnx::TensorProto second;
  second.add_int64_data(-1);
  // Two chunks of one packed field, as concatenated messages have them.
  const std::string tensor = first.SerializeAsString() + second.SerializeAsString();
  onnx::ModelProto model;
  model.mutable_graph()->add_initializer();
  std::string bytes = model.SerializeAsString();
  bytes = std::string("\x3a", 1) + static_cast<char>(tensor.size() + 2) + "\x2a" +
          static_cast<char>(tensor.size()) + tensor;
  const auto stripped = strip_payloads(bytes_of(bytes));
  ASSERT_TRUE(stripped) << stripped.error().to_string();
  ASSERT_EQ(stripped->payloads.size(), 1u);
  EXPECT_EQ(stripped->payloads[0].field, TensorPayload::Field::kInt64);
  EXPECT_EQ(stripped->payloads[0].chunks.size(), 2u);
}

TEST(WireTest, EveryTruncationIsAnErrorOrAModel) {
  ModelBuilder builder(13);
  builder.input("x", onnx::TensorProto::FLOAT, {"n", "3"});
  builder.floats("w", {3}, {1, 2, 3});
  builder.node("Add", {"x", "w"}, {"y"});
  builder.output("y");
  const std::string model = builder.bytes();
  ASSERT_TRUE(strip_payloads(bytes_of(model)));
  int errors = 0;
  for (size_t size = 0; size < model.size(); ++size) {
    const auto stripped = strip_payloads(bytes_of(model.substr(0, size)));
    if (!stripped) {
      ++errors;
      EXPECT_EQ(stripped.error().code(), StatusCode::kDataLoss);
      EXPECT_THAT(stripped.error().message(), HasSubstr("cut off"));
    }
  }
  EXPECT_GT(errors,
            static_cast<int>(model.size()) - 20);  // it may end between the fields of the model itself
}

TEST(WireTest, NamesTheOffsetOfABrokenField) {
  const auto long_field = strip_payloads(bytes_of(std::string("\x08\x07\x3a\x7f\x00", 5)));
  ASSERT_FALSE(long_field);
  EXPECT_THAT(long_field.error().message(),
              HasSubstr("field (7) has (127) bytes, and (1) are left at offset (2)"));
  const auto number = strip_payloads(bytes_of("\x08\x07\x38\x01"));
  ASSERT_FALSE(number);
  EXPECT_THAT(number.error().message(),
              HasSubstr("field (7) is a number instead of a message at offset (2) of (4)"));
  const auto group = strip_payloads(bytes_of("\x0b"));
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message(), HasSubstr("wire type (3)"));
  const auto endless = strip_payloads(bytes_of(std::string("\x08") + std::string(11, '\xff')));
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.error().message(), HasSubstr("a number ends too early"));
  // A length of 2^64 − 1 does not wrap.
  const auto huge = strip_payloads(bytes_of(std::string("\x3a") + std::string(9, '\xff') + "\x01"));
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().message(), HasSubstr("has (18446744073709551615) bytes"));
}

TEST(WireTest, DeepNestingIsAnError) {
  // graph → node → attribute → graph → …
  std::string graph;
  for (int depth = 0; depth < 60; ++depth) {
    const auto wrap = [&graph](char tag) {
      std::string length;
      size_t size = graph.size();
      for (; size >= 0x80; size >>= 7) {
        length.push_back(static_cast<char>(size | 0x80));
      }
      length.push_back(static_cast<char>(size));
      graph.insert(0, length);
      graph.insert(0, 1, tag);
    };
    wrap('\x32');  // attribute.g
    wrap('\x2a');  // node.attribute
    wrap('\x0a');  // graph.node
  }
  std::string model = "\x3a";
  size_t size = graph.size();
  for (; size >= 0x80; size >>= 7) {
    model.push_back(static_cast<char>(size | 0x80));
  }
  model.push_back(static_cast<char>(size));
  model += graph;
  const auto stripped = strip_payloads(bytes_of(model));
  ASSERT_FALSE(stripped);
  EXPECT_THAT(stripped.error().message(), HasSubstr("nests (91) messages"));
}

// What a small file could make of much: a field of two bytes takes hundreds once it is parsed.
TEST(WireTest, LimitsAreErrors) {
  const auto error = [](const std::string& model) {
    const auto stripped = strip_payloads(bytes_of(model));
    EXPECT_TRUE(stripped || stripped.error().code() == StatusCode::kResourceExhausted);
    return stripped ? "stripped" : stripped.error().to_string();
  };
  const auto repeated = [](std::string_view text, int64_t count) {
    std::string result;
    result.reserve(text.size() * static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      result += text;
    }
    return result;
  };
  const std::string field = "\x08\x07";  // ir_version
  EXPECT_EQ(error(repeated(field, kMaxFields + 1)),
            "The model has more than (8388608) fields beside its tensors' elements, and that is the most.");
  const std::string graph("\x3a\0", 2);
  EXPECT_EQ(error(repeated(graph, kMaxMessages - 1)), "stripped");
  EXPECT_EQ(error(repeated(graph, kMaxMessages)),
            "The model has more than (1048576) nodes, attributes, tensors and graphs, and that is the most.");
  // The name of the producer, behind a tag and four bytes that say its length.
  const auto named = [](size_t size) {
    std::string result = "\x12";
    for (int shift = 0; shift < 28; shift += 7) {
      result.push_back(static_cast<char>((size >> shift & 0x7f) | (shift < 21 ? 0x80 : 0)));
    }
    return result + std::string(size, 'x');
  };
  EXPECT_EQ(error(named(kMaxMessageBytes - 4)),
            "The model has more than (134217728) bytes beside its tensors' elements, and that is the most.");
}

TEST(WireTest, TwoPayloadsInOneTensorAreAnError) {
  ModelBuilder builder(13);
  onnx::TensorProto& tensor = *builder.graph().add_initializer();
  tensor.add_float_data(1);
  tensor.set_raw_data("abcd");
  const auto stripped = strip_payloads(bytes_of(builder.bytes()));
  ASSERT_FALSE(stripped);
  EXPECT_THAT(stripped.error().message(), HasSubstr("holds its elements twice"));
}

}  // namespace
}  // namespace weir::onnx_import
