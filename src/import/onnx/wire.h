// SPDX-License-Identifier: Apache-2.0
//
// A scan of the wire format of an ONNX model that cuts out the elements of its tensors, so that protobuf only
// parses the structure and the weights stay where they lie in the mapped file.
//
//   WEIR_ASSIGN(StrippedModel stripped, strip_payloads(file->bytes()));
//   model.ParseFromString(stripped.message);
//   // A tensor whose payload was cut holds in raw_data the position of its payload:
//   const TensorPayload& payload = stripped.payloads[*payload_index(tensor.raw_data())];
//
// Payloads are cut from initialisers, from tensors in attributes of nodes, and from those in subgraphs and
// functions. Documentation, value hints and training information are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir::onnx_import {

// Where bytes lie in the model file.
struct FileRange {
  int64_t offset = 0;
  int64_t size = 0;
};

// The elements of one TensorProto.
struct TensorPayload {
  // The numbers of the fields of TensorProto.
  enum class Field : uint8_t {
    kFloat = 4,    // packed, 4 bytes an element
    kInt32 = 5,    // packed varints
    kInt64 = 7,    // packed varints
    kRaw = 9,      // as in memory, little-endian
    kDouble = 10,  // packed, 8 bytes an element
    kUint64 = 11,  // packed varints
  };
  Field field = Field::kRaw;
  std::vector<FileRange> chunks;  // a packed field may come in several
};

struct StrippedModel {
  std::string message;  // a ModelProto without payloads
  std::vector<TensorPayload> payloads;
};

// A file that ends in the middle of a field or is no protobuf message is an error with the offset.
Result<StrippedModel> strip_payloads(std::span<const std::byte> model);

// What strip_payloads wrote as raw_data.
std::optional<size_t> payload_index(std::string_view raw_data);

// A base-128 number at `position`, which moves behind it; nothing where it is cut off or longer than 64 bits.
std::optional<uint64_t> read_varint(std::span<const std::byte> bytes, size_t& position);

}  // namespace weir::onnx_import
