// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/tensor_reader.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/file_system.h"
#include "graph/infer.h"

namespace weir::onnx_import {
namespace {

static_assert(std::endian::native == std::endian::little,
              "ONNX files are little-endian, and views do not swap.");

using Field = TensorPayload::Field;

std::string_view field_name(Field field) {
  switch (field) {
    case Field::kFloat:
      return "float_data";
    case Field::kInt32:
      return "int32_data";
    case Field::kInt64:
      return "int64_data";
    case Field::kRaw:
      return "raw_data";
    case Field::kDouble:
      return "double_data";
    case Field::kUint64:
      return "uint64_data";
  }
  return "";
}

// The field that holds elements of a type when raw_data does not.
Field field_of(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return Field::kFloat;
    case ElementType::kFloat64:
      return Field::kDouble;
    case ElementType::kInt64:
      return Field::kInt64;
    case ElementType::kUint32:
    case ElementType::kUint64:
      return Field::kUint64;
    default:
      return Field::kInt32;
  }
}

bool is_four_bit(ElementType type) {
  return bit_width(type) == 4;
}

// Stores the low bytes of one decoded number as element `index`, or says that it does not fit. 4-bit types
// hold two elements a number.
bool store(ElementType type, uint64_t number, int64_t index, std::byte* target) {
  const auto value = static_cast<int64_t>(number);
  const auto put = [&]<typename T>(T narrow) {
    std::memcpy(target + index * static_cast<int64_t>(sizeof(T)), &narrow, sizeof(T));
    return static_cast<int64_t>(narrow) == value;
  };
  switch (type) {
    case ElementType::kInt64:
    case ElementType::kUint64:
      std::memcpy(target + index * 8, &number, 8);
      return true;
    case ElementType::kInt32:
      return put(static_cast<int32_t>(value));
    case ElementType::kUint32:
      return put(static_cast<uint32_t>(value));
    case ElementType::kInt16:
      return put(static_cast<int16_t>(value));
    case ElementType::kUint16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return put(static_cast<uint16_t>(value));
    case ElementType::kInt8:
      return put(static_cast<int8_t>(value));
    case ElementType::kBool:
      return put(static_cast<uint8_t>(value)) && value <= 1;
    case ElementType::kUint8:
    case ElementType::kInt4:
    case ElementType::kUint4:
    case ElementType::kFloat8E4M3:
    case ElementType::kFloat8E5M2:
      return put(static_cast<uint8_t>(value));
    default:
      return false;
  }
}

// The elements that protobuf collected, where a writer did not pack them.
struct Unpacked {
  int64_t size = 0;
  std::optional<Field> field;
  bool several = false;
};

Unpacked unpacked_elements(const onnx::TensorProto& tensor) {
  Unpacked unpacked;
  const auto consider = [&unpacked](Field field, int size) {
    if (size > 0) {
      unpacked.several = unpacked.field.has_value();
      unpacked.field = field;
      unpacked.size = size;
    }
  };
  consider(Field::kFloat, tensor.float_data_size());
  consider(Field::kInt32, tensor.int32_data_size());
  consider(Field::kInt64, tensor.int64_data_size());
  consider(Field::kDouble, tensor.double_data_size());
  consider(Field::kUint64, tensor.uint64_data_size());
  return unpacked;
}

uint64_t unpacked_number(const onnx::TensorProto& tensor, Field field, int index) {
  switch (field) {
    case Field::kInt32:
      return static_cast<uint64_t>(static_cast<int64_t>(tensor.int32_data(index)));
    case Field::kInt64:
      return static_cast<uint64_t>(tensor.int64_data(index));
    default:
      return tensor.uint64_data(index);
  }
}

std::unexpected<Status> wrong_count(const TensorType& type, Field field, int64_t found,
                                    std::string_view unit) {
  return fail(StatusCode::kInvalidArgument, "The tensor has type ({}), and its {} holds ({}) {}.",
              type.to_string(), field_name(field), found, unit);
}

std::unexpected<Status> wrong_field(const TensorType& type, Field field) {
  return fail(StatusCode::kInvalidArgument, "The tensor has type ({}), which {} can't hold; {} can.",
              type.to_string(), field_name(field), field_name(field_of(type.element_type)));
}

Result<int64_t> parse_integer(std::string_view key, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return fail(StatusCode::kInvalidArgument, "External data has {} ({}), and it takes a number from 0.", key,
                text);
  }
  return value;
}

// Whether one of the parts of a path is "..".
bool has_parent(std::string_view path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::optional<ElementType> element_type_of(int32_t onnx_type) {
  // Past what the installed schema may name: 17 FLOAT8E4M3FN, 19 FLOAT8E5M2, 21 UINT4, 22 INT4.
  switch (onnx_type) {
    case onnx::TensorProto::FLOAT:
      return ElementType::kFloat32;
    case onnx::TensorProto::UINT8:
      return ElementType::kUint8;
    case onnx::TensorProto::INT8:
      return ElementType::kInt8;
    case onnx::TensorProto::UINT16:
      return ElementType::kUint16;
    case onnx::TensorProto::INT16:
      return ElementType::kInt16;
    case onnx::TensorProto::INT32:
      return ElementType::kInt32;
    case onnx::TensorProto::INT64:
      return ElementType::kInt64;
    case onnx::TensorProto::BOOL:
      return ElementType::kBool;
    case onnx::TensorProto::FLOAT16:
      return ElementType::kFloat16;
    case onnx::TensorProto::DOUBLE:
      return ElementType::kFloat64;
    case onnx::TensorProto::UINT32:
      return ElementType::kUint32;
    case onnx::TensorProto::UINT64:
      return ElementType::kUint64;
    case onnx::TensorProto::BFLOAT16:
      return ElementType::kBFloat16;
    case 17:
      return ElementType::kFloat8E4M3;
    case 19:
      return ElementType::kFloat8E5M2;
    case 21:
      return ElementType::kUint4;
    case 22:
      return ElementType::kInt4;
    default:
      return std::nullopt;
  }
}

std::string onnx_type_name(int32_t onnx_type) {
  if (onnx::TensorProto::DataType_IsValid(onnx_type)) {
    return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnx_type));
  }
  return std::to_string(onnx_type);
}

Result<TensorType> TensorReader::type_of(const onnx::TensorProto& tensor) {
  const std::optional<ElementType> element_type = element_type_of(tensor.data_type());
  if (!element_type) {
    return fail(StatusCode::kUnimplemented,
                "Tensor '{}' has element type ({}), and numbers and bool are supported.", tensor.name(),
                onnx_type_name(tensor.data_type()));
  }
  if (tensor.dims_size() > kMaxRank) {
    return fail(StatusCode::kUnimplemented, "Tensor '{}' has rank ({}), and ({}) is the most.", tensor.name(),
                tensor.dims_size(), kMaxRank);
  }
  TensorType type{*element_type, {}, {}};
  for (int64_t dim : tensor.dims()) {
    if (dim < 0 || dim > kDimMax) {
      return fail(StatusCode::kInvalidArgument, "Tensor '{}' has a dimension ({}), and it takes (0) to ({}).",
                  tensor.name(), dim, kDimMax);
    }
    type.shape.emplace_back(dim);
  }
  return type;
}

Result<Constant> TensorReader::read(const onnx::TensorProto& tensor) {
  WEIR_ASSIGN(const TensorType type, type_of(tensor));
  if (!has_possible_size(type)) {
    return fail(StatusCode::kInvalidArgument,
                "Tensor '{}' has type ({}), and extents with a product of up to ({}) are the most.",
                tensor.name(), type.to_string(), kDimMax);
  }
  const int64_t count = type.element_count().constant();
  auto constant = tensor.data_location() == onnx::TensorProto::EXTERNAL
                      ? read_external(tensor, type, byte_size(type.element_type, count))
                      : read_payload(tensor, type, count);
  WEIR_TRY(constant, "while reading tensor '{}'", tensor.name());
  if (type.element_type == ElementType::kBool &&
      std::ranges::any_of(constant->bytes(), [](std::byte byte) { return byte > std::byte{1}; })) {
    return fail(StatusCode::kInvalidArgument, "Tensor '{}' is bool, and has elements other than 0 and 1.",
                tensor.name());
  }
  return constant;
}

Result<Constant> TensorReader::read_payload(const onnx::TensorProto& tensor, const TensorType& type,
                                            int64_t count) {
  const int64_t bytes = byte_size(type.element_type, count);
  const std::optional<size_t> index = payload_index(tensor.raw_data());
  const Unpacked unpacked = unpacked_elements(tensor);
  const int64_t numbers = is_four_bit(type.element_type) ? bytes : count;
  std::byte* target = nullptr;

  if (!index || *index >= payloads_.size()) {
    if (unpacked.several) {
      return fail(StatusCode::kInvalidArgument, "The tensor holds elements in two fields, and takes one.");
    }
    if (unpacked.field && *unpacked.field != field_of(type.element_type)) {
      return wrong_field(type, *unpacked.field);
    }
    if (unpacked.size != numbers) {
      return wrong_count(type, unpacked.field.value_or(Field::kRaw), unpacked.size, "elements");
    }
    WEIR_ASSIGN(Constant constant, Constant::allocate(bytes, target));
    for (int i = 0; i < static_cast<int>(numbers); ++i) {
      if (*unpacked.field == Field::kFloat) {
        const float value = tensor.float_data(i);
        std::memcpy(target + size_t{4} * static_cast<size_t>(i), &value, 4);
      } else if (*unpacked.field == Field::kDouble) {
        const double value = tensor.double_data(i);
        std::memcpy(target + size_t{8} * static_cast<size_t>(i), &value, 8);
      } else if (!store(type.element_type, unpacked_number(tensor, *unpacked.field, i), i, target)) {
        return fail(StatusCode::kInvalidArgument, "Element ({}) does not fit into type ({}).", i,
                    to_string(type.element_type));
      }
    }
    return constant;
  }

  const TensorPayload& payload = payloads_[*index];
  if (unpacked.size != 0) {
    return fail(
        StatusCode::kInvalidArgument,
        "The tensor holds elements in {}, and ({}) in {} that are not packed, and takes one packed field.",
        field_name(payload.field), unpacked.size, field_name(*unpacked.field));
  }
  if (payload.field != Field::kRaw && payload.field != field_of(type.element_type)) {
    return wrong_field(type, payload.field);
  }
  int64_t held = 0;
  for (const FileRange& range : payload.chunks) {
    held += range.size;
  }
  if (payload.field == Field::kRaw || payload.field == Field::kFloat || payload.field == Field::kDouble) {
    if (held != bytes) {
      return wrong_count(type, payload.field, held, "bytes");
    }
    if (payload.chunks.size() == 1) {
      return Constant::view(chunk(payload.chunks.front()), owner_);
    }
    WEIR_ASSIGN(Constant constant, Constant::allocate(bytes, target));
    for (const FileRange& range : payload.chunks) {
      target = std::ranges::copy(chunk(range), target).out;
    }
    return constant;
  }

  // Each number takes a byte or more, so the allocation is bounded by the file.
  if (held < numbers) {
    return wrong_count(type, payload.field, held, "bytes");
  }
  WEIR_ASSIGN(Constant constant, Constant::allocate(bytes, target));
  int64_t stored = 0;
  for (const FileRange& range : payload.chunks) {
    const std::span<const std::byte> encoded = chunk(range);
    for (size_t position = 0; position < encoded.size(); ++stored) {
      std::optional<uint64_t> number = read_varint(encoded, position);
      if (!number || stored == numbers) {
        return wrong_count(type, payload.field, stored + 1, "elements or more");
      }
      if (payload.field == Field::kInt32) {
        number = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(*number)));
      }
      if (!store(type.element_type, *number, stored, target)) {
        return fail(StatusCode::kInvalidArgument, "Element ({}) does not fit into type ({}).", stored,
                    to_string(type.element_type));
      }
    }
  }
  if (stored != numbers) {
    return wrong_count(type, payload.field, stored, "elements");
  }
  return constant;
}

Result<Constant> TensorReader::read_external(const onnx::TensorProto& tensor, const TensorType& type,
                                             int64_t bytes) {
  std::string location;
  int64_t offset = 0;
  int64_t length = bytes;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      WEIR_ASSIGN(offset, parse_integer("offset", entry.value()));
    } else if (entry.key() == "length") {
      WEIR_ASSIGN(length, parse_integer("length", entry.value()));
    }
  }
  if (length != bytes) {
    return fail(StatusCode::kInvalidArgument,
                "The tensor has type ({}), which takes ({}) bytes, and its external data has ({}).",
                type.to_string(), bytes, length);
  }
  WEIR_ASSIGN(const std::shared_ptr<const MappedFile> file, external_file(location));
  const auto size = static_cast<int64_t>(file->bytes().size());
  if (offset > size || bytes > size - offset) {
    return fail(StatusCode::kOutOfRange,
                "External data takes ({}) bytes at offset ({}) of file '{}', which has ({}).", bytes, offset,
                file->path(), size);
  }
  return Constant::view(file->bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes)), file);
}

Result<std::shared_ptr<const MappedFile>> TensorReader::external_file(const std::string& location) {
  if (const auto known = external_.find(location); known != external_.end()) {
    return known->second;
  }
  if (folders_.empty()) {
    return fail(StatusCode::kFailedPrecondition,
                "The model keeps elements in file '{}', and a model from memory has no folder to find it in.",
                location);
  }
  if (location.empty() || location.starts_with('/') || has_parent(location)) {
    return fail(StatusCode::kPermissionDenied,
                "External data has location '{}', and it has to lie in the model's folder.", location);
  }
  // A link may not lead out either.
  const std::string path = fmt::format("{}/{}", folders_.front(), location);
  const std::string target = real_path(path).value_or("");
  if (target.empty()) {
    WEIR_TRY(MappedFile::open(path));  // says why
    return file_error("examined", path, EIO);
  }
  const auto holds_target = [&](const std::string& folder) {
    const std::optional<std::string> root = real_path(folder);
    return root && is_inside(target, *root);
  };
  if (std::ranges::none_of(folders_, holds_target)) {
    return fail(StatusCode::kPermissionDenied,
                "External data has location '{}', which leads to '{}' outside the model's folder '{}'.",
                location, target, folders_.front());
  }
  WEIR_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  external_.emplace(location, file);
  return file;
}

}  // namespace weir::onnx_import
